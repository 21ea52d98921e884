#ifndef BELAY_PROCESS_WORKER_HPP
#define BELAY_PROCESS_WORKER_HPP

// A program that lives on and answers one request after the other, each with a line. See serve.hpp for
// the other side in C++.
//
//     process::worker policy(io.get_executor(), {.argv = {"/usr/bin/node", "/etc/policy.js"}});
//     auto [error, reply] = co_await policy.async_request(R"({"tool":"bash"})", 1s, as_tuple(deferred));
//
// The program reads   {"id":1,"event":{"tool":"bash"}}
// and then writes     {"id":1,"result":{"answer":42}}        reply.result is {"answer":42}

#include <belay/config.hpp>
#include <belay/core/clock.hpp>
#include <belay/core/error.hpp>
#include <belay/process/detail/worker_handler.hpp>
#include <belay/process/worker_types.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace belay::process {

namespace detail {

class worker_op;

BELAY_DECL void start_request(const std::shared_ptr<worker_op>& to, std::string&& event,
                              std::optional<std::chrono::milliseconds> timeout,
                              turn_listener&& turn, worker_handler&& handler);

}  // namespace detail

/// Started at the first request, not before. What `async_run` says of its child holds here: a process
/// group of its own, no descriptor but 0, 1 and 2, signals at their default, SIGPIPE never fatal, always
/// reaped.
///
/// While the program lives, it is work of the executor's context, so `run()` returns only after this is
/// destroyed or shut down. A context that is destroyed before kills the group hard and waits for the
/// child, at most one second; requests are then never completed.
///
/// @par Thread safety
/// It belongs to its executor, which must not run two handlers at the same time. Its members are called
/// there, or while nobody runs the context.
class worker {
public:
    using executor_type = boost::asio::any_io_executor;

    /// `time` must outlive the executor's context. How long a program that has to end may still live is by
    /// the steady clock.
    BELAY_DECL worker(executor_type executor, worker_options options,
                      clock& time = clock::steady());
    worker(worker&&) noexcept = default;
    worker& operator=(worker&& other) noexcept
    {
        std::swap(executor_, other.executor_);
        std::swap(op_, other.op_);
        return *this;
    }
    /// `shut_down()`.
    BELAY_DECL ~worker();

    executor_type get_executor() const noexcept { return executor_; }

    /// Gives `event`, one JSON value, to the program, and completes with its answer.
    ///
    /// More than `worker_options::in_flight` requests wait for their turn, in their order. `timeout` (absent:
    /// no limit) begins with the turn: the wait, which includes pauses after failures, is not charged, the
    /// start of the program is. A pause that is longer than the timeout, or than a second, is not waited for.
    ///
    /// When the program ends by itself, or is ended because another request was overdue, a request that
    /// it has not answered is sent once more, to a fresh one, alone, with its whole timeout.
    ///
    /// @par Completion signature
    /// `void(error_code, worker_reply)`, never from inside this function. Handlers whose executor is the
    /// worker's, and whose answers came together, are called one after the other.
    ///
    /// @par Errors
    /// The program could not be started: `errc::invalid_argv`, `bad_cwd`, `busy`, `spawn_failed`, as in
    /// `async_run`. All requests that wait fail.
    ///
    /// It is not started again yet:
    /// - `errc::unavailable`: it has failed again and again, and what is left of the pause is longer than this
    ///   request's timeout, or than a second where it has one. One that it was given, too, if that would have to be sent once more.
    ///
    /// The program has failed, and was ended:
    /// - `errc::timed_out`: this request is overdue.
    /// - `errc::exited`, `errc::signalled`, `errc::status_lost`: it ended before it had answered, for the
    ///   second time. Its exit status may be 0.
    /// - `errc::output_too_large`: a result, or a line, is over its limit.
    /// - `errc::not_utf8`, `errc::not_json`, `errc::invalid_answer`: it wrote what is no answer to a request
    ///   that it has. All requests that it has fail; if it has none, nobody is told.
    ///
    /// The program lives on:
    /// - `errc::input_too_large`: the event is over `limits::input`, and was not sent.
    /// - `errc::cancelled`: see below.
    /// - `errc::closed`: the worker was shut down.
    ///
    /// @par Per-operation cancellation
    /// `terminal`, `partial` and `total`: it completes with `errc::cancelled`, and the answer will be
    /// dropped. The program has to give it nevertheless, before the timeout (absent: within the grace), or
    /// is ended. Emit them on the executor.
    template <boost::asio::completion_token_for<void(error_code, worker_reply)> Token =
                  boost::asio::deferred_t>
    [[nodiscard]] auto async_request(std::string event,
                                     std::optional<std::chrono::milliseconds> timeout,
                                     Token&& token = Token())
    {
        return boost::asio::async_initiate<Token, void(error_code, worker_reply)>(
            initiation{executor_, op_}, token, std::move(event), timeout, turn_listener());
    }

    /// The same, for a caller who has a clock of its own for the request: `turn` is called before the
    /// completion, and also from inside this function.
    template <boost::asio::completion_token_for<void(error_code, worker_reply)> Token>
    [[nodiscard]] auto async_request(std::string event,
                                     std::optional<std::chrono::milliseconds> timeout,
                                     turn_listener turn, Token&& token)
    {
        return boost::asio::async_initiate<Token, void(error_code, worker_reply)>(
            initiation{executor_, op_}, token, std::move(event), timeout, std::move(turn));
    }

    /// Completes all requests with `errc::closed`, also those to come, and closes the program's stdin. What
    /// has to follow goes on by itself. Again: nothing.
    BELAY_DECL void shut_down();

private:
    struct initiation {
        using executor_type = boost::asio::any_io_executor;

        executor_type executor;
        std::shared_ptr<detail::worker_op> op;

        executor_type get_executor() const noexcept { return executor; }

        template <class Handler>
        void operator()(Handler&& handler, std::string event,
                        std::optional<std::chrono::milliseconds> timeout, turn_listener turn) const
        {
            detail::start_request(op, std::move(event), timeout, std::move(turn),
                                  detail::worker_handler(executor, std::forward<Handler>(handler)));
        }
    };

    executor_type executor_;
    std::shared_ptr<detail::worker_op> op_;
};

}  // namespace belay::process

#if defined(BELAY_HEADER_ONLY)
#include <belay/process/impl/worker.ipp>
#endif

#endif
