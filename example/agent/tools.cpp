#include "tools.hpp"

#include <belay/process/run.hpp>
#include <belay/process/utf8.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "tool_input.hpp"
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

namespace agent {
namespace {

namespace asio = boost::asio;
namespace hooks = belay::hooks;

constexpr std::chrono::seconds command_limit{20};
constexpr std::uintmax_t file_limit = 64 * 1024;

std::string shell()
{
    return std::filesystem::exists("/bin/bash") ? "/bin/bash" : "/bin/sh";
}

// What the model gets to read of a command that has ended.
hooks::tool_result result_of(belay::error_code error, const belay::process::exit_report& report)
{
    auto text = belay::process::utf8_lenient(report.out);
    text += belay::process::utf8_lenient(report.err);
    std::string trouble;
    if (error) {
        trouble = error.message();
    } else if (const auto signal = report.status.signal()) {
        trouble = "ended by signal " + std::to_string(*signal);
    } else if (!report.status.is_success()) {
        trouble = "exit status " + std::to_string(report.status.code().value_or(-1));
    }
    if (trouble.empty()) return hooks::text_result(text);
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    return hooks::text_result(text + trouble, true);
}

}  // namespace

asio::awaitable<hooks::tool_result> tools::run(hooks::tool_call call) const
{
    try {
        if (call.name == "bash") co_return co_await bash(call.input);
        if (call.name == "read") co_return read(call.input);
        if (call.name == "write") co_return write(call.input);
        throw refused("there is no tool of that name");
    } catch (const refused& why) {
        co_return hooks::text_result(call.name + ": " + why.what(), true);
    }
}

asio::awaitable<hooks::tool_result> tools::bash(const boost::json::object& input) const
{
    belay::process::invocation command;
    command.argv = {shell(), "-c", argument(input, "command")};
    command.cwd = workspace_.string();
    command.timeout = command_limit;

    const auto executor = co_await asio::this_coro::executor;
    auto [error, report] = co_await belay::process::async_run(
        executor, std::move(command), std::string(), asio::as_tuple(asio::use_awaitable));
    if (error == belay::errc::cancelled) throw boost::system::system_error(error);
    co_return result_of(error, report);
}

hooks::tool_result tools::read(const boost::json::object& input) const
{
    const auto file = inside(input);
    const auto name = argument(input, "path");
    std::error_code error;
    const auto status = std::filesystem::status(file, error);
    if (!std::filesystem::exists(status)) throw refused(name + ": " + error.message());
    if (!std::filesystem::is_regular_file(status)) throw refused(name + ": is not a file");
    if (std::filesystem::file_size(file) > file_limit) throw refused(name + ": is over 64 KiB");
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw refused(name + ": cannot be read");
    const std::string content(std::istreambuf_iterator<char>(stream), {});
    return hooks::text_result(belay::process::utf8_lenient(content));
}

hooks::tool_result tools::write(const boost::json::object& input) const
{
    const auto file = inside(input);
    const auto name = argument(input, "path");
    const auto content = argument(input, "content");
    std::error_code error;
    std::filesystem::create_directories(file.parent_path(), error);
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    if (!(stream << content).flush()) throw refused(name + ": cannot be written");
    return hooks::text_result("wrote " + std::to_string(content.size()) + " bytes to " + name);
}

// The file that the input's path means, with all links followed.
std::filesystem::path tools::inside(const boost::json::object& input) const
{
    const auto name = argument(input, "path");
    std::error_code error;
    const auto file = std::filesystem::weakly_canonical(workspace_ / name, error);
    const auto [end, rest] = std::ranges::mismatch(workspace_, file);
    if (error || end != workspace_.end() || rest == file.end()) {
        throw refused(name + " is not in the workspace");
    }
    return file;
}

}  // namespace agent
