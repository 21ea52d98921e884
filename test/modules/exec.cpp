#include <belay/modules/exec.hpp>
#include <belay/modules/runner.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace belay;
using namespace belay::modules;
using namespace std::chrono_literals;

namespace {

struct ended {
    error_code ec;
    exec_result result;
};

struct folder {
    folder()
        : path(std::filesystem::temp_directory_path() /
               ("belay-exec-" + std::to_string(::getpid())))
    {
        std::filesystem::remove_all(path);
        std::filesystem::create_directories(path / "sub");
        path = std::filesystem::canonical(path);
    }
    ~folder() { std::filesystem::remove_all(path); }

    void script(const std::string& name, const std::string& body) const
    {
        std::ofstream(path / name) << "#!/bin/sh\n" << body << '\n';
        std::filesystem::permissions(path / name, std::filesystem::perms::owner_all);
    }

    std::filesystem::path path;
};

struct fixture {
    ended run(std::string program, std::vector<std::string> arguments, exec_options options = {})
    {
        std::optional<ended> what;
        async_exec(io.get_executor(), here.path.string(), std::move(program), std::move(arguments),
                   std::move(options), [&](error_code ec, exec_result result) {
                       what.emplace(ended{ec, std::move(result)});
                   });
        BOOST_TEST(!what.has_value());  // never from inside the call
        io.restart();
        io.run();
        BOOST_REQUIRE(what.has_value());
        return *std::move(what);
    }

    ended sh(const std::string& script, exec_options options = {})
    {
        return run("sh", {"-c", script}, std::move(options));
    }

    asio::io_context io;
    folder here;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(exec_suite, fixture)

BOOST_AUTO_TEST_CASE(an_exit_status_is_a_result_and_both_outputs_are_whole)
{
    const auto it = sh("printf o; printf e >&2; exit 3");
    BOOST_TEST(!it.ec);
    BOOST_TEST(it.result.out == "o");
    BOOST_TEST(it.result.err == "e");
    BOOST_TEST(it.result.code == 3);
    BOOST_TEST(!it.result.killed);
}

BOOST_AUTO_TEST_CASE(there_is_no_shell_and_no_input)
{
    BOOST_TEST(run("echo", {"$HOME", "*"}).result.out == "$HOME *\n");
    const auto it = run("cat", {});
    BOOST_TEST(it.result.out == "");
    BOOST_TEST(it.result.code == 0);
}

BOOST_AUTO_TEST_CASE(its_directory_is_the_conversations_or_relative_to_it)
{
    BOOST_TEST(run("pwd", {"-P"}).result.out == here.path.string() + "\n");
    BOOST_TEST(run("pwd", {"-P"}, {.cwd = "sub"}).result.out ==
               (here.path / "sub").string() + "\n");
    BOOST_TEST(run("pwd", {"-P"}, {.cwd = "/"}).result.out == "/\n");
    BOOST_TEST((run("pwd", {}, {.cwd = "nowhere"}).ec == errc::bad_cwd));
}

BOOST_AUTO_TEST_CASE(a_program_with_a_slash_is_relative_to_the_directory_and_others_are_on_path)
{
    here.script("mine", "echo mine");
    BOOST_TEST(run("./mine", {}).result.out == "mine\n");
    BOOST_TEST(run((here.path / "mine").string(), {}).result.out == "mine\n");
    const auto missing = run("mine", {});
    BOOST_TEST((missing.ec == errc::spawn_failed));
    BOOST_TEST(missing.result.detail ==
               "there is no program \"mine\" on PATH that can be executed");
    BOOST_TEST((run("", {}).ec == errc::spawn_failed));
    BOOST_TEST((run("./nothing", {}).ec == errc::spawn_failed));
}

BOOST_AUTO_TEST_CASE(the_output_has_no_limit_unless_it_is_asked_for)
{
    const std::size_t much = 3 * 1024 * 1024;
    const auto script = "head -c " + std::to_string(much) + " /dev/zero | tr '\\0' x";
    BOOST_TEST(sh(script).result.out.size() == much);
    BOOST_TEST((sh(script, {.limits = {.out = 1000}}).ec == errc::output_too_large));
}

BOOST_AUTO_TEST_CASE(output_that_is_no_utf_8_is_mended)
{
    BOOST_TEST(sh("printf 'a\\377b'").result.out ==
               "a\xef\xbf\xbd"
               "b");
}

// With SIGCHLD ignored the kernel takes the status; here the exit is seen only when the time is over.
BOOST_AUTO_TEST_CASE(one_whose_status_is_lost_when_its_time_is_over_completes_all_the_same)
{
    const auto before = std::signal(SIGCHLD, SIG_IGN);
    std::optional<ended> what;
    async_exec(io.get_executor(), here.path.string(), "sh", {"-c", "sleep 0.1; echo $$ > pid"},
               {.timeout = 500ms}, [&](error_code ec, exec_result result) {
                   what.emplace(ended{ec, std::move(result)});
               });
    io.poll();  // starts it
    const auto over = std::chrono::steady_clock::now() + 500ms;
    pid_t pid = 0;
    while (!(std::ifstream(here.path / "pid") >> pid) || ::kill(pid, 0) == 0) {
        std::this_thread::sleep_for(1ms);
    }
    std::this_thread::sleep_until(over);
    io.restart();
    io.run();
    std::signal(SIGCHLD, before);
    BOOST_REQUIRE(what.has_value());
    BOOST_TEST(!what->ec);
    BOOST_TEST(what->result.killed);
    BOOST_TEST(what->result.code == 0);
}

BOOST_AUTO_TEST_CASE(one_whose_time_is_over_is_killed_with_what_it_had_written)
{
    const auto it = sh("printf part; exec sleep 60", {.timeout = 300ms});
    BOOST_TEST(!it.ec);
    BOOST_TEST(it.result.killed);
    BOOST_TEST(it.result.code == 0);
    BOOST_TEST(it.result.out == "part");
}

BOOST_AUTO_TEST_CASE(one_that_exits_by_itself_when_it_is_told_to_has_its_status)
{
    const auto it =
        sh("trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done", {.timeout = 500ms});
    BOOST_TEST(!it.ec);
    BOOST_TEST(it.result.killed);
    BOOST_TEST(it.result.code == 7);
}

BOOST_AUTO_TEST_CASE(one_that_will_not_go_is_killed_all_the_same)
{
    const auto it =
        sh("trap '' TERM; printf part; while :; do sleep 0.05; done", {.timeout = 300ms});
    BOOST_TEST(!it.ec);
    BOOST_TEST(it.result.killed);
    BOOST_TEST(it.result.code == 0);
    BOOST_TEST(it.result.out == "part");
}

BOOST_AUTO_TEST_CASE(a_timeout_that_is_not_positive_is_none)
{
    for (const auto limit : {0ms, -1ms}) {
        const auto it = sh("echo done", {.timeout = limit});
        BOOST_TEST(!it.result.killed);
        BOOST_TEST(it.result.out == "done\n");
    }
}

BOOST_AUTO_TEST_CASE(a_foreign_signal_is_no_kill_of_ours)
{
    const auto it = sh("kill -9 $$");
    BOOST_TEST(!it.ec);
    BOOST_TEST(it.result.code == 128 + SIGKILL);
    BOOST_TEST(!it.result.killed);
}

BOOST_AUTO_TEST_CASE(a_cancellation_kills_it_and_is_no_error)
{
    for (const bool at_once : {true, false}) {
        asio::cancellation_signal stop;
        std::optional<ended> what;
        async_exec(io.get_executor(), here.path.string(), "sleep", {"60"}, {},
                   asio::bind_cancellation_slot(stop.slot(), [&](error_code ec, exec_result got) {
                       what.emplace(ended{ec, std::move(got)});
                   }));
        asio::steady_timer soon(io, at_once ? 0ms : 100ms);
        if (at_once) {
            stop.emit(asio::cancellation_type::terminal);
        } else {
            soon.async_wait([&](error_code) { stop.emit(asio::cancellation_type::terminal); });
        }
        io.restart();
        io.run();
        BOOST_REQUIRE(what.has_value());
        BOOST_TEST(!what->ec);
        BOOST_TEST(what->result.killed);
        BOOST_TEST(what->result.code == 0);
    }
}

BOOST_AUTO_TEST_CASE(an_event_loop_that_is_destroyed_takes_the_run_with_it)
{
    auto called = std::make_shared<bool>(false);
    {
        asio::io_context dying;
        async_exec(dying.get_executor(), here.path.string(), "sleep", {"60"}, {.timeout = 50ms},
                   [called](error_code, exec_result) { *called = true; });
        dying.poll();
    }
    BOOST_TEST(!*called);
    BOOST_TEST(called.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_module_may_run_a_program_also_while_it_is_loaded)
{
    test::module_host host;
    std::optional<std::string> out;
    host.add("it", [&](api& its) {
        its.async_exec("echo", {"hello"}, {}, [&](error_code ec, const exec_result& result) {
            BOOST_TEST(!ec);
            out = result.out;
        });
    });
    host.io.restart();
    host.io.run();
    BOOST_TEST(out.value_or("") == "hello\n");
}

BOOST_AUTO_TEST_CASE(a_module_may_await_a_program_without_options)  // g++ 12: no {} as the default
{
    test::module_host host;
    std::optional<std::string> out;
    host.add("it", [&](api& its) {
        its.on<turn_start>([&, its](const turn_start&) -> asio::awaitable<void> {
            std::vector<std::string> arguments{"hello"};
            const auto ended = co_await its.async_exec("echo", std::move(arguments));
            out = ended.out;
        });
    });
    host.runner->async_emit(turn_start{}, [](error_code ec, const notified&) { BOOST_TEST(!ec); });
    host.io.run();
    BOOST_TEST(out.value_or("") == "hello\n");
    BOOST_TEST(host.errors.empty());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_executed_is_passed_over_on_path)
{
    struct changed_path {
        explicit changed_path(const std::string& to) { ::setenv("PATH", to.c_str(), 1); }
        changed_path(const changed_path&) = delete;
        changed_path& operator=(const changed_path&) = delete;
        ~changed_path() { ::setenv("PATH", before.c_str(), 1); }
        std::string before = std::getenv("PATH");
    };
    namespace fs = std::filesystem;
    fs::create_directories(here.path / "1" / "mine");  // a folder
    fs::create_directories(here.path / "2");
    fs::create_directories(here.path / "3");
    here.script("2/mine", "echo not this");
    fs::permissions(here.path / "2" / "mine", fs::perms::owner_read);
    here.script("3/mine", "echo mine");
    const auto in = [&](const char* name) { return (here.path / name).string(); };
    const changed_path path(in("1") + ":" + in("2") + ":" + in("3"));
    BOOST_TEST(run("mine", {}).result.out == "mine\n");
}

BOOST_AUTO_TEST_SUITE_END()
