#include <belay/process/detail/spawn.hpp>
#include <belay/process/run.hpp>
#include <belay/process/utf8.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include "support.hpp"
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace asio = boost::asio;
namespace process = belay::process;

using belay::errc;
using belay::error_code;
using process::exit_report;
using process::exit_status;
using process::invocation;
using test::all_gone;
using test::eventually;
using test::forever;
using test::pids_in;
using test::probe;
using test::scratch_folder;
using namespace std::chrono_literals;

namespace {

/// What an operation completed with.
struct outcome {
    error_code error;
    exit_report report;
    int completions = 0;
};

/// Stores what it is completed with.
struct into {
    outcome* to;

    void operator()(error_code error, exit_report report) const
    {
        *to = {error, std::move(report), to->completions + 1};
    }
};

/// Runs it alone, until the completion.
outcome run_until_completion(asio::io_context& loop, invocation what, std::string input = {})
{
    outcome result;
    process::async_run(loop.get_executor(), std::move(what), std::move(input), into{&result});
    while (result.completions == 0 && loop.run_one() > 0) {
    }
    return result;
}

/// Runs it alone, until nothing is left of it.
outcome run_to_end(invocation what, std::string input = {})
{
    asio::io_context loop;
    outcome result = run_until_completion(loop, std::move(what), std::move(input));
    loop.run();
    return result;
}

invocation with_timeout(invocation what, std::chrono::milliseconds timeout)
{
    what.timeout = timeout;
    return what;
}

invocation without_limits(invocation what)
{
    what.limits = process::limits::none();
    return what;
}

/// A copy of the probe, for tests that do something to the file.
std::string copy_of_probe(const scratch_folder& folder, const std::string& name = "probe")
{
    const std::string path = folder / name;
    std::filesystem::copy_file(BELAY_TEST_PROBE, path);
    return path;
}

std::string binary(std::size_t size)
{
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<char>((i * 131 + (i >> 8)) & 0xFF);
    return bytes;
}

/// Waits for the file, while the loop goes on.
void run_until_marked(asio::io_context& loop, const std::string& file, std::size_t marks)
{
    BOOST_REQUIRE(eventually([&] {
        loop.poll();
        return pids_in(file).size() >= marks;
    }));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(run)

// --- What is reported

BOOST_AUTO_TEST_CASE(output_and_exit_status_are_data)
{
    const outcome result = run_to_end(probe({"json", "{}", "say-err", "hm", "exit", "3"}));
    BOOST_TEST(!result.error);
    BOOST_TEST(result.report.status.code().value() == 3);
    BOOST_TEST(!result.report.status.signal().has_value());
    BOOST_TEST(result.report.out == "{}");
    BOOST_TEST(result.report.err == "hm");
    BOOST_TEST(result.report.out_bytes == 2U);
    BOOST_TEST(!result.report.pipe_still_open);
    BOOST_TEST(!result.report.stdin_unread);
    BOOST_TEST(result.report.duration.count() > 0);
    BOOST_TEST(result.completions == 1);
}

BOOST_AUTO_TEST_CASE(a_signal_is_never_success)  // bug log C12
{
    const outcome result = run_to_end(probe({"json", R"({"decision":"allow"})", "die", "KILL"}));
    BOOST_TEST(!result.error);
    BOOST_TEST(result.report.status.signal().value() == SIGKILL);
    BOOST_TEST(!result.report.status.is_success());
    BOOST_TEST(result.report.out == R"({"decision":"allow"})");
}

BOOST_AUTO_TEST_CASE(exit_status_9_is_not_signal_9)
{
    BOOST_TEST((run_to_end(probe({"exit", "9"})).report.status == exit_status::exited(9)));
    BOOST_TEST((run_to_end(probe({"die", "9"})).report.status == exit_status::signalled(9)));
    BOOST_TEST((exit_status::exited(9) != exit_status::signalled(9)));
}

BOOST_AUTO_TEST_CASE(arguments_arrive_untouched)  // bug log G8
{
    const std::vector<std::string> odd = {"exit", "0",  "$(id)", "a b", "'",
                                          "\"",   "-x", "*",     "\n",  ""};
    invocation what = probe({"argv"});
    what.argv.insert(what.argv.end(), odd.begin(), odd.end());
    const std::string expected =
        R"json("argv","exit","0","$(id)","a b","'","\"","-x","*","\u000a",""])json";
    const std::string out = run_to_end(what).report.out;
    BOOST_TEST(out.substr(out.find("\"argv\"")) == expected);
}

BOOST_AUTO_TEST_CASE(an_absent_environment_is_the_hosts_and_a_given_one_is_whole)
{
    ::setenv("BELAY_TEST_SECRET", "1", 1);
    BOOST_TEST(run_to_end(probe({"env"})).report.out.find("BELAY_TEST_SECRET=1") !=
               std::string::npos);
    ::unsetenv("BELAY_TEST_SECRET");

    invocation what = probe({"env"});
    what.environment = std::vector<std::string>{"A=1", "B=x y"};
    BOOST_TEST(run_to_end(what).report.out == R"(["A=1","B=x y"])");
    what.environment->clear();
    BOOST_TEST(run_to_end(what).report.out == "[]");
}

BOOST_AUTO_TEST_CASE(the_working_directory_is_the_one_asked_for)  // bug log F7
{
    const scratch_folder folder;
    const std::string odd = folder / "gr\xC3\xBC\xC3\x9F dich";
    std::filesystem::create_directory(odd);
    invocation what = probe({"cwd"});
    what.argv[0] = odd +
                   "/pr\xC3\xB6"
                   "be 1";
    std::filesystem::copy_file(BELAY_TEST_PROBE, what.argv[0]);
    what.cwd = odd;
    BOOST_TEST(run_to_end(what).report.out == '"' + std::filesystem::canonical(odd).string() + '"');

    what.cwd.clear();
    BOOST_TEST(run_to_end(what).report.out == '"' + std::filesystem::current_path().string() + '"');
}

// --- stdin and stdout

BOOST_AUTO_TEST_CASE(input_and_output_of_any_size_progress_together)  // bug log B2
{
    for (const std::size_t size : {0UL, 1UL, 65535UL, 65536UL, 65537UL, 1048576UL, 8388608UL}) {
        const std::string input = binary(size);
        const outcome result = run_to_end(without_limits(probe({"echo"})), input);
        BOOST_TEST(!result.error);
        BOOST_TEST((result.report.out == input));
        BOOST_TEST(!result.report.stdin_unread);
    }
}

BOOST_AUTO_TEST_CASE(
    stdin_ends_after_the_input_also_when_siblings_are_started_at_once)  // bug log A5
{
    std::atomic<bool> stop{false};
    std::thread other([&] {
        while (!stop) run_to_end(probe({"sleep", "20"}));
    });
    for (const std::string& input :
         {std::string(), std::string(200, 'i'), std::string(100000, 'i')}) {
        asio::io_context loop;
        std::array<outcome, 16> results;
        for (outcome& result : results)
            process::async_run(loop.get_executor(),
                               with_timeout(probe({"read-all"}), test::generous), input,
                               into{&result});
        loop.run();
        for (const outcome& result : results) {
            BOOST_TEST(!result.error);
            BOOST_TEST(result.report.out.rfind(std::to_string(input.size()) + ' ', 0) == 0U);
        }
    }
    stop = true;
    other.join();
}

BOOST_AUTO_TEST_CASE(a_child_that_does_not_read_its_input_is_judged_by_its_answer)  // bug log B1
{
    struct sigaction before {};
    ::sigaction(SIGPIPE, nullptr, &before);
    BOOST_TEST((before.sa_handler == SIG_DFL));  // so that a broken pipe would end this process

    const std::string input(1024 * 1024, 'i');
    invocation what = without_limits(probe({"close-in", "json", "{}", "exit", "0"}));
    int wrong = 0;
    asio::io_context loop;
    for (int i = 0; i < 1000; ++i) {
        const outcome result = run_until_completion(loop, what, input);
        if (result.error || !result.report.status.is_success() || result.report.out != "{}")
            ++wrong;
        loop.run();
        loop.restart();
    }
    BOOST_TEST(wrong == 0);

    // More than any pipe takes: surely not all of it was taken.
    const outcome result = run_to_end(what, std::string(4 * 1024 * 1024, 'i'));
    BOOST_TEST(result.report.stdin_unread);
    BOOST_TEST(result.report.status.is_success());

    // It closes stdin and lives on, so that the write itself meets the broken pipe.
    what.argv.back() = "0";
    what.argv.insert(what.argv.begin() + 2, {"sleep", "100"});
    const outcome survivor = run_to_end(what, std::string(4 * 1024 * 1024, 'i'));
    BOOST_TEST(!survivor.error);
    BOOST_TEST(survivor.report.stdin_unread);
    BOOST_TEST(survivor.report.out == "{}");

    struct sigaction after {};
    ::sigaction(SIGPIPE, nullptr, &after);
    BOOST_TEST((after.sa_handler == SIG_DFL));
}

BOOST_AUTO_TEST_CASE(a_child_that_never_reads_does_not_hold_up_its_report)
{
    const outcome result = run_to_end(without_limits(probe({"noread", "json", "{}"})),
                                      std::string(4 * 1024 * 1024, 'i'));
    BOOST_TEST(!result.error);
    BOOST_TEST(result.report.stdin_unread);
    BOOST_TEST(result.report.out == "{}");
}

BOOST_AUTO_TEST_CASE(output_is_decoded_by_nobody_and_cut_nowhere)  // bug log F5
{
    for (const std::string hex : {"C3A9", "E282AC", "F09F9880"})
        for (std::size_t cut = 2; cut < hex.size(); cut += 2) {
            const outcome result =
                run_to_end(probe({"split", hex.substr(0, cut), hex.substr(cut), "10"}));
            BOOST_TEST(result.report.out_bytes == hex.size() / 2);
            BOOST_TEST(!process::utf8_error_offset(result.report.out).has_value());
        }
    const outcome result = run_to_end(probe({"json", "ab", "raw", "C0AF"}));  // bug log F6
    BOOST_TEST(!result.error);
    BOOST_TEST(process::utf8_error_offset(result.report.out).value() == 2U);
}

BOOST_AUTO_TEST_CASE(
    exactly_the_bound_of_output_is_fine_and_one_byte_more_is_a_failure)  // bug log B6
{
    const outcome fine = run_to_end(probe({"out", "65536"}));
    BOOST_TEST(!fine.error);
    BOOST_TEST(fine.report.out.size() == 65536U);

    const outcome over = run_to_end(probe({"out", "65537"}));
    BOOST_TEST((over.error == errc::output_too_large));
    BOOST_TEST(over.report.out_bytes == 65537U);
    BOOST_TEST(over.report.out.size() == 65536U);

    invocation none = probe({"exit", "0"});
    none.limits.out = 0;
    BOOST_TEST(!run_to_end(none).error);
    none.argv = probe({"out", "1"}).argv;
    BOOST_TEST((run_to_end(none).error == errc::output_too_large));
}

BOOST_AUTO_TEST_CASE(a_child_that_goes_over_its_bound_is_ended_with_its_group)
{
    const scratch_folder folder;
    const outcome result = run_to_end(probe({"mark-orphan", folder / "marks", forever, "mark",
                                             folder / "marks", "out", "70000", "sleep", forever}));
    BOOST_TEST((result.error == errc::output_too_large));
    const std::vector<pid_t> pids = pids_in(folder / "marks");
    BOOST_TEST(pids.size() == 2U);
    BOOST_TEST(all_gone(pids));
}

BOOST_AUTO_TEST_CASE(a_flood_ends_at_the_bound)
{
    const outcome result = run_to_end(probe({"out", "2000000000", "sleep", forever}));
    BOOST_TEST((result.error == errc::output_too_large));
    BOOST_TEST(result.report.out.size() == 65536U);
}

BOOST_AUTO_TEST_CASE(stderr_keeps_its_beginning_and_is_never_a_failure)
{
    const outcome result = run_to_end(probe({"say-err", "first", "err", "1000000", "json", "{}"}));
    BOOST_TEST(!result.error);
    BOOST_TEST(result.report.err.size() == 65536U);
    BOOST_TEST(result.report.err.rfind("first", 0) == 0U);
    BOOST_TEST(result.report.err_bytes == 1000005U);
    BOOST_TEST(result.report.out == "{}");
}

BOOST_AUTO_TEST_CASE(input_over_its_bound_starts_nothing)
{
    const scratch_folder folder;
    const outcome over = run_to_end(probe({"mark", folder / "mark"}), std::string(262145, 'i'));
    BOOST_TEST((over.error == errc::input_too_large));
    BOOST_TEST(over.report.detail.find("262145") != std::string::npos);
    BOOST_TEST(!std::filesystem::exists(folder / "mark"));

    const outcome fine = run_to_end(probe({"read-all"}), std::string(262144, 'i'));
    BOOST_TEST(!fine.error);
    BOOST_TEST(fine.report.out.rfind("262144 ", 0) == 0U);
}

// --- The exit counts, not the pipes

BOOST_AUTO_TEST_CASE(
    the_report_comes_at_the_exit_though_a_grandchild_holds_a_pipe)  // bug log A2, A9
{
    for (const char* mode : {"orphan", "orphan-out", "orphan-err", "daemon"}) {
        const auto begun = test::clock::now();
        const outcome result = run_to_end(probe({"json", "{}", mode, "25000", "exit", "0"}));
        BOOST_TEST((test::clock::now() - begun < 20s));
        BOOST_TEST(!result.error);
        BOOST_TEST(result.report.status.is_success());
        BOOST_TEST(result.report.out == "{}");
        BOOST_TEST(result.report.pipe_still_open);
    }
}

BOOST_AUTO_TEST_CASE(a_grandchild_of_a_child_that_ended_well_is_left_alone)
{
    const scratch_folder folder;
    const outcome result =
        run_to_end(probe({"mark-orphan", folder / "mark", forever, "exit", "0"}));
    BOOST_TEST(!result.error);
    const std::vector<pid_t> pids = pids_in(folder / "mark");
    BOOST_TEST_REQUIRE(pids.size() == 1U);
    std::this_thread::sleep_for(50ms);  // a signal that had been sent would be there by now
    BOOST_TEST(!test::is_gone(pids[0]));
    test::kill_hard(pids[0]);
}

BOOST_AUTO_TEST_CASE(what_a_grandchild_prints_later_is_ignored)  // bug log B7
{
    const outcome result = run_to_end(probe({"json", "{}", "late", "garbage", "200", "exit", "0"}));
    BOOST_TEST(!result.error);
    BOOST_TEST(result.report.out == "{}");
}

BOOST_AUTO_TEST_CASE(all_that_was_written_before_the_exit_is_there)
{
    for (int i = 0; i < 50; ++i) {
        const outcome result = run_to_end(probe({"out", "60000", "err", "60000"}));
        BOOST_TEST(result.report.out.size() == 60000U);
        BOOST_TEST(result.report.err.size() == 60000U);
    }
}

// --- Time

BOOST_AUTO_TEST_CASE(a_timeout_ends_the_whole_tree)  // bug log A1
{
    const scratch_folder folder;
    asio::io_context loop;
    const auto begun = test::clock::now();
    const outcome result = run_until_completion(
        loop, with_timeout(probe({"json", "{", "mark-orphan", folder / "marks", forever, "mark",
                                  folder / "marks", "sleep", forever}),
                           300ms));
    BOOST_TEST((test::clock::now() - begun < test::generous));
    BOOST_TEST((test::clock::now() - begun >= 300ms));
    BOOST_TEST((result.error == errc::timed_out));
    BOOST_TEST(!result.report.status.is_known());
    BOOST_TEST(result.report.out == "{");
    loop.run();
    const std::vector<pid_t> pids = pids_in(folder / "marks");
    BOOST_TEST(pids.size() == 2U);
    BOOST_TEST(all_gone(pids));
    BOOST_TEST(!test::has_children());
}

BOOST_AUTO_TEST_CASE(the_completion_does_not_wait_for_the_kill)
{
    const scratch_folder folder;
    invocation what =
        with_timeout(probe({"ignore-term", "mark", folder / "mark", "sleep", forever}), 300ms);
    what.grace = std::chrono::milliseconds(test::generous) + 5s;
    asio::io_context loop;
    const outcome result = run_until_completion(loop, what);
    BOOST_TEST((result.error == errc::timed_out));
    const std::vector<pid_t> pids = pids_in(folder / "mark");
    BOOST_TEST_REQUIRE(pids.size() == 1U);
    BOOST_TEST(!test::is_gone(pids[0]));
    // The context is destroyed here, long before the end of the grace.
}

BOOST_AUTO_TEST_CASE(
    a_child_that_ignores_the_polite_signal_is_killed_and_that_is_told)  // bug log A4
{
    invocation what = with_timeout(probe({"ignore-term", "sleep", forever}), 300ms);
    what.grace = 100ms;
    std::vector<process::aftermath> told;
    what.on_reaped = [&](const process::aftermath& end) { told.push_back(end); };
    BOOST_TEST((run_to_end(what).error == errc::timed_out));
    BOOST_TEST_REQUIRE(told.size() == 1U);
    BOOST_TEST(told[0].hard_kill);
    BOOST_TEST((told[0].status == exit_status::signalled(SIGKILL)));
}

BOOST_AUTO_TEST_CASE(a_child_may_end_itself_within_the_grace)
{
    const scratch_folder folder;
    invocation what =
        with_timeout(probe({"on-term", folder / "mark", "json", "{", "sleep", forever}), 1000ms);
    what.grace = test::generous;
    std::vector<process::aftermath> told;
    what.on_reaped = [&](const process::aftermath& end) { told.push_back(end); };
    const auto begun = test::clock::now();
    const outcome result = run_to_end(what);
    BOOST_TEST((result.error == errc::timed_out));
    BOOST_TEST(result.report.out == "{");
    BOOST_TEST_REQUIRE(told.size() == 1U);
    BOOST_TEST(!told[0].hard_kill);
    BOOST_TEST((told[0].status == exit_status::exited(0)));
    BOOST_TEST(pids_in(folder / "mark").size() == 1U);
    BOOST_TEST((test::clock::now() - begun <
                test::generous));  // and the rest of the grace is not waited for
}

BOOST_AUTO_TEST_CASE(without_a_grace_there_is_no_polite_signal)
{
    const scratch_folder folder;
    invocation what = with_timeout(probe({"on-term", folder / "mark", "sleep", forever}), 300ms);
    what.grace = 0ms;
    BOOST_TEST((run_to_end(what).error == errc::timed_out));
    BOOST_TEST(pids_in(folder / "mark").empty());
}

belay::process::detail::spawn_result slow_spawn(
    const belay::process::detail::spawn_request& request)
{
    std::this_thread::sleep_for(300ms);
    return belay::process::detail::spawn(request);
}

BOOST_AUTO_TEST_CASE(the_deadline_starts_before_the_spawn)  // bug log A3
{
    for (const char* mode : {"0", "60000"}) {
        asio::io_context loop;
        outcome result;
        belay::process::detail::start_run(loop.get_executor(),
                                          with_timeout(probe({"sleep", mode}), 100ms), {},
                                          into{&result}, &slow_spawn);
        loop.run();
        BOOST_TEST((result.error == errc::timed_out));
        BOOST_TEST(!test::has_children());
    }
}

BOOST_AUTO_TEST_CASE(a_timeout_of_zero_starts_nothing)
{
    const scratch_folder folder;
    for (const auto timeout : {0ms, -5ms, std::chrono::milliseconds::min()}) {
        BOOST_TEST((run_to_end(with_timeout(probe({"mark", folder / "mark"}), timeout)).error ==
                    errc::timed_out));
        BOOST_TEST(!std::filesystem::exists(folder / "mark"));
    }
}

BOOST_AUTO_TEST_CASE(times_beyond_the_clock_are_no_limit)
{
    invocation what = with_timeout(probe({"json", "{}"}), std::chrono::milliseconds::max());
    what.grace = std::chrono::milliseconds::max();
    BOOST_TEST(!run_to_end(what).error);
}

// --- Cancellation

BOOST_AUTO_TEST_CASE(
    every_cancellation_type_ends_the_tree_and_differs_from_a_timeout)  // bug log A12
{
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
        const scratch_folder folder;
        asio::io_context loop;
        asio::cancellation_signal signal;
        outcome result;
        process::async_run(loop.get_executor(),
                           with_timeout(probe({"mark-orphan", folder / "marks", forever, "mark",
                                               folder / "marks", "sleep", forever}),
                                        test::generous * 2),
                           {}, asio::bind_cancellation_slot(signal.slot(), into{&result}));
        run_until_marked(loop, folder / "marks", 2);
        signal.emit(type);
        BOOST_TEST(result.completions == 0);  // never from inside the cancellation
        loop.run();
        BOOST_TEST((result.error == errc::cancelled));
        BOOST_TEST(all_gone(pids_in(folder / "marks")));
        signal.emit(type);  // nobody is there any more
        BOOST_TEST(result.completions == 1);
    }
}

BOOST_AUTO_TEST_CASE(a_cancellation_of_no_type_is_none)
{
    asio::io_context loop;
    asio::cancellation_signal signal;
    outcome result;
    process::async_run(loop.get_executor(), probe({"json", "{}"}), {},
                       asio::bind_cancellation_slot(signal.slot(), into{&result}));
    signal.emit(asio::cancellation_type::none);
    loop.run();
    BOOST_TEST(!result.error);
}

BOOST_AUTO_TEST_CASE(a_cancellation_before_the_start_starts_nothing)
{
    const scratch_folder folder;
    asio::io_context loop;
    asio::cancellation_signal signal;
    outcome result;
    process::async_run(loop.get_executor(), probe({"mark", folder / "mark"}), {},
                       asio::bind_cancellation_slot(signal.slot(), into{&result}));
    signal.emit(asio::cancellation_type::terminal);
    loop.run();
    BOOST_TEST((result.error == errc::cancelled));
    BOOST_TEST(!std::filesystem::exists(folder / "mark"));
}

BOOST_AUTO_TEST_CASE(a_cancelled_child_that_ignores_the_polite_signal_is_killed)
{
    const scratch_folder folder;
    invocation what = probe({"ignore-term", "mark", folder / "mark", "sleep", forever});
    what.grace = 50ms;
    asio::io_context loop;
    asio::cancellation_signal signal;
    outcome result;
    process::async_run(loop.get_executor(), what, {},
                       asio::bind_cancellation_slot(signal.slot(), into{&result}));
    run_until_marked(loop, folder / "mark", 1);
    signal.emit(asio::cancellation_type::total);
    loop.run();
    BOOST_TEST((result.error == errc::cancelled));
    BOOST_TEST(all_gone(pids_in(folder / "mark")));
}

BOOST_AUTO_TEST_CASE(a_context_that_is_destroyed_takes_its_children_along)
{
    const scratch_folder folder;
    outcome result;
    {
        asio::io_context loop;
        for (int i = 0; i < 4; ++i)
            process::async_run(loop.get_executor(),
                               probe({"ignore-term", "mark-orphan", folder / "marks", forever,
                                      "mark", folder / "marks", "sleep", forever}),
                               {}, into{&result});
        run_until_marked(loop, folder / "marks", 8);
    }
    BOOST_TEST(result.completions == 0);
    BOOST_TEST(!test::has_children());
    BOOST_TEST(all_gone(pids_in(folder / "marks")));
}

BOOST_AUTO_TEST_CASE(a_context_that_is_destroyed_within_the_grace_takes_its_child_along)
{
    const scratch_folder folder;
    {
        asio::io_context loop;
        invocation what =
            with_timeout(probe({"ignore-term", "mark", folder / "mark", "sleep", forever}), 500ms);
        what.grace = test::generous;
        BOOST_TEST((run_until_completion(loop, what).error == errc::timed_out));
        BOOST_TEST(test::has_children());
    }
    BOOST_TEST(!test::has_children());
}

// --- What cannot be started

BOOST_AUTO_TEST_CASE(a_working_directory_that_is_gone_is_named)  // bug log A16, A17
{
    const scratch_folder folder;
    invocation what = probe({"exit", "0"});
    what.cwd = folder / "gone";
    outcome result;
    BOOST_CHECK_NO_THROW(result = run_to_end(what));
    BOOST_TEST((result.error == errc::bad_cwd));
    BOOST_TEST(result.report.cause.value() == ENOENT);
    BOOST_TEST(result.report.detail.find("gone") != std::string::npos);

    what.cwd = BELAY_TEST_PROBE;
    BOOST_TEST((run_to_end(what).error == errc::bad_cwd));
}

BOOST_AUTO_TEST_CASE(a_program_that_cannot_be_started_is_a_value_and_leaves_no_zombie)
{
    const scratch_folder folder;
    std::ofstream(folder / "plain") << "no program";
    std::ofstream(folder / "no-interpreter") << "#!/nonexistent/interpreter\n";
    std::ofstream(folder / "no-format") << "exit 0\n";
    std::filesystem::permissions(folder / "no-interpreter", std::filesystem::perms::owner_all);
    std::filesystem::permissions(folder / "no-format", std::filesystem::perms::owner_all);
    const struct {
        const char* name;
        int cause;
        const char* last_words;
    } cases[] = {
        {"missing", ENOENT, ": No such file or directory"},
        {"plain", EACCES, ": Permission denied"},
        {"no-interpreter", ENOENT,
         ": No such file or directory (the file is there, but not the interpreter that its first "
         "line names)"},
        {"no-format", ENOEXEC,
         ": Exec format error (a script needs a first line that begins with #! and names its "
         "interpreter)"},
    };
    for (const auto& [name, cause, last_words] : cases) {
        invocation what;
        what.argv = {folder / name};
        const outcome result = run_to_end(what);
        BOOST_TEST((result.error == errc::spawn_failed));
        BOOST_TEST(result.report.cause.value() == cause);
        BOOST_TEST(result.report.detail == "starting " + what.argv[0] + last_words);
        BOOST_TEST(!result.report.status.is_known());
    }
    BOOST_TEST(!test::has_children());
}

BOOST_AUTO_TEST_CASE(what_the_system_cannot_take_is_refused)
{
    const std::string nul("a\0b", 3);
    invocation what;
    BOOST_TEST((run_to_end(what).error == errc::invalid_argv));
    what.argv = {"probe"};
    BOOST_TEST((run_to_end(what).error == errc::invalid_argv));
    what = probe({nul});
    BOOST_TEST((run_to_end(what).error == errc::invalid_argv));
    what = probe({});
    what.cwd = nul;
    BOOST_TEST((run_to_end(what).error == errc::invalid_argv));
    what = probe({});
    what.environment = std::vector<std::string>{"A=1", nul};
    const outcome result = run_to_end(what);
    BOOST_TEST((result.error == errc::invalid_argv));
    BOOST_TEST(result.report.detail == "environment[1] holds a NUL");
}

BOOST_AUTO_TEST_CASE(a_program_that_is_being_written_is_tried_again)  // bug log A18
{
    const scratch_folder folder;
    invocation what = probe({"json", "{}"});
    what.argv[0] = copy_of_probe(folder);
    int writer = ::open(what.argv[0].c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    BOOST_TEST_REQUIRE(writer >= 0);

    const outcome busy = run_to_end(what);
    BOOST_TEST((busy.error == errc::busy));
    BOOST_TEST(busy.report.cause.value() == ETXTBSY);

    asio::io_context loop;
    outcome result;
    process::async_run(loop.get_executor(), what, {}, into{&result});
    asio::steady_timer release(
        loop, 20ms);  // it is the loop itself that lets go, so it cannot be blocked
    release.async_wait([&](error_code) { ::close(std::exchange(writer, -1)); });
    loop.run();
    BOOST_TEST(!result.error);
    BOOST_TEST(result.report.out == "{}");
    BOOST_TEST(!result.report.cause);
    BOOST_TEST(result.report.detail.empty());
}

BOOST_AUTO_TEST_CASE(the_deadline_also_bounds_the_tries_of_a_busy_program)
{
    const scratch_folder folder;
    invocation what = with_timeout(probe({"json", "{}"}), 20ms);
    what.argv[0] = copy_of_probe(folder);
    const int writer = ::open(what.argv[0].c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    BOOST_TEST((run_to_end(what).error == errc::timed_out));
    ::close(writer);
}

/// Leaves room for so many descriptors more.
class few_descriptors {
public:
    explicit few_descriptors(rlim_t more)
    {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const int next = ::dup(0);
        ::close(next);
        rlimit lower = before_;
        lower.rlim_cur = static_cast<rlim_t>(next) + more;
        ::setrlimit(RLIMIT_NOFILE, &lower);
    }
    few_descriptors(const few_descriptors&) = delete;
    few_descriptors& operator=(const few_descriptors&) = delete;
    ~few_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
    rlimit before_{};
};

BOOST_AUTO_TEST_CASE(without_descriptors_to_spare_the_failure_is_a_value_and_no_child_is_left)
{
    asio::io_context loop;
    BOOST_TEST(!run_until_completion(loop, probe({"exit", "0"})).error);
    loop.run();
    const auto before = test::open_descriptors();
    int failures = 0;
    int successes = 0;
    for (rlim_t room = 0; room < 12; ++room) {
        std::optional<outcome> result;
        {
            const few_descriptors tight(room);
            loop.restart();
            result = run_until_completion(loop, probe({"exit", "0"}));
            loop.run();
        }
        if (result->error) {
            ++failures;
            BOOST_TEST((result->error == errc::spawn_failed));
            BOOST_TEST(result->report.cause.value() == EMFILE);
        } else
            ++successes;
        BOOST_TEST(!test::has_children());
        BOOST_TEST((test::open_descriptors() == before));
    }
    BOOST_TEST(failures >= 6);  // the pipes take six
    BOOST_TEST(successes >= 4);
}

BOOST_AUTO_TEST_CASE(a_child_that_the_loop_cannot_watch_does_not_run_on)
{
    // Numbers are given out in order: stdin's pipe, stdout's, stderr's, then the pidfd. Of these
    // the reactor is given the pidfd and our three ends, and any of the four registrations may be
    // the one that fails.
    for (const std::size_t refused : {6U, 2U, 4U, 1U}) {
        const int wrong = test::in_a_copy_of_this_process([&] {
            asio::io_context loop;
            run_until_completion(loop, with_timeout(probe({"exit", "0"}), test::generous));
            loop.run();
            loop.restart();
            const auto descriptors = test::open_descriptors();
            outcome result;
            process::async_run(loop.get_executor(), without_limits(probe({"sleep", forever})),
                               std::string(4 * 1024 * 1024, 'i'), into{&result});
            std::array<int, 7> numbers{};
            for (int& number : numbers) number = ::dup(0);
            for (const int number : numbers) ::close(number);
            if (!test::refuse_system_call(SYS_epoll_ctl, 2,
                                          static_cast<unsigned>(numbers.at(refused)), ENOMEM))
                return 1;
            while (result.completions == 0 && loop.run_one() > 0) {
            }
            loop.run();
            if (result.error != errc::spawn_failed || result.report.cause.value() != ENOMEM)
                return 2;
            if (test::has_children()) return 3;
            return test::open_descriptors() == descriptors ? 0 : 4;
        });
        BOOST_TEST(wrong == 0);
    }
}

BOOST_AUTO_TEST_CASE(a_host_that_ignores_sigchld_gets_the_output_without_the_status)
{
    const test::changed_disposition ignored(SIGCHLD, SIG_IGN);
    const outcome result = run_to_end(probe({"json", "{}", "exit", "3"}));
    BOOST_TEST((result.error == errc::status_lost));
    BOOST_TEST(result.report.out == "{}");
    BOOST_TEST(!result.report.status.is_known());

    const scratch_folder folder;
    invocation what = with_timeout(probe({"mark-orphan", folder / "marks", forever, "mark",
                                          folder / "marks", "sleep", forever}),
                                   500ms);
    what.grace = 100ms;
    BOOST_TEST((run_to_end(what).error == errc::timed_out));
    const std::vector<pid_t> pids = pids_in(folder / "marks");
    BOOST_TEST(pids.size() == 2U);
    BOOST_TEST(all_gone(pids));

    invocation missing;
    missing.argv = {folder / "missing"};
    BOOST_TEST((run_to_end(missing).error == errc::spawn_failed));
}

// --- What the child inherits

BOOST_AUTO_TEST_CASE(no_descriptor_but_0_1_2_reaches_the_child)  // bug log G5
{
    std::vector<int> open;
    for (int i = 0; i < 5; ++i)
        open.push_back(::open("/dev/null", O_RDONLY));  // without close-on-exec
    open.push_back(::fcntl(open[0], F_DUPFD, 200));
    BOOST_TEST(run_to_end(probe({"fds"})).report.out == "[0,1,2]");
    for (const int number : open) ::close(number);
}

BOOST_AUTO_TEST_CASE(children_that_several_threads_start_get_nothing_of_each_others_pipes)
{
    std::atomic<int> wrong{0};
    std::vector<std::thread> launchers;
    for (int i = 0; i < 3; ++i)
        launchers.emplace_back([&] {
            for (int n = 0; n < 100; ++n) {
                const outcome result = run_to_end(probe({"read-all", "fds"}), "input");
                wrong += result.report.out.find("\n[0,1,2]") == std::string::npos;
            }
        });
    for (std::thread& launcher : launchers) launcher.join();
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(no_signal_is_ignored_caught_or_blocked_in_the_child)
{
    const test::changed_disposition ignored(SIGPIPE, SIG_IGN);
    const test::changed_disposition caught(SIGUSR2, [](int) {});
    sigset_t blocked;
    sigset_t before;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
    const std::string out = run_to_end(probe({"signals"})).report.out;
    sigset_t after;
    ::pthread_sigmask(SIG_SETMASK, &before, &after);
    BOOST_TEST(::sigismember(&after, SIGUSR1) == 1);  // the host's mask is as it was
    BOOST_TEST(::sigismember(&after, SIGTERM) == 0);
    BOOST_TEST(out.find(R"("SigIgn":"0000000000000000")") != std::string::npos);
    BOOST_TEST(out.find(R"("SigBlk":"0000000000000000")") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_child_leads_a_group_of_its_own)
{
    const scratch_folder folder;
    asio::io_context loop;
    asio::cancellation_signal signal;
    outcome result;
    process::async_run(loop.get_executor(), probe({"mark", folder / "mark", "sleep", forever}), {},
                       asio::bind_cancellation_slot(signal.slot(), into{&result}));
    run_until_marked(loop, folder / "mark", 1);
    const pid_t pid = pids_in(folder / "mark").at(0);
    BOOST_TEST(::getpgid(pid) == pid);
    signal.emit(asio::cancellation_type::terminal);
    loop.run();
}

// --- The event loop

/// Has a descriptor of the reactor recycled while its readiness is still queued: of two pipes that
/// are ready in one turn, the first handler closes the other's descriptor, then calls `next`.
void with_stale_readiness(asio::io_context& loop, const std::function<void()>& next)
{
    struct one_pipe {
        asio::posix::stream_descriptor read;
        int write;
    };
    std::vector<one_pipe> pipes;
    for (int i = 0; i < 2; ++i) {
        int ends[2];
        BOOST_REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        BOOST_REQUIRE(::write(ends[1], "x", 1) == 1);
        pipes.push_back({asio::posix::stream_descriptor(loop, ends[0]), ends[1]});
    }
    bool first = true;
    for (std::size_t i = 0; i < 2; ++i)
        pipes[i].read.async_wait(asio::posix::stream_descriptor::wait_read, [&, i](error_code) {
            if (std::exchange(first, false)) {
                pipes[1 - i].read.close();
                next();
            }
        });
    while (first) loop.run_one();
    loop.poll();
    for (const one_pipe& pipe : pipes) ::close(pipe.write);
}

BOOST_AUTO_TEST_CASE(a_stale_readiness_neither_stops_the_loop_nor_ends_the_run)
{
    // The control: on this Asio an empty pipe is really reported as readable.
    {
        asio::io_context loop;
        asio::posix::stream_descriptor empty(loop);
        int ends[2];
        BOOST_REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        bool woken = false;
        with_stale_readiness(loop, [&] {
            empty.assign(ends[0]);
            empty.async_wait(asio::posix::stream_descriptor::wait_read,
                             [&](error_code) { woken = true; });
        });
        BOOST_WARN_MESSAGE(woken, "this Asio gives no stale readiness in this way");
        ::close(ends[1]);
    }
    asio::io_context loop;
    outcome result;
    int ticks_before_the_end = 0;
    asio::steady_timer tick(loop);
    const std::function<void()> next_tick = [&] {
        tick.expires_after(20ms);
        tick.async_wait([&](error_code) {
            if (result.completions == 0) {
                ++ticks_before_the_end;
                next_tick();
            }
        });
    };
    with_stale_readiness(loop, [&] {
        process::async_run(loop.get_executor(), probe({"sleep", "1000", "json", "{}"}), {},
                           into{&result});
        next_tick();
    });
    loop.run();
    BOOST_TEST(!result.error);
    BOOST_TEST(result.report.out == "{}");
    BOOST_TEST(ticks_before_the_end >= 5);
}

BOOST_AUTO_TEST_CASE(the_completion_is_never_called_from_inside_the_start)
{
    asio::io_context loop;
    outcome result;
    for (invocation what : {invocation{}, with_timeout(probe({}), 0ms), probe({"exit", "0"})}) {
        result = {};
        asio::post(loop, [&] {  // on the executor, where the start is not posted
            process::async_run(loop.get_executor(), what, {}, into{&result});
            BOOST_TEST(result.completions == 0);
        });
        loop.run();
        loop.restart();
        BOOST_TEST(result.completions == 1);
    }
}

BOOST_AUTO_TEST_CASE(the_completion_runs_on_the_handlers_executor_and_keeps_its_context_busy)
{
    asio::io_context work;
    asio::io_context home;
    std::thread worker;
    std::atomic<bool> done{false};
    auto guard = asio::make_work_guard(work);
    outcome result;
    std::thread::id where;
    process::async_run(
        work.get_executor(), probe({"exit", "0"}), {},
        asio::bind_executor(home.get_executor(), [&](error_code error, exit_report report) {
            where = std::this_thread::get_id();
            into{&result}(error, std::move(report));
            done = true;
        }));
    worker = std::thread([&] { work.run(); });
    home.run();  // it has nothing to do but to wait for us
    BOOST_TEST(done);
    guard.reset();
    worker.join();
    BOOST_TEST((where == std::this_thread::get_id()));
    BOOST_TEST(!result.error);
}

BOOST_AUTO_TEST_CASE(futures_deferred_operations_and_move_only_handlers_work)
{
    asio::thread_pool pool(1);
    auto future =
        process::async_run(pool.get_executor(), probe({"json", "{}"}), {}, asio::use_future);
    BOOST_TEST(future.get().out == "{}");

    auto failing = process::async_run(pool.get_executor(), invocation{}, {}, asio::use_future);
    BOOST_CHECK_THROW(failing.get(), boost::system::system_error);

    // A deferred operation keeps what it was given.
    auto later = [&] {
        const std::string word = "a word that is too long for a small string";
        return process::async_run(pool.get_executor(), probe({"echo"}), word);
    }();
    BOOST_TEST(std::move(later)(asio::use_future).get().out ==
               "a word that is too long for a small string");

    std::promise<std::string> promise;
    auto out = promise.get_future();
    process::async_run(pool.get_executor(), probe({"json", "[]"}), {},
                       [promise = std::move(promise)](error_code, exit_report report) mutable {
                           promise.set_value(std::move(report.out));
                       });
    BOOST_TEST(out.get() == "[]");
    pool.join();
}

BOOST_AUTO_TEST_CASE(on_a_strand_of_a_pool_nothing_races)
{
    asio::thread_pool pool(3);
    std::atomic<int> good{0};
    std::atomic<int> ended{0};
    for (int i = 0; i < 60; ++i) {
        const auto strand = asio::make_strand(pool.get_executor());
        invocation what = i % 3 == 0   ? with_timeout(probe({"sleep", forever}), 1500ms)
                          : i % 3 == 1 ? probe({"out", "70000", "sleep", forever})
                                       : without_limits(probe({"echo"}));
        error_code expected;
        if (i % 3 == 0)
            expected = errc::timed_out;
        else if (i % 3 == 1)
            expected = errc::output_too_large;
        what.on_reaped = [&](const process::aftermath&) { ++ended; };
        process::async_run(
            strand, what, std::string(100000, 'i'),
            asio::bind_executor(strand, [&, expected](error_code error, exit_report) {
                good += error == expected;
            }));
    }
    pool.join();
    BOOST_TEST(good == 60);
    BOOST_TEST(ended == 40);
    BOOST_TEST(!test::has_children());
}

// --- Nothing is left

BOOST_AUTO_TEST_CASE(after_2000_mixed_runs_the_process_is_what_it_was)  // bug log A14, A15
{
    asio::io_context loop;
    run_until_completion(loop, with_timeout(probe({"exit", "0"}), test::generous));
    loop.run();
    loop.restart();  // the loop has its own descriptors now
    const auto descriptors = test::open_descriptors();
    const auto threads = test::threads();
    BOOST_TEST(!test::has_children());

    constexpr int total = 2000;
    constexpr int at_once = 8;
    int started = 0;
    int wrong = 0;
    std::array<int, 8> seen{};
    std::function<void()> start_next = [&] {
        if (started == total) return;
        const int kind = started++ % 8;
        const auto signal = std::make_shared<asio::cancellation_signal>();
        invocation what;
        std::string input(200, 'i');
        error_code expected;
        exit_status status;
        switch (kind) {
        case 0:
            what = probe({"read-all"});
            status = exit_status::exited(0);
            break;
        case 1:
            what = probe({"exit", "7"});
            status = exit_status::exited(7);
            break;
        case 2:
            what = probe({"die", "SEGV"});
            status = exit_status::signalled(SIGSEGV);
            break;
        case 3:
            what = with_timeout(probe({"sleep", forever}), 3ms);
            expected = errc::timed_out;
            break;
        case 4:
            what = probe({"out", "66000", "sleep", forever});
            expected = errc::output_too_large;
            break;
        case 5:
            what = probe({"sleep", forever});
            expected = errc::cancelled;
            break;
        case 6:
            what.argv = {"/nonexistent/program"};
            expected = errc::spawn_failed;
            break;
        case 7:
            what = without_limits(probe({"close-in", "orphan", "10"}));
            input.assign(300000, 'i');
            status = exit_status::exited(0);
            break;
        }
        process::async_run(
            loop.get_executor(), what, std::move(input),
            asio::bind_cancellation_slot(signal->slot(), [&, signal, kind, expected, status](
                                                             error_code error, exit_report report) {
                ++seen.at(static_cast<std::size_t>(kind));
                if (error != expected || (!expected && report.status != status)) ++wrong;
                start_next();
            }));
        if (kind == 5) {
            const auto timer = std::make_shared<asio::steady_timer>(loop, 2ms);
            timer->async_wait(
                [timer, signal](error_code) { signal->emit(asio::cancellation_type::total); });
        }
    };
    for (int i = 0; i < at_once; ++i) start_next();
    loop.run();

    BOOST_TEST(wrong == 0);
    for (const int count : seen) BOOST_TEST(count == total / 8);
    BOOST_TEST((test::open_descriptors() == descriptors));
    BOOST_TEST((test::threads() == threads));
    BOOST_TEST(!test::has_children());
}

BOOST_AUTO_TEST_SUITE_END()
