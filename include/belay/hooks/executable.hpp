#ifndef BELAY_HOOKS_EXECUTABLE_HPP
#define BELAY_HOOKS_EXECUTABLE_HPP

// A program as a hook: what an entry says of it, what that means, and the handler that runs it.

#include <belay/config.hpp>
#include <belay/core/detail/folding.hpp>
#include <belay/core/detail/unique_function.hpp>
#include <belay/core/error.hpp>
#include <belay/core/matcher.hpp>
#include <belay/core/reply.hpp>
#include <belay/hooks/phase.hpp>
#include <belay/hooks/protocol.hpp>
#include <belay/process/exit_report.hpp>
#include <belay/process/invocation.hpp>
#include <belay/process/worker_types.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::hooks {

/// How an executable gets its events.
enum class run_mode : unsigned char {
    once,    ///< a run for each event
    worker,  ///< it lives on: a line for each event, a line for each answer (doc/workers.md)
};

/// The most events that a worker may be given at a time.
inline constexpr std::size_t in_flight_limit = 64;

/// An executable hook as a config entry or an extension gives it.
struct executable_spec {
    std::string phase{};              ///< a phase's name, or a name that its protocol gives to one
    std::vector<std::string> argv{};  ///< the program, then its arguments
    std::string protocol = "vera";
    std::chrono::milliseconds timeout{1000};
    std::string name{};  ///< shown to people; empty: the file name of `argv[0]`
    run_mode mode = run_mode::once;
    std::size_t in_flight = 1;         ///< of a worker: how many events it may be given at a time
    std::vector<std::string> tools{};  ///< the tools that it is for; empty: every tool
};

/// An executable hook whose entry was understood.
struct executable {
    phase when{};
    const protocol* speaks = nullptr;
    std::string configured{};  ///< the phase as its entry named it
    std::vector<std::string> argv{};
    std::chrono::milliseconds timeout{1000};
    std::string name{};
    run_mode mode = run_mode::once;
    std::size_t in_flight = 1;
    std::vector<std::string>
        tools{};  ///< who adds it to a chain adds it for these: `any_of(tools)`
};

/// The protocols that entries may name.
using protocols = std::span<const protocol* const>;

/// Those that belay brings along. The one place where a new one is listed.
[[nodiscard]] BELAY_DECL protocols default_protocols() noexcept;

/// The longest timeout that a hook may have (spec: Vera, "Add a hook").
inline constexpr std::chrono::milliseconds timeout_limit{30000};

/// What `spec` means, or why it cannot be a hook: first its protocol is judged, then its phase, its
/// argv (1 to 16 elements, none empty, at most 8 KiB as JSON), its timeout (1 to 30000 ms), `in_flight`
/// (of a worker 1 to 64, else 1), its tools (only in the two phases around a tool call; none empty, and
/// each once). The diagnosis is `errc::invalid_config`. A path that is not absolute is refused where the
/// hook is registered, and again when it is started.
[[nodiscard]] BELAY_DECL checked<executable> check(const executable_spec& spec,
                                                   protocols known = default_protocols());

/// How a program is run: as `process::async_run`, which it is unless a test puts another in its place.
using runner = std::function<void(
    boost::asio::any_io_executor, process::invocation, std::string input,
    boost::asio::any_completion_handler<void(error_code, process::exit_report)>)>;

/// A worker as hooks use it: `process::worker::async_request`. When it is destroyed the worker is, too. What
/// an event waits until `turn` has been called with true is not charged to a deadline.
using worker_function = std::function<void(
    std::string event, std::chrono::milliseconds timeout, process::turn_listener turn,
    boost::asio::any_completion_handler<void(error_code, process::worker_reply)>)>;

/// What the host says about all of its executables.
struct executable_options {
    runner run{};       ///< empty: process::async_run
    std::string cwd{};  ///< empty: the host's. The workspace is in the payload only
    std::optional<std::vector<std::string>> environment{};  ///< absent: the host's

    /// Makes a worker: a `process::worker`, which it is unless a test puts another in its place.
    std::function<worker_function(boost::asio::any_io_executor, process::worker_options)>
        make_worker{};

    /// After so many events, or so long without one, a worker is ended; the next event starts a fresh one.
    std::size_t recycle_after = process::no_limit;
    std::optional<std::chrono::milliseconds> idle_timeout{};
};

namespace detail {

// Gets the report of a program that ended by itself and within its bounds, or why there is none. An answer
// of a worker is reported as that of a program that printed it and exited with 0.
using run_completion =
    belay::detail::unique_function<void(const diagnosis* why, const process::exit_report& report)>;

// A program that serves the events of one hook.
class hook_program {
public:
    // A worker belongs to `executor`.
    BELAY_DECL hook_program(boost::asio::any_io_executor executor, executable what,
                            executable_options how);

    // Gives it `input`; cancelled through `slot`. `done` is called on `executor`, of a worker on the
    // worker's, or from here if nothing has to be run to know the answer. Until then somebody has to keep
    // this alive: a worker ends with it. `turn` is told, until then, also that it has to be waited for.
    BELAY_DECL void run(boost::asio::any_io_executor executor, boost::asio::cancellation_slot slot,
                        std::string input, process::turn_listener turn, run_completion done);

    // What a protocol says against an answer, and what it cannot know: that a worker gave none.
    BELAY_DECL diagnosis explained(diagnosis why, const process::exit_report& report) const;

    // Whether a worker that has no events lives on, as it does unless this is told. The next event starts a
    // fresh one.
    BELAY_DECL void keep_worker(bool kept);

    const executable what;

private:
    BELAY_DECL void run_once(boost::asio::any_io_executor executor,
                             boost::asio::cancellation_slot slot, std::string input,
                             run_completion done) const;
    BELAY_DECL void ask_worker(boost::asio::cancellation_slot slot, std::string input,
                               process::turn_listener turn, run_completion done);
    BELAY_DECL void end_worker_if_unused();

    const boost::asio::any_io_executor executor_;
    const executable_options how_;
    worker_function worker_;  // while there is one
    std::size_t asked_ = 0;   // events that it has, those that wait for their turn included
    bool kept_ = true;
};

// The protocol of that name, and the phase that a name means in it; or why there is none.
BELAY_DECL checked<const protocol*> find_protocol(std::string_view name, protocols known);
BELAY_DECL checked<phase> find_phase(const protocol& speaks, std::string_view configured,
                                     protocols known);

// Why a hook may not have this argv, this timeout, or this `in_flight`; empty: it may.
BELAY_DECL std::string_view argv_fault(const std::vector<std::string>& argv);
BELAY_DECL std::string_view timeout_fault(std::chrono::milliseconds timeout) noexcept;
BELAY_DECL std::string in_flight_fault(run_mode mode, std::size_t in_flight);

// Whether a phase is about a tool, and why a hook of that phase may not be for the tools that its entry
// names; empty: it may.
BELAY_DECL bool is_about_a_tool(phase when) noexcept;
BELAY_DECL std::string tools_fault(phase when, const executable_spec& spec);

// Why an extension may not have this program; empty: it may.
BELAY_DECL std::string program_fault(std::string_view program);

// The last part of a path.
BELAY_DECL std::string file_name(std::string_view path);

}  // namespace detail

/// An executable as a handler of an async_chain or of observers. One run for each event: the event's
/// payload on its stdin, its answer by its exit status and its stdout.
///
/// Its own timeout ends the program and is enforced here, so the chain's `handler_info` should have
/// none; when a deadline of the chain comes first, the chain cancels the run and with it the program.
/// Everything that goes wrong is a failure of the handler (spec: Vera, "When a hook fails"):
///
/// | code                        | message                                            |
/// |-----------------------------|----------------------------------------------------|
/// | `input_too_large`           | Command hook input exceeded its byte bound         |
/// | `output_too_large`          | Command hook output exceeded its byte bound        |
/// | `timed_out`                 | Command hook timed out after Nms                   |
/// | `exited`, `signalled`       | Command hook exited with status N, or unknown      |
/// | `not_utf8`, `not_json`, `invalid_answer` | the protocol's                        |
/// | `spawn_failed`, `bad_cwd`, `busy`, `invalid_argv` | with what the system said     |
/// | `unavailable`               | Command hook is unavailable: a worker that fails again and again |
///
/// A worker is started by its first event and serves all copies of the handler; it ends with the last of
/// them, its stdin first. Its answer is judged as stdout with exit status 0. Its failures are the same;
/// after such a sentence they say what the worker did, and quote what it has written to stderr. An event
/// that is cancelled costs it nothing but an answer that is dropped. What an event waits for its turn is
/// charged neither to its timeout nor to a deadline of the chain.
template <class E>
class executable_handler {
public:
    /// `what.speaks` must not be null, and `what.when` must be the phase of E. `executor` is that of the
    /// chains, and a worker lives on it; then it must not run two handlers at the same time.
    explicit executable_handler(boost::asio::any_io_executor executor, executable what,
                                executable_options how = {})
        : executable_handler(std::make_shared<detail::hook_program>(
              std::move(executor), std::move(what), std::move(how)))
    {}

    /// For the registry.
    explicit executable_handler(std::shared_ptr<detail::hook_program> program) noexcept
        : program_(std::move(program))
    {}

    void operator()(const E& event, reply<E> answer) const
    {
        const auto& what = program_->what;
        const protocol_for<E>& speaks = *what.speaks;
        auto input = speaks.payload(event, what.configured);
        if (!input) return answer();
        auto executor = answer.get_executor();
        const auto slot = answer.get_cancellation_slot();
        auto call = std::make_unique<call_state>(program_, event, std::move(answer));
        auto turn = [to = &call->answer](bool has_turn) {
            has_turn ? void(to->begin()) : to->await_turn();
        };
        auto ended = [call = std::move(call)](const diagnosis* why,
                                              const process::exit_report& report) {
            call->end(why, report);
        };
        program_->run(std::move(executor), slot, *std::move(input), std::move(turn),
                      std::move(ended));
    }

private:
    struct call_state {
        call_state(std::shared_ptr<detail::hook_program> by, const E& about, reply<E> owed) noexcept
            : program(std::move(by)), event(about), answer(std::move(owed))
        {}

        void end(const diagnosis* why, const process::exit_report& report)
        {
            if (why) return answer.fail(why->code, why->message);
            try {
                const protocol_for<E>& spoke = *program->what.speaks;
                auto said = spoke.answer(event, program->what.configured, report);
                if (said) return answer(*std::move(said));
                const auto fault = program->explained(said.error(), report);
                answer.fail(fault.code, fault.message);
            } catch (...) {
                answer.fail(errc::threw, belay::detail::message_of(std::current_exception()));
            }
        }

        const std::shared_ptr<detail::hook_program> program;
        const E& event;  // lives for as long as the reply
        reply<E> answer;
    };

    std::shared_ptr<detail::hook_program> program_;
};

}  // namespace belay::hooks

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/executable.ipp>
#endif

#endif
