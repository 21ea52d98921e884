#ifndef BELAY_TEST_CONFORMANCE_HOST_HPP
#define BELAY_TEST_CONFORMANCE_HOST_HPP

// A miniature host with the hooks of a vector. It does with belay what an agent does: it reads a
// config document, registers what extensions bring along, and leads a conversation.

#include <belay/core/error.hpp>
#include <belay/core/reply.hpp>
#include <belay/hooks/config.hpp>
#include <belay/hooks/detail/hook_set.hpp>
#include <belay/hooks/executable.hpp>
#include <belay/hooks/protocol/vera.hpp>
#include <belay/hooks/registry.hpp>
#include <belay/hooks/run_tools.hpp>
#include <belay/hooks/session.hpp>
#include <belay/process/exit_report.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "stage.hpp"
#include "vectors.hpp"
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace conformance {

namespace hooks = belay::hooks;

inline json::array texts(const std::vector<std::string>& from)
{
    json::array made;
    for (const auto& text : from) made.emplace_back(text);
    return made;
}

/// How the session came about.
struct session_mode {
    bool bare = false;
    bool subagent = false;
    bool background = false;
};

// --- The hooks of a vector ----------------------------------------------------------------------

/// A function of an extension, which answers with JSON as an executable would.
template <class E>
struct played_function {
    stage& on;
    const hook& what;

    void operator()(const E& event, belay::reply<E> answer) const
    {
        if (!on.armed()) return answer();
        on.start(what, payload(event));
        if (what.duration.count() == 0) {
            if (what.throws) throw std::runtime_error(*what.throws);
            return say(std::move(answer));
        }
        const std::shared_ptr<belay::clock::timer> timer =
            on.clock.make_timer(answer.get_executor());
        timer->async_wait(
            on.clock.now() + what.duration,
            [self = *this, timer, answer = std::move(answer)](belay::error_code ec) mutable {
                if (!ec) self.say(std::move(answer));
            });
    }

    void say(belay::reply<E> answer) const
    {
        if (what.throws) return answer.fail(belay::errc::threw, *what.throws);
        if constexpr (std::is_same_v<E, hooks::turn_finished>) {
            answer();
        } else {
            belay::process::exit_report report;
            report.status = belay::process::exit_status::exited(0);
            report.out = json::serialize(*what.returns);
            const hooks::protocol_for<E>& protocol = hooks::vera();
            auto said = protocol.answer(event_of(), E::event_name, report);
            if (!said) return answer.fail(said.error().code, said.error().message);
            answer(*std::move(said));
        }
    }

    static std::string payload(const E& event)
    {
        if constexpr (std::is_same_v<E, hooks::turn_finished>) {
            constexpr std::string_view outcomes[] = {"completed", "error", "aborted"};
            return json::serialize(
                json::object{{"type", "turn_finished"},
                             {"sessionId", event.session_id},
                             {"workspace", event.workspace},
                             {"outcome", outcomes[static_cast<int>(event.outcome)]},
                             {"turns", event.turns},
                             {"spawned", event.spawned},
                             {"prompt", event.prompt},
                             {"reply", event.reply}});
        } else {
            const hooks::protocol_for<E>& protocol = hooks::vera();
            return protocol.payload(event, E::event_name).value();
        }
    }

    // The protocol does not look at the event to understand an answer.
    static E event_of() { return {}; }
};

/// A host with the hooks of a vector.
struct host {
    explicit host(stage& where)
        : on(where),
          registry(where.io.get_executor(),
                   {.time = &where.clock,
                    .log = &where.log,
                    .run = {.run = where.runner(), .make_worker = where.worker_maker()}})
    {
        json::array entries;
        for (const auto& one : on.hooks) {
            if (one.from_extension) continue;
            json::object entry{
                {"phase", one.event}, {"protocol", one.protocol}, {"argv", texts(argv_of(one))}};
            if (on.workers) entry.emplace("mode", "worker");
            // as a person would write it
            entry["argv"].get_array()[0] = std::to_string(one.index) + "/" + one.name;
            if (one.timeout_ms) entry.emplace("timeout_ms", *one.timeout_ms);
            entries.push_back(std::move(entry));
        }
        const auto text = json::serialize(json::object{{"hooks", std::move(entries)}});
        auto config = hooks::config::parse(text, on.home.root());
        if (!config) throw malformed("given.hooks: " + config.error().message);
        const auto used = registry.use(std::make_shared<hooks::config>(*std::move(config)));
        if (!used) throw malformed("given.hooks: " + used.error().message);

        for (const auto& one : on.hooks) {
            if (one.from_extension) add_extension(one);
        }
        on.disarm();
    }

    stage& on;
    hooks::registry registry;

private:
    std::vector<std::string> argv_of(const hook& one)
    {
        auto argv = on.home.install(one);
        if (on.workers) argv.emplace_back("worker");
        return argv;
    }

    void add_extension(const hook& one)
    {
        if (one.is_function()) {
            add_function(one, static_cast<hooks::detail::hookable_events*>(nullptr));
            return;
        }
        const hooks::executable_spec spec{
            .phase = one.event,
            .argv = argv_of(one),
            .protocol = one.protocol,
            .timeout = std::chrono::milliseconds(one.timeout_ms.value_or(1000)),
            .mode = on.workers ? hooks::run_mode::worker : hooks::run_mode::once,
        };
        const auto added = registry.on_executable(spec, one.name);
        if (!added)
            throw malformed("given.hooks[" + std::to_string(one.index) +
                            "]: " + added.error().message);
    }

    template <class... E>
    void add_function(const hook& one, std::tuple<E...>*)
    {
        std::optional<std::chrono::milliseconds> timeout;
        if (one.timeout_ms) timeout = std::chrono::milliseconds(*one.timeout_ms);
        const bool known =
            ((one.event == E::event_name &&
              (registry.on<E>(played_function<E>{on, one}, one.name, timeout), true)) ||
             ...);
        if (!known) {
            throw malformed("given.hooks[" + std::to_string(one.index) +
                            "].event: there is no event " + one.event);
        }
    }
};

/// A conversation on a host with the vector's hooks. Until `arm()` they have no opinion.
class conversation {
public:
    conversation(host& where, const session_mode& mode, std::string id, std::string workspace,
                 bool spawned = false)
        : on_(where.on)
    {
        if (!mode.subagent) {
            session_ = create(where, {.id = std::move(id),
                                      .workspace = std::move(workspace),
                                      .spawned = spawned,
                                      .bare = mode.bare});
            return;
        }
        parent_ =
            create(where, {.id = "parent of " + id, .workspace = workspace, .bare = mode.bare});
        start_session(*parent_, hooks::session_start::cause::start);
        auto made = parent_->create_subagent({.id = std::move(id),
                                              .workspace = std::move(workspace),
                                              .background = mode.background});
        if (!made) throw std::runtime_error("create_subagent: " + made.error().message());
        session_ = std::move(*made);
    }

    hooks::session& session() noexcept { return session_; }
    hooks::session& parent() { return parent_.value(); }

    /// Completes an operation of the session.
    template <class Outcome, class Start>
    Outcome finish(std::string_view what, Start start)
    {
        auto ended = std::make_shared<std::optional<std::pair<belay::error_code, Outcome>>>();
        start([ended](belay::error_code ec, Outcome said) { ended->emplace(ec, std::move(said)); });
        on_.run_until([&] { return ended->has_value(); });
        if ((*ended)->first) {
            throw std::runtime_error(std::string(what) +
                                     " completed with: " + (*ended)->first.message());
        }
        return std::move((*ended)->second);
    }

    hooks::session_start::outcome start(hooks::session_start::cause why)
    {
        return start_session(session_, why);
    }

    hooks::pre_turn::outcome begin_turn(std::optional<std::string> prompt,
                                        hooks::turn_settings settings)
    {
        return finish<hooks::pre_turn::outcome>("async_begin_turn", [&](auto done) {
            session_.async_begin_turn(std::move(prompt), std::move(settings), std::move(done));
        });
    }

    hooks::pre_turn::outcome join(std::string prompt)
    {
        return finish<hooks::pre_turn::outcome>("async_add_prompt", [&](auto done) {
            session_.async_add_prompt(std::move(prompt), hooks::arrival::during_turn,
                                      std::move(done));
        });
    }

    std::vector<hooks::call_record> run_tools(hooks::model_reply reply,
                                              const hooks::tool_host& tools)
    {
        return finish<std::vector<hooks::call_record>>("async_run_tools", [&](auto done) {
            session_.async_run_tools(std::move(reply), tools, std::move(done));
        });
    }

    hooks::turn_ending::outcome end_turn(hooks::model_reply reply)
    {
        return finish<hooks::turn_ending::outcome>("async_end_turn", [&](auto done) {
            session_.async_end_turn(std::move(reply), std::move(done));
        });
    }

    void begin_compaction(hooks::pre_compact::cause why, std::uint64_t tokens,
                          std::optional<std::uint64_t> capacity)
    {
        if (const auto ec = session_.begin_compaction(why, tokens, capacity)) {
            throw std::runtime_error("begin_compaction: " + ec.message());
        }
    }

    hooks::session_start::outcome finish_compaction()
    {
        return finish<hooks::session_start::outcome>("async_finish_compaction", [&](auto done) {
            session_.async_finish_compaction(std::move(done));
        });
    }

    void fail_compaction()
    {
        if (const auto ec = session_.fail_compaction()) {
            throw std::runtime_error("fail_compaction: " + ec.message());
        }
    }

    /// Turns that nothing happens in.
    void pass_turns(std::uint64_t count)
    {
        for (std::uint64_t i = 0; i != count; ++i) {
            begin_turn("go on", {});
            end_turn({.text = "done"});
        }
    }

private:
    static hooks::session create(host& where, hooks::session_options options)
    {
        auto made = where.registry.create_session(std::move(options));
        if (!made) throw std::runtime_error("create_session: " + made.error().message);
        return *std::move(made);
    }

    hooks::session_start::outcome start_session(hooks::session& which,
                                                hooks::session_start::cause why)
    {
        return finish<hooks::session_start::outcome>(
            "async_start", [&](auto done) { which.async_start(why, std::move(done)); });
    }

    stage& on_;
    std::optional<hooks::session> parent_;
    hooks::session session_;
};

}  // namespace conformance

#endif
