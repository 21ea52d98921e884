#ifndef BELAY_MODULES_EXEC_HPP
#define BELAY_MODULES_EXEC_HPP

// Runs a program for a module (spec: Veyyon, "What a hook module is").

#include <belay/config.hpp>
#include <belay/core/error.hpp>
#include <belay/process/invocation.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::modules {

/// How a program runs.
struct exec_options {
    std::string cwd{};  ///< relative to the conversation's directory; empty: that directory
    std::optional<std::chrono::milliseconds> timeout{};  ///< zero or less, or absent: none
    process::limits limits = process::limits::none();    ///< of its output
};

/// What became of it.
struct exec_result {
    std::string out{};    ///< what it wrote to stdout, as UTF-8: other bytes are replaced by U+FFFD
    std::string err{};    ///< likewise
    int code = 0;         ///< its exit status; 128 and the number of the signal that ended it
    bool killed = false;  ///< it was ended by us: its time was over, or somebody has cancelled it
    std::string detail{};  ///< for people, if it could not be started
};

namespace detail {

BELAY_DECL void exec(boost::asio::any_io_executor executor, std::string directory,
                     std::string program, std::vector<std::string> arguments, exec_options options,
                     boost::asio::any_completion_handler<void(error_code, exec_result)> handler);

struct exec_initiation {
    using executor_type = boost::asio::any_io_executor;

    executor_type executor;

    executor_type get_executor() const noexcept { return executor; }

    template <class Handler>
    void operator()(Handler&& handler, std::string directory, std::string program,
                    std::vector<std::string> arguments, exec_options options) const
    {
        exec(executor, std::move(directory), std::move(program), std::move(arguments),
             std::move(options), std::forward<Handler>(handler));
    }
};

}  // namespace detail

/// Runs `program` with `arguments` and an empty stdin, without a shell. A name without a slash is
/// looked up on PATH; other relative paths, and `options.cwd`, are relative to `directory`.
///
/// One that we end gets SIGTERM first, and SIGKILL a second later, with its whole process group. It
/// has `killed`, what it had written until then, and code 0, unless it exited by itself meanwhile:
/// then it has its exit status.
///
/// @par Completion signature
/// `void(error_code, exec_result)`, always through a post.
///
/// @par Errors
/// An exit status other than 0, an end by a signal, and `killed` are no errors. Those of
/// `process::async_run` but for `timed_out` and `cancelled`: `errc::spawn_failed` also if there is no
/// such program on PATH.
///
/// @par Per-operation cancellation
/// Of any type: ends the program, as above. Emit it on `executor`.
template <boost::asio::completion_token_for<void(error_code, exec_result)> Token =
              boost::asio::deferred_t>
[[nodiscard]] auto async_exec(boost::asio::any_io_executor executor, std::string directory,
                              std::string program, std::vector<std::string> arguments,
                              exec_options options, Token&& token = Token())
{
    return boost::asio::async_initiate<Token, void(error_code, exec_result)>(
        detail::exec_initiation{std::move(executor)}, token, std::move(directory),
        std::move(program), std::move(arguments), std::move(options));
}

}  // namespace belay::modules

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/detail/exec_op.hpp>
#endif

#endif
