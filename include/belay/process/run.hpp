#ifndef BELAY_PROCESS_RUN_HPP
#define BELAY_PROCESS_RUN_HPP

// Runs one program to its end: input in, output out, within its limits and its time.

#include <belay/config.hpp>
#include <belay/core/error.hpp>
#include <belay/process/detail/run_handler.hpp>
#include <belay/process/exit_report.hpp>
#include <belay/process/invocation.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <string>
#include <utility>

namespace belay::process {
namespace detail {

/// The operation behind `async_run`. A null `spawn` stands for `detail::spawn`.
BELAY_DECL void start_run(boost::asio::any_io_executor executor, invocation what, std::string input,
                          run_handler handler, spawner spawn = nullptr);

struct run_initiation {
    using executor_type = boost::asio::any_io_executor;

    executor_type executor;

    executor_type get_executor() const noexcept { return executor; }

    template <class Handler>
    void operator()(Handler&& handler, invocation what, std::string input) const
    {
        start_run(executor, std::move(what), std::move(input),
                  run_handler(std::forward<Handler>(handler)));
    }
};

}  // namespace detail

/// Runs `what` with `input` on its stdin, and completes when it has exited.
///
/// The child leads a process group of its own. It gets pipes as descriptors 0, 1 and 2 and no
/// other, every signal at its default and none blocked. Its exit counts, not the end of its pipes:
/// what it had written by then is in the report, and a grandchild that holds a pipe delays nothing,
/// is left alone, and what it prints later is ignored. Not to read stdin is no failure.
///
/// A run that has to end early (its time is over, it wrote too much, it was cancelled) completes at
/// once. Its group gets SIGTERM, after the grace SIGKILL, and the child is reaped, all by the
/// operation itself after its completion; `invocation::on_reaped` tells the end of it. That is work
/// of the executor's context: its `run()` returns when the child is gone. A context that is
/// destroyed before kills the group hard and waits for the child, at most one second.
///
/// @par Completion signature
/// `void(error_code, exit_report)`, always through a post, never from inside this function.
///
/// @par Errors
/// An exit status other than 0, and an end by a signal, are no errors but data: see
/// `exit_report::status`.
///
/// Nothing was started:
/// - `errc::invalid_argv`: no argv, a first element that is not absolute, or a NUL in it, in the
///   environment or in `cwd`. `exit_report::detail` names it.
/// - `errc::input_too_large`: over `limits::input`.
/// - `errc::bad_cwd`: the child could not enter `cwd`.
/// - `errc::busy`: the program is open for writing, still so after 100 ms of asynchronous retries.
/// - `errc::spawn_failed`: any other reason; `exit_report::cause` is the system's.
///
/// It was started:
/// - `errc::output_too_large`: over `limits::out`. Never a silent cut.
/// - `errc::timed_out`: `timeout` has passed, on a monotonic clock that starts before the spawn.
///   (Also possible before the start.) A child that had ended by itself, but whose report is late,
///   has timed out.
/// - `errc::cancelled`: see below. (Also possible before the start.)
/// - `errc::status_lost`: it ended, but its status was taken: the host ignores SIGCHLD, or waits
///   for children that are not its own. The output is there.
///
/// @par Per-operation cancellation
/// `terminal`, `partial` and `total` all end the run with `errc::cancelled`. Emit them on
/// `executor`.
///
/// @par Thread safety
/// Everything happens on `executor`, which must not run two handlers at the same time: a context
/// that one thread runs, or a strand. It may be started from any thread. No thread is created, no
/// signal handler is installed, and SIGPIPE cannot hurt the host. The spawn itself holds up the
/// thread for some 0.1 to 0.7 ms.
template <boost::asio::completion_token_for<void(error_code, exit_report)> Token =
              boost::asio::deferred_t>
[[nodiscard]] auto async_run(boost::asio::any_io_executor executor, invocation what,
                             std::string input, Token&& token = Token())
{
    return boost::asio::async_initiate<Token, void(error_code, exit_report)>(
        detail::run_initiation{std::move(executor)}, token, std::move(what), std::move(input));
}

}  // namespace belay::process

#if defined(BELAY_HEADER_ONLY)
#include <belay/process/impl/run.ipp>
#endif

#endif
