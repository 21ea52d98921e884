#ifndef BELAY_MODULES_IMPL_EXEC_IPP
#define BELAY_MODULES_IMPL_EXEC_IPP

#include <belay/modules/detail/exec_op.hpp>
#include <belay/modules/exec.hpp>
#include <belay/process/run.hpp>
#include <belay/process/utf8.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace belay::modules::detail {

inline bool is_executable_file(const std::filesystem::path& file)
{
    std::error_code ec;
    return std::filesystem::is_regular_file(file, ec) && ::access(file.c_str(), X_OK) == 0;
}

// The absolute path of a program; empty if there is none of that name on PATH.
inline std::string find_program(const std::string& program, const std::string& directory)
{
    if (program.find('/') != program.npos) {
        return (std::filesystem::path(directory) / program).lexically_normal().string();
    }
    const char* set = std::getenv("PATH");
    std::string_view rest = set != nullptr ? set : "/usr/bin:/bin";
    for (;;) {
        const auto end = rest.find(':');
        // an empty element of PATH stands for the current directory
        const auto file = std::filesystem::path(directory) / rest.substr(0, end) / program;
        if (is_executable_file(file)) return file.lexically_normal().string();
        if (end == rest.npos) return {};
        rest.remove_prefix(end + 1);
    }
}

BELAY_DECL exec_op::exec_op(boost::asio::any_io_executor executor, handler_ptr handler)
    : executor_(std::move(executor)), handler_(std::move(handler))
{}

BELAY_DECL void exec_op::start(const std::string& directory, const std::string& program,
                               std::vector<std::string> arguments, exec_options options)
{
    auto found = program.empty() ? std::string() : find_program(program, directory);
    if (found.empty()) {
        return handler_->complete(
            errc::spawn_failed,
            {.detail = "there is no program \"" + program + "\" on PATH that can be executed"});
    }
    if (options.timeout && options.timeout->count() <= 0) options.timeout.reset();
    process::invocation what;
    what.argv = std::move(arguments);
    what.argv.insert(what.argv.begin(), std::move(found));
    what.cwd = (std::filesystem::path(directory) / options.cwd).lexically_normal().string();
    what.timeout = options.timeout;
    what.limits = options.limits;
    what.on_reaped = [self = shared_from_this()](const process::aftermath& how) {
        self->reaped(how.status);
    };
    handler_->on_cancel([weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
            self->stop_.emit(boost::asio::cancellation_type::terminal);
        }
    });
    process::async_run(
        executor_, std::move(what), {},
        boost::asio::bind_cancellation_slot(
            stop_.slot(), [self = shared_from_this()](error_code ec, process::exit_report report) {
                self->reported(ec, std::move(report));
            }));
}

BELAY_DECL void exec_op::reported(error_code ec, process::exit_report report)
{
    stop_.slot().clear();
    result_.out = process::utf8_lenient(report.out);
    result_.err = process::utf8_lenient(report.err);
    result_.detail = std::move(report.detail);
    result_.killed = ec == errc::timed_out || ec == errc::cancelled;
    if (!result_.killed) return finish(ec, report.status);
    if (!report.started || report.status.is_known()) finish({}, report.status);
}

BELAY_DECL void exec_op::reaped(process::exit_status status)
{
    if (result_.killed) finish({}, status);
}

BELAY_DECL void exec_op::finish(error_code ec, process::exit_status status)
{
    if (!handler_->pending()) return;
    if (const auto signal = status.signal()) {
        result_.code = result_.killed ? 0 : 128 + *signal;
    } else {
        result_.code = status.code().value_or(0);
    }
    handler_->complete(ec, std::move(result_));
}

BELAY_DECL void exec(boost::asio::any_io_executor executor, std::string directory,
                     std::string program, std::vector<std::string> arguments, exec_options options,
                     boost::asio::any_completion_handler<void(error_code, exec_result)> handler)
{
    auto waiting = belay::detail::waiting_handler<exec_result>::make(executor, std::move(handler));
    auto op = std::make_shared<exec_op>(executor, std::move(waiting));
    boost::asio::dispatch(executor, [op = std::move(op), directory = std::move(directory),
                                     program = std::move(program), arguments = std::move(arguments),
                                     options = std::move(options)]() mutable {
        op->start(directory, program, std::move(arguments), std::move(options));
    });
}

}  // namespace belay::modules::detail

#endif
