// What one run of an executable hook costs beside the system calls that it cannot do without, and
// beside Boost.Process v2, one at a time: 200 bytes in, stdout and stderr to their ends, reaped.

#include <belay/process/detail/boost_process.hpp>
#include <belay/process/run.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/readable_pipe.hpp>
#include <boost/asio/writable_pipe.hpp>
#include <boost/asio/write.hpp>
#include <boost/process/v2/stdio.hpp>

#include "question.hpp"
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace {

namespace asio = boost::asio;

const std::string hook = bench::path_of("hook");
const std::string input(200, 'x');
const std::string expected = "{\"power\":\"observe\"}";

// posix_spawn, pipes, poll and waitpid, in a loop of its own.
std::string by_hand()
{
    int in[2], out[2], err[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 ||
        ::pipe2(err, O_CLOEXEC) != 0) {
        return {};
    }
    (void)!::write(in[1], input.data(), input.size());
    ::close(in[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    ::posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    std::string program = hook;
    char* argv[] = {program.data(), nullptr};
    pid_t child = -1;
    const int failed = ::posix_spawn(&child, program.c_str(), &actions, &attributes, argv, environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    ::close(in[0]);
    ::close(out[1]);
    ::close(err[1]);
    std::string text;
    if (failed == 0) {
        pollfd open[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
        for (int left = 2; left > 0;) {
            ::poll(open, 2, 30000);
            for (auto& one : open) {
                if (one.fd < 0 || one.revents == 0) continue;
                char buffer[4096];
                const auto got = ::read(one.fd, buffer, sizeof buffer);
                if (got > 0) {
                    if (one.fd == out[0]) text.append(buffer, static_cast<std::size_t>(got));
                } else {
                    one.fd = -1;
                    --left;
                }
            }
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        if (status != 0) text.clear();
    }
    ::close(out[0]);
    ::close(err[0]);
    return text;
}

std::string by_belay(asio::io_context& io)
{
    belay::process::invocation what;
    what.argv = {hook};
    what.timeout = std::chrono::seconds(30);
    std::string text;
    belay::process::async_run(io.get_executor(), std::move(what), input,
                              [&](belay::error_code ec, belay::process::exit_report report) {
                                  if (!ec && report.status.is_success())
                                      text = std::move(report.out);
                              });
    io.run();
    io.restart();
    return text;
}

std::string by_boost_process(asio::io_context& io)
{
    asio::writable_pipe in(io);
    asio::readable_pipe out(io), err(io);
    std::string text, errors;
    boost::process::v2::process child(io, hook, {},
                                      boost::process::v2::process_stdio{in, out, err});
    int code = -1;
    asio::async_write(in, asio::buffer(input),
                      [&](boost::system::error_code, std::size_t) { in.close(); });
    asio::async_read(out, asio::dynamic_buffer(text),
                     [](boost::system::error_code, std::size_t) {});
    asio::async_read(err, asio::dynamic_buffer(errors),
                     [](boost::system::error_code, std::size_t) {});
    child.async_wait([&](boost::system::error_code, int status) { code = status; });
    io.run();
    io.restart();
    return code == 0 ? text : std::string();
}

template <class Run>
void measure(benchmark::State& state, Run&& run)
{
    for (auto _ : state) {
        if (run() != expected) return state.SkipWithError("the hook's answer did not arrive");
    }
}

}  // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv);
    asio::io_context io;
    program.add("posix_spawn", "", [](auto& state) { measure(state, by_hand); });
    program.add("async_run", "",
                [&](auto& state) { measure(state, [&] { return by_belay(io); }); });
    program.add("Boost.Process v2", "",
                [&](auto& state) { measure(state, [&] { return by_boost_process(io); }); });
    return program.run(
        {.asks = "What does one run of an executable hook cost?",
         .limit = "posix_spawn",
         .peers = {"Boost.Process v2"},
         .goals = {{.variant = "async_run", .against = "posix_spawn", .at_most = 1.3}}});
}
