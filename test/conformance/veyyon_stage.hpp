#ifndef BELAY_TEST_CONFORMANCE_VEYYON_STAGE_HPP
#define BELAY_TEST_CONFORMANCE_VEYYON_STAGE_HPP

// Where the modules of one vector run: a real runner on a clock that is turned by hand, a host and a
// person that do as the vector says, and handlers that write down that they were called.

#include <belay/core/clock.hpp>
#include <belay/core/coroutine.hpp>
#include <belay/core/event.hpp>
#include <belay/core/reply.hpp>
#include <belay/modules/agent.hpp>
#include <belay/modules/api.hpp>
#include <belay/modules/command.hpp>
#include <belay/modules/message.hpp>
#include <belay/modules/runner.hpp>
#include <belay/modules/runner_options.hpp>
#include <belay/modules/ui.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "../common/manual_clock.hpp"
#include "suite.hpp"
#include "vectors.hpp"
#include "veyyon_json.hpp"
#include <algorithm>
#include <any>
#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conformance {

namespace asio = boost::asio;
using std::chrono::milliseconds;

/// What happens while a vector is run.
struct stage {
    asio::io_context io;
    belay::test::manual_clock clock;

    std::vector<std::string> calls{};  ///< ids of handlers, as they start
    std::map<std::string, json::object>
        seen{};            ///< events as handlers got them, by the handler's id
    json::array errors{};  ///< what an error listener heard
    std::vector<modules::operator_notice> notices{};
    std::vector<std::any> kept{};  ///< what is never answered
    bool edits_in_place = false;   ///< a handler tries to; it has but its own copy

    /// Turns the clock for as long as somebody waits for it and `done` is not there, and runs what is
    /// ready.
    void run_until(const std::function<bool()>& done)
    {
        while (!done()) {
            if (!step()) throw std::runtime_error("it never ended: nothing is left to wait for");
        }
    }

    /// Runs everything that was begun to its end.
    void run_dry()
    {
        while (step()) {
        }
    }

private:
    bool step()
    {
        io.restart();
        if (io.poll() != 0) return true;
        const auto next = clock.next();
        if (!next || *next == belay::clock::time_point::max()) return false;
        clock.advance(*next - clock.now());
        return true;
    }
};

/// Waits for the clock.
inline asio::awaitable<void> pause(belay::clock& time, milliseconds lasting)
{
    const auto executor = co_await asio::this_coro::executor;
    const auto timer = time.make_timer(executor);
    const auto when = time.now() + lasting;
    const auto begin = [&](auto handler) { timer->async_wait(when, std::move(handler)); };
    co_await asio::async_initiate<const asio::use_awaitable_t<>, void(belay::error_code)>(
        begin, asio::use_awaitable);
}

// --- Handlers -----------------------------------------------------------------------------------

/// Events of Veyyon's extensions that its document does not name.
inline constexpr std::array<std::string_view, 18> unnamed_events{"session_stop",
                                                                 "message_start",
                                                                 "message_update",
                                                                 "message_end",
                                                                 "tool_execution_start",
                                                                 "tool_execution_update",
                                                                 "tool_execution_end",
                                                                 "tool_approval_requested",
                                                                 "tool_approval_resolved",
                                                                 "before_provider_request",
                                                                 "after_provider_response",
                                                                 "input",
                                                                 "user_bash",
                                                                 "user_python",
                                                                 "goal_updated",
                                                                 "credential_disabled",
                                                                 "resources_discover",
                                                                 "session.compacting"};

inline void refuse_unnamed_event(std::string_view name)
{
    if (std::ranges::find(unnamed_events, name) != unnamed_events.end()) {
        throw inapplicable("the document names no event " + std::string(name));
    }
}

[[noreturn]] inline void refuse_event(const std::string& name)
{
    refuse_unnamed_event(name);
    throw inapplicable("a handler of \"" + name +
                       "\", an event that nobody knows, does not compile here");
}

/// What a handler does.
template <class E>
struct behaviour {
    std::function<typename E::answer(const E&)> say{};
    std::optional<milliseconds> after{};  ///< says it so much later
    bool hangs = false;
};

// The behaviours that have a meaning for one event alone.

inline std::function<modules::context::answer(const modules::context&)> appending(
    const json::value& message)
{
    return [message](const modules::context& event) -> modules::context::answer {
        auto messages = event.messages;
        messages.push_back(message);
        return modules::context::result{.messages = std::move(messages)};
    };
}

inline std::function<modules::context::answer(const modules::context&)> dropping(
    const std::string& custom_type)
{
    return [type = json::value(json::string(custom_type))](
               const modules::context& event) -> modules::context::answer {
        json::array messages;
        for (const auto& one : event.messages) {
            const auto* object = one.if_object();
            const auto* found = object ? object->if_contains("customType") : nullptr;
            if (!found || *found != type) messages.push_back(one);
        }
        return modules::context::result{.messages = std::move(messages)};
    };
}

template <class E>
behaviour<E> read_behaviour(stage& on, const json::value& value, const std::string& path);

/// Of `verb`, which is not `ifError`; `do_` is read to its end.
template <class E>
behaviour<E> read_verb(stage& on, reader& doing, std::string_view verb, const json::value& argument)
{
    using answer = typename E::answer;
    const auto path = doing.path_of(verb);
    const auto duration = [&] {
        const auto limit = std::chrono::hours(24 * 365) / milliseconds(1);
        return milliseconds(*doing.find_integer(verb, 0, limit));
    };
    const auto then = [&] {
        return read_behaviour<E>(on, doing.get("then"), doing.path_of("then"));
    };
    const auto only = [&](const char* event) -> malformed {
        return malformed(path + ": means nothing to a handler of " + std::string(E::event_name) +
                         ", only to one of " + event);
    };
    if (verb == "nothing") return {[](const E&) -> answer { return belay::observe{}; }};
    if (verb == "hang") return {.hangs = true};
    if (verb == "throw") {
        return {[text = reader::as_text(argument, path)](const E&) -> answer {
            throw std::runtime_error(text);
        }};
    }
    if (verb == "throwValue") {
        if (!argument.is_string()) {
            throw inapplicable(
                "what is thrown and is neither an exception nor a text has no words");
        }
        return {
            [text = std::string(view(argument.get_string()))](const E&) -> answer { throw text; }};
    }
    if (verb == "return") {
        try {
            return {[said = answer_from<E>(argument, path)](const E&) -> answer { return said; }};
        } catch (const unlike& error) {
            throw inapplicable(std::string("such an answer does not compile: ") + error.what());
        }
    }
    if (verb == "afterMs") {
        auto later = then();
        later.after = duration() + later.after.value_or(milliseconds(0));
        return later;
    }
    if (verb == "busyMs") {
        auto busy = then();
        if (busy.after || busy.hangs) throw malformed(path + ": must be followed by an answer");
        busy.say = [&on, lasting = duration(),
                    say = std::move(busy.say)](const E& event) -> answer {
            on.clock.advance(lasting);
            return say(event);
        };
        return busy;
    }
    if (verb == "setInput" || verb == "assignEvent") {
        // What can be edited is the handler's own copy.
        auto fields = argument;
        if (verb == "setInput") {
            if constexpr (requires(E event) { event.input; }) {
                fields = json::object{
                    {"input", argument.is_object() ? argument : json::object{{"set", argument}}}};
            } else {
                throw only("tool_call");
            }
        }
        try {
            E checked{};
            read_fields(checked, fields, path);
        } catch (const unlike& error) {
            throw inapplicable(std::string("this does not compile: ") + error.what());
        }
        on.edits_in_place |= verb == "assignEvent";
        return {[fields, path](E event) -> answer {
            read_fields(event, fields, path);
            return belay::observe{};
        }};
    }
    if (verb == "pushInPlace") {
        if constexpr (std::same_as<E, modules::context>) {
            on.edits_in_place = true;
            return {[argument](E event) -> answer {
                event.messages.push_back(argument);
                return belay::observe{};
            }};
        }
        throw only("context");
    }
    if (verb == "appendText") {
        if constexpr (std::same_as<E, modules::tool_result>) {
            return {[text = reader::as_text(argument, path)](const E& event) -> answer {
                auto content = event.content;
                content.push_back(modules::text_block(text));
                return modules::tool_result::result{.content = std::move(content)};
            }};
        }
        throw only("tool_result");
    }
    if (verb == "appendSystem") {
        if constexpr (std::same_as<E, modules::before_agent_start>) {
            return {[text = reader::as_text(argument, path)](const E& event) -> answer {
                auto lines = event.system_prompt;
                lines.push_back(text);
                return modules::before_agent_start::result{.system_prompt = std::move(lines)};
            }};
        }
        throw only("before_agent_start");
    }
    if (verb == "appendMessage") {
        if constexpr (std::same_as<E, modules::context>) return {appending(argument)};
        throw only("context");
    }
    if (verb == "dropCustomType") {
        if constexpr (std::same_as<E, modules::context>) {
            return {dropping(reader::as_text(argument, path))};
        }
        throw only("context");
    }
    if (verb == "chainPayload") throw only("before_provider_request");
    throw malformed(path + ": the runner does not know this behaviour");
}

template <class E>
behaviour<E> read_behaviour(stage& on, const json::value& value, const std::string& path)
{
    reader doing(value, path);
    if (const auto* argument = doing.find("ifError")) {
        if constexpr (std::same_as<E, modules::tool_result>) {
            auto failed = read_behaviour<E>(on, *argument, doing.path_of("ifError"));
            const auto* otherwise = doing.find("else");
            behaviour<E> fine{[](const E&) -> typename E::answer { return belay::observe{}; }};
            if (otherwise) fine = read_behaviour<E>(on, *otherwise, doing.path_of("else"));
            doing.finish();
            if (failed.after || failed.hangs || fine.after || fine.hangs) {
                throw malformed(path + ": what depends on the error cannot come later");
            }
            return {[failed = failed.say, fine = fine.say](const E& event) {
                return event.is_error ? failed(event) : fine(event);
            }};
        } else {
            throw malformed(path + ".ifError: means nothing to a handler of " +
                            std::string(E::event_name));
        }
    }
    for (const auto& member : value.get_object()) {
        if (member.key() == "then") continue;
        auto made = read_verb<E>(on, doing, member.key(), doing.get(member.key()));
        doing.finish();
        return made;
    }
    throw malformed(path + ": says nothing");
}

/// Registers one handler: one that answers at once, one that answers later, or one that never does.
template <class E>
void register_handler(stage& on, const modules::api& its, const std::string& id, behaviour<E> what)
{
    const auto begin = [&on, id](const E& event) {
        if (id.empty()) return;
        on.calls.push_back(id);
        on.seen.insert_or_assign(id, object_of_event(event));
    };
    if (what.hangs) {
        its.on<E>([&on, begin](const E& event, belay::reply<E> answer) {
            begin(event);
            on.kept.push_back(std::make_shared<belay::reply<E>>(std::move(answer)));
        });
    } else if (what.after) {
        its.on<E>([&on, begin, say = std::move(what.say),
                   later = *what.after](const E& event) -> asio::awaitable<typename E::answer> {
            begin(event);
            co_await pause(on.clock, later);
            co_return say(event);
        });
    } else {
        its.on<E>([begin, say = std::move(what.say)](const E& event) {
            begin(event);
            return say(event);
        });
    }
}

// --- Host and person ----------------------------------------------------------------------------

/// A host that writes down what it is asked to send.
struct recording_agent : modules::agent {
    std::string directory{};
    std::vector<std::pair<modules::custom_message, modules::delivery_options>> sent{};

    std::string cwd() const override
    {
        return directory.empty() ? modules::agent::cwd() : directory;
    }
    void send_message(modules::custom_message message,
                      const modules::delivery_options& options) override
    {
        sent.emplace_back(std::move(message), options);
    }
};

/// A person who answers as the vector says: a method's name with its answer, null for none,
/// `{"throw": TEXT}`, or `{"hang": true}`; or `<method>Throws`. What is not there is as without a UI.
class answering_person : public modules::ui {
public:
    answering_person(stage& on, const json::value& answers, const std::string& path) : on_(on)
    {
        if (!answers.is_object()) throw malformed(path + ": must be an object");
        answers_ = answers.get_object();
        for (const auto& member : answers_) {
            static constexpr std::array known{"select", "confirm",       "input", "editor",
                                              "custom", "getEditorText", "theme"};
            std::string_view method(member.key());
            if (method.ends_with("Throws")) method.remove_suffix(6);
            if (std::ranges::find(known, method) == known.end()) {
                throw malformed(path + "." + std::string(member.key()) +
                                ": the runner does not know this key");
            }
        }
    }

    void select(std::string_view, const std::vector<modules::select_option>&,
                text_reply reply) override
    {
        answer("select", std::move(reply));
    }
    void confirm(std::string_view, std::string_view, belay::host_reply<bool> reply) override
    {
        answer("confirm", std::move(reply));
    }
    void input(std::string_view, std::string_view, text_reply reply) override
    {
        answer("input", std::move(reply));
    }
    void editor(std::string_view, std::string_view, text_reply reply) override
    {
        answer("editor", std::move(reply));
    }
    void custom(const json::value&, belay::host_reply<json::value> reply) override
    {
        answer("custom", std::move(reply));
    }
    void set_editor_text(std::string text) override { written_ = std::move(text); }
    std::string editor_text() const override
    {
        const auto* said = answers_.if_contains("getEditorText");
        return said ? std::string(view(said->as_string())) : written_;
    }
    json::object theme() const override
    {
        const auto* said = answers_.if_contains("theme");
        return said ? said->as_object() : json::object();
    }

private:
    template <class T>
    void answer(std::string_view method, belay::host_reply<T> reply)
    {
        const auto* said = answers_.if_contains(method);
        const auto* thrown = answers_.if_contains(std::string(method) + "Throws");
        if (!thrown && said && said->is_object()) thrown = said->get_object().if_contains("throw");
        if (thrown) throw std::runtime_error(reader::as_text(*thrown, "what is thrown"));
        if (said && said->is_object() && said->get_object().contains("hang")) {
            on_.kept.push_back(std::make_shared<belay::host_reply<T>>(std::move(reply)));
        } else {
            reply(said ? read_as<T>(*said, "the answer of " + std::string(method)) : T());
        }
    }

    stage& on_;
    json::object answers_;
    std::string written_;
};

// --- Modules ------------------------------------------------------------------------------------

using setup = std::function<void(const modules::api&)>;

inline setup read_handler(stage& on, const json::value& value, const std::string& path)
{
    reader handler(value, path);
    const auto event = handler.text("on");
    const auto id = handler.find_text("id").value_or("");
    const auto& doing = handler.get("do");
    handler.finish();
    setup made;
    const bool known = with_event_named(event, [&]<class E>(std::type_identity<E>) {
        made = [&on, id, what = read_behaviour<E>(on, doing, path + ".do")](
                   const modules::api& its) { register_handler<E>(on, its, id, what); };
    });
    if (!known) refuse_event(event);
    return made;
}

/// What became of a slash command.
struct command_calls {
    std::vector<modules::command> given{};
};

inline setup read_command(command_calls& calls, const json::value& value, const std::string& path)
{
    reader command(value, path);
    const auto name = command.text("name");
    const auto description = command.find_text("description").value_or("");
    const auto throws = command.find_text("throws");
    command.finish();
    return [&calls, name, description, throws](const modules::api& its) {
        its.register_command(name, description, [&calls, throws](const modules::command& given) {
            calls.given.push_back(given);
            if (throws) throw std::runtime_error(*throws);
        });
    };
}

/// The runner of a vector's extensions, with error listeners.
class troupe {
public:
    /// Reads the `extensions` of `given`. If `listener_throws`, so does a listener that hears of errors
    /// before the one that writes them down.
    troupe(stage& on, reader& given, modules::runner_options options = {},
           bool listener_throws = false)
        : runner(on.io.get_executor(), with(on, std::move(options)))
    {
        if (listener_throws) {
            runner.on_error([](const modules::handler_error&) { throw std::runtime_error("no"); });
        }
        listening_ = runner.on_error([&on](const modules::handler_error& why) {
            on.errors.push_back(json::object{
                {"extensionPath", why.module}, {"event", why.event}, {"error", why.message}});
        });
        const auto* all = given.find("extensions");
        if (all == nullptr) return;
        if (!all->is_array()) throw malformed(given.path_of("extensions") + ": must be an array");
        for (std::size_t i = 0; i != all->get_array().size(); ++i) {
            reader extension(all->get_array()[i],
                             given.path_of("extensions") + "[" + std::to_string(i) + "]");
            const auto path = extension.text("path");
            std::vector<setup> parts;
            const auto read = [&](const char* key, const auto& one) {
                const auto* list = extension.find(key);
                if (list == nullptr) return;
                if (!list->is_array())
                    throw malformed(extension.path_of(key) + ": must be an array");
                for (std::size_t j = 0; j != list->get_array().size(); ++j) {
                    parts.push_back(one(list->get_array()[j],
                                        extension.path_of(key) + "[" + std::to_string(j) + "]"));
                }
            };
            read("handlers", [&](const json::value& value, const std::string& where) {
                return read_handler(on, value, where);
            });
            read("commands", [&](const json::value& value, const std::string& where) {
                return read_command(commands, value, where);
            });
            extension.finish();
            const auto added = runner.add(path, [&](modules::api& its) {
                for (const auto& part : parts) part(its);
            });
            if (!added)
                throw std::runtime_error(path + " was not loaded: " + added.error().message);
        }
    }

    modules::runner runner;
    command_calls commands{};

private:
    static modules::runner_options with(stage& on, modules::runner_options options)
    {
        options.time = &on.clock;
        options.operator_channel = [&on](const modules::operator_notice& notice) {
            on.notices.push_back(notice);
        };
        return options;
    }

    modules::error_subscription listening_;
};

}  // namespace conformance

#endif
