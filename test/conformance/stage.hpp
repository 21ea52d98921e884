#ifndef BELAY_TEST_CONFORMANCE_STAGE_HPP
#define BELAY_TEST_CONFORMANCE_STAGE_HPP

// Where the hooks of one vector run, and who watches them. Executables are real, unless the vector
// lets more time pass than one can wait: then they are simulated on a clock that is turned by hand.
// Either each runs once for each event, or each is a worker.

#include <belay/core/error.hpp>
#include <belay/hooks/executable.hpp>
#include <belay/hooks/log.hpp>
#include <belay/process/exit_report.hpp>
#include <belay/process/invocation.hpp>
#include <belay/process/run.hpp>
#include <belay/process/worker.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "../common/manual_clock.hpp"
#include "as_worker.hpp"
#include "behaviour.hpp"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <utility>
#include <vector>

namespace conformance {

namespace asio = boost::asio;
namespace process = belay::process;

template <class Report>
using handler_of = asio::any_completion_handler<void(belay::error_code, Report)>;
using run_handler = handler_of<process::exit_report>;
using worker_handler = handler_of<process::worker_reply>;

/// A simulated run, which ends at its time on the clock, or when it is cancelled.
class simulated_run : public std::enable_shared_from_this<simulated_run> {
public:
    simulated_run(belay::clock& time, asio::any_io_executor executor, run_handler handler)
        : executor_(std::move(executor)),
          timer_(time.make_timer(executor_)),
          handler_(std::move(handler))
    {}

    void start(belay::clock::time_point when, belay::error_code ec, process::exit_report report)
    {
        auto slot = asio::get_associated_cancellation_slot(handler_);
        if (slot.is_connected()) {
            slot.assign([weak = weak_from_this()](asio::cancellation_type) {
                if (const auto self = weak.lock()) self->finish(belay::errc::cancelled, {});
            });
        }
        timer_->async_wait(when, [self = shared_from_this(), ec,
                                  report = std::move(report)](belay::error_code stopped) mutable {
            if (!stopped) self->finish(ec, std::move(report));
        });
    }

private:
    void finish(belay::error_code ec, process::exit_report report)
    {
        if (!handler_) return;
        auto handler = std::exchange(handler_, nullptr);
        timer_->cancel();
        asio::post(executor_,
                   [handler = std::move(handler), ec, report = std::move(report)]() mutable {
                       std::move(handler)(ec, std::move(report));
                   });
    }

    asio::any_io_executor executor_;
    std::unique_ptr<belay::clock::timer> timer_;
    run_handler handler_;
};

class stage {
public:
    /// `player` is the path of the hook player.
    stage(std::string player, std::vector<hook> given, bool as_workers = false)
        : simulated(!fits_into_real_time(given)),
          workers(as_workers),
          hooks(std::move(given)),
          home(std::move(player))
    {
        log.owner = this;
    }

    const bool simulated;
    const bool workers;
    const std::vector<hook> hooks;
    conformance::home home;

    std::set<std::size_t> started{};                         ///< hooks whose start was attempted
    std::map<std::size_t, std::vector<std::string>> told{};  ///< payloads, by hook, in order
    std::vector<std::string> order{};     ///< "pre c1", "pre-end c1", "run c1", "post c1", ...
    std::vector<json::object> records{};  ///< of the log
    std::vector<std::string> faults{};    ///< what is wrong whatever was expected

    // Everything that has to do with hooks runs on this, and in the time of this clock. In real time
    // it stands still, but for tools, so that no deadline of a chain depends on this machine.
    belay::test::manual_clock clock;

    /// What the host logs once the vector has begun.
    struct : belay::hooks::log_sink {
        void on_record(const json::object& record) noexcept override
        {
            const auto* extension = record.if_contains("extension");
            if (!owner->watching_ || (extension && *extension == json::string(witness))) return;
            owner->records.push_back(record);
        }
        stage* owner = nullptr;
    } log;

    asio::io_context io;

    /// The name of what the runner registers itself, to see what happens.
    static constexpr std::string_view witness = "the conformance runner";

    bool armed() const noexcept { return armed_; }

    /// From now on the hooks do as the vector says, and are watched. Before, they have no opinion.
    void arm()
    {
        armed_ = watching_ = true;
        for (const auto& one : hooks) {
            if (!one.runs.empty()) home.write_behaviour(one, one.runs, true);
        }
    }

    /// The hooks have no opinion any more.
    void disarm()
    {
        armed_ = false;
        for (const auto& one : hooks) {
            if (!one.runs.empty()) home.write_behaviour(one, {{"", quiet()}}, false);
        }
    }

    /// Runs the executables, or simulates them, and watches.
    belay::hooks::runner runner()
    {
        return [this](asio::any_io_executor executor, process::invocation what, std::string input,
                      run_handler handler) {
            const auto& hook = hook_of(what);
            const bool before_tool = start(hook, input) == "pre_tool_use";
            auto ended = noting_end(executor, before_tool ? call_id(json::parse(input)) : "",
                                    std::move(handler));
            if (simulated)
                return simulate(hook, executor, what.limits, *what.timeout, input,
                                std::move(ended));
            process::async_run(executor, std::move(what), std::move(input), std::move(ended));
        };
    }

    /// Likewise workers. One that is simulated ends as an executable, and answers at its end.
    auto worker_maker()
    {
        return [this](asio::any_io_executor executor, process::worker_options options) {
            const auto& hook = hook_of(options);
            const auto limits = options.limits;
            std::shared_ptr<process::worker> real;
            if (!simulated) real = std::make_shared<process::worker>(executor, std::move(options));
            return belay::hooks::worker_function(
                [this, &hook, executor, limits, real, alive = alive_](
                    std::string event, std::chrono::milliseconds timeout,
                    process::turn_listener turn, worker_handler handler) {
                    const bool before_tool = start(hook, event) == "pre_tool_use";
                    auto payload = json::parse(event);
                    auto ended = noting_end(executor, before_tool ? call_id(payload) : "",
                                            std::move(handler));
                    if (real)
                        return real->async_request(std::move(event), timeout, std::move(turn),
                                                   std::move(ended));
                    turn(true);
                    simulate(hook, executor, limits, timeout, event,
                             answering(executor, std::move(payload), std::move(ended)));
                });
        };
    }

    /// A hook was started with that payload. Gives the payload's type, if somebody watches.
    std::string start(const hook& what, const std::string& payload)
    {
        if (!armed_) return {};
        started.insert(what.index);
        told[what.index].push_back(payload);
        try {
            const auto document = json::parse(payload);
            const auto type = phase_of(document);
            if (type == "pre_tool_use" || type == "post_tool_use") {
                const auto id = call_id(document);
                if (!what.runs.empty() && !what.runs.contains("") && !what.runs.contains(id)) {
                    throw malformed("given.hooks[" + std::to_string(what.index) +
                                    "].run.by_call: has nothing for the call " + id);
                }
                order.push_back((type == "pre_tool_use" ? "pre " : "post ") + id);
            }
            return type;
        } catch (const malformed& error) {
            faults.push_back(error.what());
        } catch (const std::exception& error) {
            faults.push_back("the payload of hook " + std::to_string(what.index) +
                             " is not what it should be: " + error.what());
        }
        return {};
    }

    /// Turns the clock for as long as somebody waits for it and `done` is not there, and runs what is
    /// ready. In real time, waits for what really happens.
    void run_until(const std::function<bool()>& done)
    {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!done()) {
            io.restart();
            if (io.poll() != 0) continue;
            if (simulated) {
                const auto next = clock.next();
                if (!next || *next == belay::clock::time_point::max()) {
                    throw std::runtime_error("it never ended: nothing is left to wait for");
                }
                clock.advance(*next - clock.now());
            } else if (io.run_one_for(std::chrono::milliseconds(100)) == 0 &&
                       std::chrono::steady_clock::now() > give_up) {
                throw std::runtime_error("it did not end within a minute");
            }
        }
    }

    /// Runs everything that was begun to its end: observers, and children that have to be reaped, but
    /// not workers whose host is still there.
    void run_dry()
    {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!simulated) {
            io.restart();
            if (io.poll() != 0) continue;
            const bool only_workers = alive_.use_count() > 1 && at_work_ == 0;
            if (io.stopped() || only_workers) return;
            if (std::chrono::steady_clock::now() > give_up)
                throw std::runtime_error("what was begun did not end within a minute");
            io.run_one_for(std::chrono::milliseconds(100));
        }
        while (true) {
            io.restart();
            if (io.poll() != 0) continue;
            const auto next = clock.next();
            if (!next || *next == belay::clock::time_point::max()) return;
            clock.advance(*next - clock.now());
        }
    }

    /// What every vector has to keep, whatever it expects. Call it when everything has ended.
    void check_always()
    {
        if (simulated) return;
        for (const auto& one : hooks) {
            if (one.runs.empty()) continue;
            auto seen = home.records(one.index);
            auto sent = told[one.index];
            std::sort(seen.begin(), seen.end());
            std::sort(sent.begin(), sent.end());
            if (workers) {  // what one has not answered is given to another
                seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
                sent.erase(std::unique(sent.begin(), sent.end()), sent.end());
            }
            // one that was killed may not have come so far
            const bool whole = one.delay() < one.timeout();
            if (whole ? seen != sent
                      : !std::includes(sent.begin(), sent.end(), seen.begin(), seen.end())) {
                faults.push_back("hook " + std::to_string(one.index) + " (" + one.name +
                                 ") was started " + std::to_string(sent.size()) +
                                 " times, but what its executable found on "
                                 "stdin, " +
                                 std::to_string(seen.size()) + " times, is not what was sent");
            }
        }
        if (::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD) {
            faults.push_back("a child is still there after everything has ended");
        }
    }

    /// Of either protocol: the phase of a payload, or the event where the phase has another name.
    static std::string phase_of(const json::value& payload)
    {
        const auto* event = payload.as_object().if_contains("hook_event_name");
        const std::string name(view((event ? *event : payload.at("type")).as_string()));
        return name == "PreToolUse" ? "pre_tool_use" : name;
    }

    static std::string call_id(const json::value& payload)
    {
        const auto* id = payload.as_object().if_contains("tool_use_id");
        return std::string(view((id ? *id : payload.at("toolCall").at("id")).as_string()));
    }

private:
    static behaviour quiet() { return {.out = R"({"power":"observe"})"}; }

    template <class What>
    const hook& hook_of(const What& what) const
    {
        const auto index = std::stoul(std::filesystem::path(what.argv.at(1)).filename().string());
        return hooks.at(index);
    }

    static int error_named(const std::string& name)
    {
        if (name == "ENOENT") return ENOENT;
        if (name == "EACCES") return EACCES;
        return name == "ENOEXEC" ? ENOEXEC : ELOOP;
    }

    // Counts what is at work, and notes the end of a hook before the call of that id.
    template <class Report>
    handler_of<Report> noting_end(const asio::any_io_executor& executor, std::string id,
                                  handler_of<Report> handler)
    {
        ++at_work_;
        // For the host it ends when it is cancelled, and not when that is completed.
        struct end {
            bool noted = false;
            asio::cancellation_signal stop{};
        };
        const auto seen = std::make_shared<end>();
        const auto note = [this, seen, id = std::move(id)] {
            if (!std::exchange(seen->noted, true) && !id.empty()) order.push_back("pre-end " + id);
        };
        auto slot = asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) {
            slot.assign([seen, note](asio::cancellation_type how) {
                note();
                seen->stop.emit(how);
            });
        }
        auto ended = [this, note, handler = std::move(handler)](belay::error_code ec,
                                                                Report report) mutable {
            --at_work_;
            note();
            std::move(handler)(ec, std::move(report));
        };
        return asio::bind_cancellation_slot(seen->stop.slot(),
                                            asio::bind_executor(executor, std::move(ended)));
    }

    // Answers with what an executable said.
    static run_handler answering(const asio::any_io_executor& executor, json::value payload,
                                 worker_handler handler)
    {
        const auto slot = asio::get_associated_cancellation_slot(handler);
        auto ended = [payload = std::move(payload), handler = std::move(handler)](
                         belay::error_code ec, process::exit_report report) mutable {
            process::worker_reply reply;
            reply.detail = report.detail;
            if (!ec) {
                auto turn =
                    as_worker(payload.as_object(), report.out, report.err,
                              report.status.code().value_or(0), report.status.signal().value_or(0));
                reply.result = std::move(turn.result);
                reply.status = report.status;
                if (turn.ends)
                    ec = report.status.code() ? belay::errc::exited : belay::errc::signalled;
            }
            std::move(handler)(ec, std::move(reply));
        };
        return asio::bind_cancellation_slot(slot, asio::bind_executor(executor, std::move(ended)));
    }

    void simulate(const hook& hook, const asio::any_io_executor& executor,
                  const process::limits& within, std::chrono::milliseconds timeout,
                  const std::string& input, run_handler handler)
    {
        using belay::errc;
        using std::chrono::milliseconds;
        process::exit_report report;
        belay::error_code ec;
        milliseconds lasts{};
        if (input.size() > within.input) {
            ec = errc::input_too_large;
        } else if (hook.spawn_error) {
            ec = errc::spawn_failed;
            report.cause =
                belay::error_code(error_named(*hook.spawn_error), boost::system::system_category());
            report.detail = hook.name + ": " + report.cause.message();
        } else {
            const auto nothing = quiet();
            const auto id = hook.runs.contains("") ? std::string() : call_id(json::parse(input));
            const auto found = hook.runs.find(id);
            const auto& run = armed_ && found != hook.runs.end() ? found->second : nothing;
            lasts = run.duration;
            if (timeout <= lasts) {
                lasts = timeout;
                ec = errc::timed_out;
            } else if (run.out.size() > within.out) {
                ec = errc::output_too_large;
            } else {
                report.status = run.signal != 0 ? process::exit_status::signalled(run.signal)
                                                : process::exit_status::exited(run.exit);
                report.out = run.out;
                report.err = run.err.substr(0, within.err);
                report.out_bytes = run.out.size();
                report.err_bytes = run.err.size();
                report.duration = lasts;
            }
        }
        std::make_shared<simulated_run>(clock, executor, std::move(handler))
            ->start(clock.now() + lasts, ec, std::move(report));
    }

    bool armed_ = false;
    bool watching_ = false;
    std::size_t at_work_ = 0;  // runs, and events of workers
    const std::shared_ptr<int> alive_ =
        std::make_shared<int>();  // shared by workers that are there
};

}  // namespace conformance

#endif
