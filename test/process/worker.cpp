#include <belay/process/detail/spawn.hpp>
#include <belay/process/detail/worker_op.hpp>
#include <belay/process/worker.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include "../common/manual_clock.hpp"
#include "support.hpp"
#include <chrono>
#include <csignal>
#include <cstddef>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace asio = boost::asio;
namespace process = belay::process;

using belay::errc;
using belay::error_code;
using belay::test::manual_clock;
using process::worker;
using process::worker_options;
using process::worker_reply;
using test::all_gone;
using test::eventually;
using test::forever;
using test::pids_in;
using test::scratch_folder;
using namespace std::chrono_literals;

namespace {

/// What a request completed with.
struct outcome {
    error_code error;
    worker_reply reply;
    int completions = 0;

    bool is_done() const { return completions > 0; }
};

/// Stores what it is completed with.
struct into {
    outcome* to;

    void operator()(error_code error, worker_reply reply) const
    {
        *to = {error, std::move(reply), to->completions + 1};
    }
};

/// The probe, which first does this, and then what the requests say.
worker_options probe_worker(std::vector<std::string> modes = {})
{
    worker_options options;
    options.argv = test::probe(std::move(modes)).argv;
    options.argv.push_back("worker");
    return options;
}

std::string event(const std::string& modes)
{
    return '"' + modes + '"';
}

std::string hex(std::string_view bytes)
{
    std::string digits;
    for (const char c : bytes) {
        constexpr char all[] = "0123456789abcdef";
        digits += all[static_cast<unsigned char>(c) >> 4];
        digits += all[static_cast<unsigned char>(c) & 15];
    }
    return digits;
}

void run_until(asio::io_context& loop, const std::function<bool()>& holds)
{
    for (const auto end = test::clock::now() + test::generous; !holds();) {
        BOOST_REQUIRE(test::clock::now() < end);
        loop.restart();
        loop.run_one_for(10ms);
    }
}

/// Asks, and waits for the completion.
outcome ask(asio::io_context& loop, worker& whom, const std::string& modes,
            std::optional<std::chrono::milliseconds> timeout = test::generous)
{
    outcome result;
    whom.async_request(event(modes), timeout, into{&result});
    BOOST_TEST(!result.is_done());  // never from inside
    run_until(loop, [&] { return result.is_done(); });
    return result;
}

/// Asks a worker of its own, and waits until nothing is left of it.
outcome ask_once(worker_options options, const std::string& modes,
                 std::optional<std::chrono::milliseconds> timeout = test::generous)
{
    asio::io_context loop;
    worker whom(loop.get_executor(), std::move(options));
    outcome result = ask(loop, whom, modes, timeout);
    whom.shut_down();
    loop.restart();
    loop.run();
    return result;
}

bool all_done(const std::deque<outcome>& results)
{
    for (const outcome& one : results)
        if (!one.is_done()) return false;
    return true;
}

bool says(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

manual_clock* turned_by_spawn = nullptr;

process::detail::spawn_result slow_spawn(const process::detail::spawn_request& request)
{
    turned_by_spawn->advance(2s);
    return process::detail::spawn(request);
}

/// Nobody who was started by a test is left, dead or alive.
struct no_children {
    ~no_children()
    {
        BOOST_TEST(eventually([] { return !test::has_children(); }));
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(worker_suite, no_children)

// --- Answers

BOOST_AUTO_TEST_CASE(a_request_is_answered_with_the_bytes_of_the_result)
{
    const std::string result = R"({"a": [1, {"b":"}\"]"}],  "c":null})";
    const outcome said = ask_once(probe_worker(), "result " + hex(result));
    BOOST_TEST(!said.error);
    BOOST_TEST(said.reply.result == result);
    BOOST_TEST(said.reply.detail.empty());
    BOOST_TEST(!said.reply.status.is_known());
    BOOST_TEST(said.completions == 1);
    BOOST_TEST((said.reply.duration > 0ns));
}

BOOST_AUTO_TEST_CASE(one_program_answers_one_request_after_the_other)
{
    asio::io_context loop;
    worker whom(loop.get_executor(), probe_worker());
    const std::string first = ask(loop, whom, "pid").reply.result;
    BOOST_TEST(!first.empty());
    for (int i = 0; i < 10; ++i) BOOST_TEST(ask(loop, whom, "pid").reply.result == first);
}

BOOST_AUTO_TEST_CASE(nothing_is_started_before_the_first_request)
{
    asio::io_context loop;
    const scratch_folder folder;
    const std::string file = folder / "marked";
    worker whom(loop.get_executor(), probe_worker({"mark", file}));
    BOOST_TEST(loop.run() == 0U);
    BOOST_TEST(!std::filesystem::exists(file));
    ask(loop, whom, "answer");
    BOOST_TEST(pids_in(file).size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_answer_without_a_result_is_that_of_a_program_that_prints_nothing)
{
    const outcome said = ask_once(probe_worker(), "raw " + hex("{\"id\":1}\n"));
    BOOST_TEST(!said.error);
    BOOST_TEST(said.reply.result.empty());
}

BOOST_AUTO_TEST_CASE(blanks_and_a_carriage_return_around_an_answer_are_allowed)
{
    const outcome said =
        ask_once(probe_worker(), "raw " + hex(" { \"result\" : {} , \"id\" : 1 } \r\n"));
    BOOST_TEST(!said.error);
    BOOST_TEST(said.reply.result == "{}");
}

BOOST_AUTO_TEST_CASE(an_answer_may_come_in_pieces)
{
    const outcome said =
        ask_once(probe_worker(), "split " + hex("{\"id\":1,\"res") + " " + hex("ult\":\"\xC3") +
                                     " 20 raw " + hex("\xA9\"}\n"));
    BOOST_TEST(!said.error);
    BOOST_TEST(said.reply.result == "\"\xC3\xA9\"");
}

BOOST_AUTO_TEST_CASE(line_breaks_in_an_event_become_blanks)
{
    asio::io_context loop;
    worker_options options;
    options.argv = {BELAY_TEST_PROBE, "serve"};
    worker whom(loop.get_executor(), std::move(options));
    outcome result;
    whom.async_request("{\n\"a\":\r\n1}\n", 20s, into{&result});
    run_until(loop, [&] { return result.is_done(); });
    BOOST_TEST(!result.error);
    BOOST_TEST(result.reply.result == "{ \"a\":  1}");
}

BOOST_AUTO_TEST_CASE(large_events_and_results_go_both_ways_at_once)
{
    asio::io_context loop;
    worker_options options;
    options.argv = {BELAY_TEST_PROBE, "serve"};
    options.limits = process::limits::none();
    options.in_flight = 4;
    worker whom(loop.get_executor(), std::move(options));
    std::deque<outcome> results;
    std::vector<std::string> events;
    for (const std::size_t size : {1024U * 1024U, 65536U, 3U * 1024U * 1024U, 65535U, 10U}) {
        events.push_back(event(std::string(size, static_cast<char>('a' + events.size()))));
        whom.async_request(events.back(), 20s, into{&results.emplace_back()});
    }
    run_until(loop, [&] { return all_done(results); });
    for (std::size_t i = 0; i < events.size(); ++i) {
        BOOST_TEST(!results[i].error);
        BOOST_TEST((results[i].reply.result == events[i]));
    }
}

BOOST_AUTO_TEST_CASE(answers_may_come_out_of_order)
{
    asio::io_context loop;
    worker_options options = probe_worker();
    options.in_flight = 3;
    worker whom(loop.get_executor(), std::move(options));
    std::vector<int> order;
    outcome results[3];
    const auto note = [&](int which) {
        return [&, which](error_code error, worker_reply reply) {
            order.push_back(which);
            into{&results[which]}(error, std::move(reply));
        };
    };
    whom.async_request(event("hold answer"), 20s, note(0));
    whom.async_request(event("hold pid"), 20s, note(1));
    whom.async_request(event("answer release"), 20s, note(2));
    run_until(loop, [&] { return order.size() == 3; });
    BOOST_TEST((order == std::vector<int>{2, 1, 0}));
    BOOST_TEST(results[0].reply.result == event("hold answer"));
    BOOST_TEST(results[2].reply.result == event("answer release"));
}

BOOST_AUTO_TEST_CASE(a_handler_that_throws_keeps_nothing_from_those_whose_answers_came_with_its_own)
{
    asio::io_context loop;
    worker_options options = probe_worker();
    options.in_flight = 3;
    worker whom(loop.get_executor(), std::move(options));
    outcome results[4];
    whom.async_request(event("hold answer"), 20s, into{&results[0]});
    whom.async_request(event("hold answer"), 20s, into{&results[1]});
    whom.async_request(event("answer release"), 20s, [&](error_code error, worker_reply reply) {
        into{&results[2]}(error, std::move(reply));
        whom.async_request(event("answer"), 20s, into{&results[3]});
        throw std::runtime_error("thrown");
    });
    std::string thrown;
    for (const auto end = test::clock::now() + test::generous; !results[3].is_done();) {
        BOOST_REQUIRE(test::clock::now() < end);
        loop.restart();
        try {
            loop.run_one_for(10ms);
        } catch (const std::runtime_error& error) {
            thrown += error.what();
        }
    }
    BOOST_TEST(thrown == "thrown");
    for (const outcome& one : results) {
        BOOST_TEST(!one.error);
        BOOST_TEST(one.completions == 1);
    }
}

BOOST_AUTO_TEST_CASE(requests_beyond_the_window_wait_for_their_turn)
{
    asio::io_context loop;
    worker whom(loop.get_executor(), probe_worker());
    std::deque<outcome> results;
    for (int i = 0; i < 20; ++i)
        whom.async_request(event("result " + hex(std::to_string(i))), 20s,
                           into{&results.emplace_back()});
    for (int i = 0; i < 20; ++i) {
        const outcome& one = results[static_cast<std::size_t>(i)];
        run_until(loop, [&] { return one.is_done(); });
        BOOST_TEST(one.reply.result == std::to_string(i));
    }
}

// --- What the program is given

BOOST_AUTO_TEST_CASE(the_program_gets_descriptors_0_1_2_and_no_other)
{
    const int extra = ::open("/dev/null", O_RDONLY);  // not close-on-exec
    const outcome said =
        ask_once(probe_worker(), "raw " + hex("{\"id\":1,\"result\":") + " fds raw " + hex("}\n"));
    ::close(extra);
    BOOST_TEST(said.reply.result == "[0,1,2]");
}

BOOST_AUTO_TEST_CASE(the_program_leads_its_own_group_and_has_its_cwd_and_environment)
{
    const scratch_folder folder;
    worker_options options = probe_worker();
    options.cwd = folder.path().string();
    options.environment = {"A=b"};
    const outcome cwd =
        ask_once(options, "raw " + hex("{\"id\":1,\"result\":") + " cwd raw " + hex("}\n"));
    BOOST_TEST(cwd.reply.result == '"' + folder.path().string() + '"');
    const outcome env =
        ask_once(options, "raw " + hex("{\"id\":1,\"result\":") + " env raw " + hex("}\n"));
    BOOST_TEST(env.reply.result == "[\"A=b\"]");

    asio::io_context loop;
    worker whom(loop.get_executor(), probe_worker());
    const pid_t pid = std::stoi(ask(loop, whom, "pid").reply.result);
    BOOST_TEST(::getpgid(pid) == pid);
}

// --- It cannot be started

BOOST_AUTO_TEST_CASE(a_program_that_is_missing_is_an_error_that_names_it)
{
    worker_options options;
    options.argv = {"/nowhere/at-all"};
    const outcome said = ask_once(options, "answer");
    BOOST_TEST((said.error == errc::spawn_failed));
    BOOST_TEST(says(said.reply.detail, "/nowhere/at-all"));
    BOOST_TEST((said.reply.cause == boost::system::errc::no_such_file_or_directory));
}

BOOST_AUTO_TEST_CASE(a_path_that_is_not_absolute_and_a_bad_cwd_are_errors_of_their_own)
{
    worker_options relative;
    relative.argv = {"probe"};
    BOOST_TEST((ask_once(relative, "answer").error == errc::invalid_argv));
    worker_options none;
    BOOST_TEST((ask_once(none, "answer").error == errc::invalid_argv));
    worker_options lost = probe_worker();
    lost.cwd = "/nowhere/at-all";
    const outcome said = ask_once(lost, "answer");
    BOOST_TEST((said.error == errc::bad_cwd));
    BOOST_TEST(says(said.reply.detail, "/nowhere/at-all"));
}

BOOST_AUTO_TEST_CASE(a_start_that_fails_is_tried_again_by_the_next_request)
{
    const scratch_folder folder;
    const std::string path = folder / "probe";
    worker_options options;
    options.argv = {path, "worker"};
    asio::io_context loop;
    worker whom(loop.get_executor(), std::move(options));
    BOOST_TEST((ask(loop, whom, "answer").error == errc::spawn_failed));
    std::filesystem::copy_file(BELAY_TEST_PROBE, path);
    BOOST_TEST(!ask(loop, whom, "answer").error);
}

BOOST_AUTO_TEST_CASE(a_program_that_is_being_written_is_waited_for)
{
    const scratch_folder folder;
    const std::string path = folder / "probe";
    std::filesystem::copy_file(BELAY_TEST_PROBE, path);
    int writer = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    worker_options options;
    options.argv = {path, "worker"};
    asio::io_context loop;
    worker whom(loop.get_executor(), options);
    BOOST_TEST((ask(loop, whom, "answer").error == errc::busy));

    outcome said;
    whom.async_request(event("answer"), 20s, into{&said});
    ::close(writer);  // between the first try, which was in the call, and the next
    run_until(loop, [&] { return said.is_done(); });
    BOOST_TEST(!said.error);
}

BOOST_AUTO_TEST_CASE(without_descriptors_it_fails_and_nothing_is_left)
{
    asio::io_context loop;
    worker whom(loop.get_executor(), probe_worker());
    const asio::posix::stream_descriptor reactor(loop);  // what it opens is the loop's
    const auto before = test::open_descriptors();
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    outcome said;
    for (rlim_t room = 0; room < 12 && !(said.is_done() && !said.error); ++room) {
        const rlimit low{before.size() + room, limit.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &low);
        said = {};
        whom.async_request(event("answer"), 20s, into{&said});
        ::setrlimit(RLIMIT_NOFILE, &limit);
        run_until(loop, [&] { return said.is_done(); });
        if (!said.error) break;
        BOOST_TEST((said.error == errc::spawn_failed));
        BOOST_TEST((test::open_descriptors() == before));
        BOOST_TEST(!test::has_children());
    }
    BOOST_TEST(!said.error);
}

// UndefinedBehaviorSanitizer looks at a thrown object through a pipe, and there is none to be had.
#if !defined(__SANITIZE_ADDRESS__)
BOOST_AUTO_TEST_CASE(without_a_descriptor_for_the_event_loop_it_fails_and_nothing_is_thrown)
{
    asio::io_context loop;
    worker whom(loop.get_executor(), probe_worker());
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit none{3, limit.rlim_max};
    outcome said;
    ::setrlimit(RLIMIT_NOFILE, &none);
    whom.async_request(event("answer"), std::nullopt, into{&said});
    ::setrlimit(RLIMIT_NOFILE, &limit);
    run_until(loop, [&] { return said.is_done(); });
    BOOST_TEST((said.error == errc::spawn_failed));
    BOOST_TEST((said.reply.cause == boost::system::errc::too_many_files_open));
}
#endif

// --- Limits

BOOST_AUTO_TEST_CASE(an_event_over_its_limit_is_not_sent_and_the_program_lives_on)
{
    asio::io_context loop;
    worker_options options = probe_worker();
    options.limits.input = 20;
    worker whom(loop.get_executor(), std::move(options));
    const std::string pid = ask(loop, whom, "pid").reply.result;
    const std::string padding(12, ' ');
    BOOST_TEST(!ask(loop, whom, "answer" + padding).error);  // and its quotes
    const outcome over = ask(loop, whom, "answer " + padding);
    BOOST_TEST((over.error == errc::input_too_large));
    BOOST_TEST(says(over.reply.detail, "21 bytes; at most 20"));
    BOOST_TEST(ask(loop, whom, "pid").reply.result == pid);
}

BOOST_AUTO_TEST_CASE(a_result_of_the_limit_is_taken_and_one_byte_more_is_an_error)
{
    worker_options options = probe_worker();
    options.limits.out = 10;
    BOOST_TEST(!ask_once(options, "result " + hex("\"45678901\"")).error);
    const outcome said = ask_once(options, "result " + hex("\"456789012\""));
    BOOST_TEST((said.error == errc::output_too_large));
    BOOST_TEST(says(said.reply.detail, "11 bytes; at most 10"));
}

BOOST_AUTO_TEST_CASE(a_line_without_an_end_is_not_read_for_ever)
{
    const outcome said = ask_once(probe_worker(), "out 10000000 sleep " + forever);
    BOOST_TEST((said.error == errc::output_too_large));
    BOOST_TEST(says(said.reply.detail, "\"xxxxxxxx"));
    BOOST_TEST(said.reply.detail.size() < 400U);
}

// --- Lines that are no answers

BOOST_AUTO_TEST_CASE(noise_is_a_failure_that_quotes_it)
{
    const outcome said = ask_once(probe_worker(), "raw " + hex("Ready\x1b[31m.\n") + " answer");
    BOOST_TEST((said.error == errc::not_json));
    BOOST_TEST(says(said.reply.detail, "\"Ready\\u001b[31m.\""));
}

BOOST_AUTO_TEST_CASE(noise_that_was_written_at_the_start_fails_the_first_request)
{
    const outcome said = ask_once(probe_worker({"json", "hello\n"}), "answer");
    BOOST_TEST((said.error == errc::not_json));
    BOOST_TEST(says(said.reply.detail, "\"hello\""));
}

BOOST_AUTO_TEST_CASE(invalid_utf_8_is_a_failure_that_says_where)
{
    const outcome said = ask_once(probe_worker(), "result 22ff22");
    BOOST_TEST((said.error == errc::not_utf8));
    BOOST_TEST(says(said.reply.detail, "not UTF-8 at byte 18"));
}

BOOST_AUTO_TEST_CASE(an_answer_to_nobody_is_a_failure_that_quotes_it)
{
    const outcome unknown = ask_once(probe_worker(), "as 77 result 7b7d");
    BOOST_TEST((unknown.error == errc::invalid_answer));
    BOOST_TEST(
        says(unknown.reply.detail,
             "not given (an answer has the id of its request): \"{\"id\":77,\"result\":{}}\""));

    asio::io_context loop;
    worker whom(loop.get_executor(), probe_worker());
    BOOST_TEST(!ask(loop, whom, "answer").error);
    const outcome repeated = ask(loop, whom, "as 1 answer");
    BOOST_TEST((repeated.error == errc::invalid_answer));
    BOOST_TEST(says(repeated.reply.detail, "answered before"));
}

BOOST_AUTO_TEST_CASE(noise_fails_all_that_are_in_flight_and_what_waits_gets_a_fresh_program)
{
    asio::io_context loop;
    worker_options options = probe_worker();
    options.in_flight = 2;
    worker whom(loop.get_executor(), std::move(options));
    outcome results[3];
    whom.async_request(event("hold answer"), 20s, into{&results[0]});
    whom.async_request(event("raw " + hex("noise\n")), 20s, into{&results[1]});
    whom.async_request(event("answer"), 20s, into{&results[2]});
    run_until(loop, [&] { return results[2].is_done(); });
    BOOST_TEST((results[0].error == errc::not_json));
    BOOST_TEST((results[1].error == errc::not_json));
    BOOST_TEST(!results[2].error);
}

BOOST_AUTO_TEST_CASE(lines_after_noise_do_not_count)
{
    asio::io_context loop;
    worker_options options = probe_worker();
    options.in_flight = 2;
    worker whom(loop.get_executor(), std::move(options));
    outcome results[2];
    whom.async_request(event("hold answer"), 20s, into{&results[0]});
    whom.async_request(
        event("raw " + hex("noise\n{\"id\":1,\"result\":1}\n{\"id\":2,\"result\":2}\n")), 20s,
        into{&results[1]});
    run_until(loop, [&] { return results[0].is_done() && results[1].is_done(); });
    BOOST_TEST((results[0].error == errc::not_json));
    BOOST_TEST((results[1].error == errc::not_json));
    BOOST_TEST(results[0].completions == 1);
}

BOOST_AUTO_TEST_CASE(noise_out_of_nothing_costs_the_program_its_place_and_nobody_a_failure)
{
    asio::io_context loop;
    worker whom(loop.get_executor(), probe_worker());
    const pid_t first = std::stoi(ask(loop, whom, "pid raw " + hex("noise\n")).reply.result);
    run_until(loop, [&] { return test::is_gone(first); });
    const outcome next = ask(loop, whom, "pid");
    BOOST_TEST(!next.error);
    BOOST_TEST(std::stoi(next.reply.result) != first);
}

// --- Time

BOOST_AUTO_TEST_CASE(
    an_overdue_program_is_killed_with_its_group_and_the_next_request_gets_a_fresh_one)
{
    const scratch_folder folder;
    const std::string file = folder / "marked";
    manual_clock time;
    asio::io_context loop;
    worker_options options = probe_worker({"mark", file});
    options.grace = 50ms;
    worker whom(loop.get_executor(), std::move(options), time);
    outcome late;
    outcome next;
    whom.async_request(
        event("ignore-term say-err hm mark-orphan " + file + " " + forever + " sleep " + forever),
        1s, into{&late});
    whom.async_request(event("answer"), 1s, into{&next});
    run_until(loop, [&] { return pids_in(file).size() == 2; });
    const auto pids = pids_in(file);
    BOOST_TEST(!late.is_done());
    time.advance(999ms);
    loop.poll();
    BOOST_TEST(!late.is_done());
    time.advance(1ms);
    run_until(loop, [&] { return late.is_done(); });
    BOOST_TEST((late.error == errc::timed_out));
    BOOST_TEST(says(late.reply.detail, "wrote nothing"));
    BOOST_TEST(late.reply.err == "hm");
    run_until(loop, [&] { return next.is_done(); });
    BOOST_TEST(!next.error);
    whom.shut_down();
    loop.restart();
    loop.run();
    BOOST_TEST(all_gone(pids));
}

BOOST_AUTO_TEST_CASE(the_start_of_the_program_is_charged_to_the_request_that_needs_it)
{
    manual_clock time;
    asio::io_context loop;
    turned_by_spawn = &time;
    const auto op = std::make_shared<process::detail::worker_op>(loop.get_executor(),
                                                                 probe_worker(), time, slow_spawn);
    outcome late;
    outcome next;
    op->request(event("sleep " + forever), 1s, {}, {loop.get_executor(), into{&late}});
    op->request(event("answer"), 3s, {}, {loop.get_executor(), into{&next}});
    run_until(loop, [&] { return next.is_done(); });
    BOOST_TEST((late.error == errc::timed_out));
    BOOST_TEST(!next.error);
    op->shut_down();
    loop.restart();
    loop.run();
}

BOOST_AUTO_TEST_CASE(a_timeout_says_what_the_program_did_instead_of_answering)
{
    const struct {
        std::vector<std::string> before;
        std::string request;
        std::string detail;
    } cases[] = {
        {{},
         "",
         "the worker wrote nothing (does it read line by line, and flush its output?); its start "
         "was a part of the time"},
        {{"answer"}, "", "the worker, which has answered 1 request, gave no answer"},
        {{"answer", "answer"}, "", "the worker, which has answered 2 requests, gave no answer"},
        {{"answer"},
         "raw " + hex("{\"id\":2}") + ' ',
         "the worker wrote only \"{\"id\":2}\" (is a line break missing, or a flush?)"},
        {{},
         "close-out ",
         "the worker closed its stdout and did not exit; its start was a part of the time"},
    };
    for (const auto& one : cases) {
        const scratch_folder folder;
        const std::string file = folder / "marked";
        manual_clock time;
        asio::io_context loop;
        worker_options options = probe_worker();
        options.grace = 1h;
        worker whom(loop.get_executor(), std::move(options), time);
        for (const auto& modes : one.before) BOOST_TEST(!ask(loop, whom, modes).error);
        outcome late;
        whom.async_request(event(one.request + "mark " + file + " sleep " + forever), 1s,
                           into{&late});
        run_until(loop, [&] { return pids_in(file).size() == 1; });
        loop.poll();  // what it had written before
        time.advance(1s);
        run_until(loop, [&] { return late.is_done(); });
        BOOST_TEST((late.error == errc::timed_out));
        BOOST_TEST(late.reply.detail == one.detail);
    }
}

BOOST_AUTO_TEST_CASE(that_a_late_program_has_closed_its_stdin_is_said)
{
    manual_clock time;
    asio::io_context loop;
    worker_options options = probe_worker();
    options.grace = 1h;
    worker whom(loop.get_executor(), std::move(options), time);
    BOOST_TEST(!ask(loop, whom, "close-in answer sleep " + forever).error);
    outcome late;
    whom.async_request(event("answer"), 1s, into{&late});
    loop.restart();
    loop.poll();
    time.advance(1s);
    run_until(loop, [&] { return late.is_done(); });
    BOOST_TEST((late.error == errc::timed_out));
    BOOST_TEST(late.reply.detail == "the worker closed its stdin and did not exit");
}

BOOST_AUTO_TEST_CASE(that_a_late_program_has_not_read_its_event_is_said)
{
    manual_clock time;
    asio::io_context loop;
    worker_options options = probe_worker();
    options.argv = {"/bin/sleep", "1000"};
    worker whom(loop.get_executor(), std::move(options), time);
    outcome late;
    whom.async_request(event(std::string(200'000, 'x')), 1s, into{&late});
    loop.poll();
    time.advance(1s);
    run_until(loop, [&] { return late.is_done(); });
    BOOST_TEST((late.error == errc::timed_out));
    BOOST_TEST(late.reply.detail ==
               "the worker did not read all of its input; its start was a part of the time");
}

BOOST_AUTO_TEST_CASE(a_request_without_time_says_so)
{
    asio::io_context loop;
    worker whom(loop.get_executor(), probe_worker());
    for (const auto timeout : {0ms, -5ms}) {
        const outcome said = ask(loop, whom, "answer", timeout);
        BOOST_TEST((said.error == errc::timed_out));
        BOOST_TEST(said.reply.detail == "the request had no time");
    }
}

BOOST_AUTO_TEST_CASE(who_asks_again_at_each_failure_holds_up_nobody)
{
    asio::io_context loop;
    worker_options options = probe_worker();
    options.first_pause = options.longest_pause = 1h;
    worker whom(loop.get_executor(), std::move(options));
    const std::string noise = event("raw " + hex("noise\n"));
    int asked = 0;
    bool other_ran = false;
    std::function<void(error_code, worker_reply)> ask_again = [&](error_code, worker_reply) {
        if (other_ran || ++asked == 1000) return;
        whom.async_request(noise, 20s, ask_again);
        if (asked == 2) asio::post(loop, [&] { other_ran = true; });
    };
    whom.async_request(noise, 20s, ask_again);
    run_until(loop, [&] { return other_ran || asked == 1000; });
    BOOST_TEST(other_ran);
    BOOST_TEST(asked <= 4);
}

BOOST_AUTO_TEST_CASE(stderr_since_the_last_answer_is_kept_for_the_message)
{
    asio::io_context loop;
    worker_options options = probe_worker();
    options.limits.err = 6;
    worker whom(loop.get_executor(), std::move(options));
    BOOST_TEST(ask(loop, whom, "say-err old answer").reply.err.empty());
    const outcome said = ask(loop, whom, "say-err new-words raw " + hex("noise\n"));
    BOOST_TEST(said.reply.err == "-words");
}

BOOST_AUTO_TEST_CASE(a_flood_of_stderr_stops_nothing)
{
    BOOST_TEST(!ask_once(probe_worker(), "err 1000000 answer").error);
}

BOOST_AUTO_TEST_CASE(the_time_in_which_a_request_waits_for_its_turn_is_not_charged)
{
    manual_clock time;
    asio::io_context loop;
    const scratch_folder folder;
    const std::string file = folder / "marked";
    const std::string meeting = folder / "meeting";
    std::filesystem::create_directory(meeting);
    worker whom(loop.get_executor(), probe_worker(), time);
    outcome first;
    outcome second;
    whom.async_request(event("mark " + file + " rendezvous " + meeting + " 2 answer"), 1h,
                       into{&first});
    whom.async_request(event("answer"), 1s, into{&second});
    run_until(loop, [&] { return pids_in(file).size() == 1; });
    time.advance(10min);
    loop.poll();
    BOOST_TEST(!first.is_done());
    BOOST_TEST(!second.is_done());
    std::filesystem::create_directory(meeting + "/somebody");
    run_until(loop, [&] { return second.is_done(); });
    BOOST_TEST(!second.error);
    BOOST_TEST((second.reply.duration >= 10min));
}

BOOST_AUTO_TEST_CASE(requests_that_an_overdue_program_had_not_answered_are_sent_once_more)
{
    manual_clock time;
    asio::io_context loop;
    const scratch_folder folder;
    const std::string file = folder / "marked";
    worker_options options = probe_worker();
    options.in_flight = 3;
    worker whom(loop.get_executor(), std::move(options), time);
    outcome results[3];
    whom.async_request(event("hold answer"), 5s, into{&results[0]});
    whom.async_request(event("mark " + file + " hold pid"), 1s, into{&results[1]});
    whom.async_request(event("once " + (folder / "first") + " 1 hold answer"), 5s,
                       into{&results[2]});
    run_until(loop, [&] { return std::filesystem::exists(folder / "first"); });
    time.advance(1s);
    run_until(loop, [&] { return results[1].is_done(); });
    BOOST_TEST((results[1].error == errc::timed_out));
    BOOST_TEST(!results[0].is_done());
    // The first one is alone now, and holds again; it, too, is overdue in the end.
    time.advance(5s);
    run_until(loop, [&] { return results[2].is_done(); });
    BOOST_TEST((results[0].error == errc::timed_out));
    BOOST_TEST(!results[2].error);
    BOOST_TEST(pids_in(file).size() == 1U);  // what was overdue is not sent again
}

BOOST_AUTO_TEST_CASE(a_listener_hears_of_each_turn_of_its_request_and_of_one_that_is_lost)
{
    asio::io_context loop;
    worker whom(loop.get_executor(), probe_worker());
    outcome results[2];
    std::vector<std::string> heard;
    const auto listener = [&heard](std::string who) {
        return [&heard, who = std::move(who)](bool has_turn) {
            heard.push_back(who + (has_turn ? " has its turn" : " waits again"));
        };
    };
    whom.async_request(event("die KILL"), test::generous, listener("first"), into{&results[0]});
    whom.async_request(event("answer"), test::generous, listener("second"), into{&results[1]});
    run_until(loop, [&] { return results[1].is_done(); });
    BOOST_TEST((results[0].error == errc::signalled));
    BOOST_TEST(!results[1].error);
    const std::vector<std::string> expected{"first has its turn", "first waits again",
                                            "first has its turn", "second has its turn"};
    BOOST_TEST(heard == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_program_with_nothing_to_do_is_ended_and_started_again)
{
    manual_clock time;
    asio::io_context loop;
    worker_options options = probe_worker();
    options.idle_timeout = 1min;
    worker whom(loop.get_executor(), std::move(options), time);
    const pid_t first = std::stoi(ask(loop, whom, "pid", std::nullopt).reply.result);
    time.advance(1min);
    run_until(loop, [&] { return test::is_gone(first); });
    const pid_t second = std::stoi(ask(loop, whom, "pid", std::nullopt).reply.result);
    BOOST_TEST(first != second);
}

BOOST_AUTO_TEST_CASE(a_program_is_recycled_after_so_many_requests)
{
    asio::io_context loop;
    worker_options options = probe_worker();
    options.recycle_after = 3;
    worker whom(loop.get_executor(), std::move(options));
    std::vector<std::string> pids;
    for (int i = 0; i < 7; ++i) pids.push_back(ask(loop, whom, "pid").reply.result);
    BOOST_TEST(pids[0] == pids[2]);
    BOOST_TEST(pids[2] != pids[3]);
    BOOST_TEST(pids[3] == pids[5]);
    BOOST_TEST(pids[5] != pids[6]);
}

// --- Crashes

BOOST_AUTO_TEST_CASE(a_request_at_a_crash_is_sent_once_more)
{
    const scratch_folder folder;
    const outcome said =
        ask_once(probe_worker(), "once " + (folder / "crashed") + " 2 die KILL answer");
    BOOST_TEST(!said.error);
}

BOOST_AUTO_TEST_CASE(a_request_that_crashes_two_programs_has_failed_with_the_end_of_the_second)
{
    const scratch_folder folder;
    const outcome exited =
        ask_once(probe_worker(), "once " + (folder / "crashed") + " 2 die KILL say-err so exit 3");
    BOOST_TEST((exited.error == errc::exited));
    BOOST_TEST(exited.reply.status.code().value() == 3);
    BOOST_TEST(exited.reply.err == "so");
    BOOST_TEST(says(exited.reply.detail, "exited with status 3"));

    const outcome killed = ask_once(probe_worker(), "die SEGV");
    BOOST_TEST((killed.error == errc::signalled));
    BOOST_TEST(killed.reply.status.signal().value() == SIGSEGV);
    BOOST_TEST(says(killed.reply.detail, "signal 11"));

    const outcome left = ask_once(probe_worker(), "exit 0");
    BOOST_TEST((left.error == errc::exited));
    BOOST_TEST(left.reply.status.is_success());
}

BOOST_AUTO_TEST_CASE(a_crash_fails_only_the_request_that_causes_it)
{
    asio::io_context loop;
    worker_options options = probe_worker();
    options.in_flight = 8;
    options.first_pause = 1ms;
    worker whom(loop.get_executor(), std::move(options));
    std::deque<outcome> results;
    for (int i = 0; i < 8; ++i)
        whom.async_request(event(i == 4 ? "die KILL" : "sleep 1 answer"), 20s,
                           into{&results.emplace_back()});
    run_until(loop, [&] { return all_done(results); });
    for (std::size_t i = 0; i < 8; ++i)
        BOOST_TEST(results[i].error == (i == 4 ? error_code(errc::signalled) : error_code()));
}

BOOST_AUTO_TEST_CASE(what_a_program_had_answered_before_it_crashed_counts)
{
    for (int i = 0; i < 20; ++i) BOOST_TEST(!ask_once(probe_worker(), "answer exit 7").error);
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_still_in_the_pipe_at_the_end_counts)
{
    asio::io_context loop;
    worker_options options = probe_worker();
    options.limits.out = process::no_limit;
    worker whom(loop.get_executor(), std::move(options));
    outcome said;
    whom.async_request(event("widen-out raw " + hex("{\"id\":1,\"result\":\"") +
                             " out 200000 raw " + hex("\"}\n") + " exit 7"),
                       20s, into{&said});
    BOOST_REQUIRE(eventually([] {
        siginfo_t info{};
        ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
        return info.si_pid != 0;
    }));
    run_until(loop, [&] { return said.is_done(); });
    BOOST_TEST(!said.error);
    BOOST_TEST(said.reply.result.size() == 200002U);
}

BOOST_AUTO_TEST_CASE(a_line_without_its_end_is_no_answer)
{
    const outcome said = ask_once(probe_worker(), "raw " + hex("{\"id\":1}") + " exit 5");
    BOOST_TEST((said.error == errc::exited));
}

BOOST_AUTO_TEST_CASE(
    a_program_that_crashes_again_and_again_is_started_after_longer_and_longer_pauses)
{
    manual_clock time;
    asio::io_context loop;
    worker_options options = probe_worker();
    options.first_pause = 1min;
    options.longest_pause = 90s;
    worker whom(loop.get_executor(), std::move(options), time);
    BOOST_TEST((ask(loop, whom, "exit 1", std::nullopt).error == errc::exited));
    outcome said;
    whom.async_request(event("exit 2"), std::nullopt, into{&said});
    BOOST_TEST((time.next() == time.now() + 1min));
    time.advance(1min);
    run_until(loop, [&] { return time.next() == time.now() + 90s; });
    BOOST_TEST(!said.is_done());
    time.advance(90s);
    run_until(loop, [&] { return said.is_done(); });
    BOOST_TEST((said.error == errc::exited));
    BOOST_TEST(said.reply.status.code().value() == 2);
}

BOOST_AUTO_TEST_CASE(
    a_request_with_less_time_than_the_pause_fails_at_once_and_says_how_programs_ended)
{
    manual_clock time;
    asio::io_context loop;
    worker_options options = probe_worker();
    options.first_pause = options.longest_pause = 1min;
    worker whom(loop.get_executor(), std::move(options), time);
    BOOST_TEST((ask(loop, whom, "say-err hm exit 3", 1s).error == errc::exited));
    const outcome said = ask(loop, whom, "answer", 1s);
    BOOST_TEST((said.error == errc::unavailable));
    BOOST_TEST(said.reply.detail ==
               "the worker exited with status 3 before it had answered; it has failed 2 times in "
               "a row, and is not started again for 60000 ms");
    BOOST_TEST(said.reply.status.code().value() == 3);
    BOOST_TEST(said.reply.err == "hm");
    BOOST_TEST(said.reply.result.empty());
    time.advance(1min - 1s);
    outcome next;
    whom.async_request(event("answer"), 1s, into{&next});
    loop.restart();
    loop.poll();
    BOOST_TEST(!next.is_done());
    time.advance(1s);
    run_until(loop, [&] { return next.is_done(); });
    BOOST_TEST(!next.error);
}

BOOST_AUTO_TEST_CASE(why_a_program_is_not_started_again_is_said_after_each_way_to_fail)
{
    const struct {
        std::string request;
        std::string detail;
    } cases[] = {
        {"sleep " + forever,
         "the worker wrote nothing (does it read line by line, and flush its output?); "},
        {"raw " + hex("noise\n"),
         "the worker wrote a line that is no answer, not a JSON object: \"noise\"; "},
        {"die KILL", "the worker was ended by signal 9 before it had answered; "},
    };
    for (const auto& one : cases) {
        manual_clock time;
        asio::io_context loop;
        worker_options options = probe_worker();
        options.first_pause = options.longest_pause = 1h;
        worker whom(loop.get_executor(), std::move(options), time);
        outcome said;
        for (int i = 0; i < 3; ++i) {
            said = {};
            whom.async_request(event(one.request), 1s, into{&said});
            run_until(loop, [&] {
                if (one.request.starts_with("sleep") && i < 2) time.advance(1s);
                return said.is_done();
            });
            if (said.error == errc::unavailable) break;
        }
        BOOST_TEST((said.error == errc::unavailable));
        BOOST_TEST(says(said.reply.detail, one.detail + "it has failed 2 times in a row"));
    }
}

BOOST_AUTO_TEST_CASE(a_grandchild_that_holds_the_pipes_does_not_hide_the_end)
{
    const scratch_folder folder;
    const std::string file = folder / "marked";
    const outcome said =
        ask_once(probe_worker(), "mark-orphan " + file + " " + forever + " exit 4");
    BOOST_TEST((said.error == errc::exited));
    BOOST_TEST(said.reply.status.code().value() == 4);
    for (const pid_t pid : pids_in(file)) test::kill_hard(pid);  // it was left alone
}

BOOST_AUTO_TEST_CASE(a_program_that_closes_its_stdout_is_asked_to_leave_and_its_end_is_the_failure)
{
    // It leaves when its stdin ends.
    const outcome left = ask_once(probe_worker(), "close-out");
    BOOST_TEST((left.error == errc::exited));
    BOOST_TEST(left.reply.status.is_success());
    // It does not.
    worker_options options = probe_worker();
    options.grace = 20ms;
    const outcome killed = ask_once(options, "close-out sleep " + forever);
    BOOST_TEST((killed.error == errc::signalled));
    BOOST_TEST(killed.reply.status.signal().value() == SIGTERM);
    BOOST_TEST(killed.reply.detail ==
               "the worker closed its stdout and was ended by signal 15 before it had answered");
}

BOOST_AUTO_TEST_CASE(a_program_that_closes_its_stdin_harms_nobody)
{
    const test::changed_disposition deadly(SIGPIPE, SIG_DFL);
    asio::io_context loop;
    worker_options options = probe_worker();
    options.grace = 20ms;
    worker whom(loop.get_executor(), std::move(options));
    outcome results[2];
    BOOST_TEST(!ask(loop, whom, "close-in answer sleep " + forever).error);
    for (outcome& one : results) whom.async_request(event("answer"), 20s, into{&one});
    run_until(loop, [&] { return results[1].is_done(); });
    for (const outcome& one : results) BOOST_TEST(!one.error);
}

BOOST_AUTO_TEST_CASE(a_status_that_was_taken_by_the_host_is_said_to_be_lost)
{
    const int result = test::in_a_copy_of_this_process([] {
        ::signal(SIGCHLD, SIG_IGN);
        asio::io_context loop;
        worker whom(loop.get_executor(), probe_worker());
        outcome said;
        whom.async_request(event("exit 3"), 20s, into{&said});
        while (!said.is_done() && loop.run_one() > 0) {
        }
        return said.error == errc::status_lost ? 0 : 1;
    });
    BOOST_TEST(result == 0);
}

// --- Cancellation

BOOST_AUTO_TEST_CASE(a_cancelled_request_completes_at_once_and_the_program_lives_on)
{
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
        const scratch_folder folder;
        const std::string file = folder / "marked";
        asio::io_context loop;
        worker_options options = probe_worker();
        options.in_flight = 2;
        worker whom(loop.get_executor(), std::move(options));
        const std::string pid = ask(loop, whom, "pid").reply.result;
        asio::cancellation_signal stop;
        outcome cancelled;
        whom.async_request(event("mark " + file + " hold answer"), 20s,
                           asio::bind_cancellation_slot(stop.slot(), into{&cancelled}));
        run_until(loop, [&] { return pids_in(file).size() == 1; });
        stop.emit(type);
        BOOST_TEST(!cancelled.is_done());
        loop.restart();
        loop.poll();
        BOOST_TEST((cancelled.error == errc::cancelled));
        const outcome next = ask(loop, whom, "release answer");  // the late answer first
        BOOST_TEST(!next.error);
        BOOST_TEST(ask(loop, whom, "pid").reply.result == pid);
        BOOST_TEST(cancelled.completions == 1);
    }
}

BOOST_AUTO_TEST_CASE(a_cancellation_after_the_answer_and_one_of_no_type_do_nothing)
{
    asio::io_context loop;
    worker whom(loop.get_executor(), probe_worker());
    asio::cancellation_signal stop;
    outcome said;
    whom.async_request(event("answer"), 20s,
                       asio::bind_cancellation_slot(stop.slot(), into{&said}));
    stop.emit(asio::cancellation_type::none);
    run_until(loop, [&] { return said.is_done(); });
    stop.emit(asio::cancellation_type::all);
    loop.restart();
    loop.poll();
    BOOST_TEST(!said.error);
    BOOST_TEST(said.completions == 1);
}

BOOST_AUTO_TEST_CASE(a_request_can_be_cancelled_while_it_waits)
{
    const scratch_folder folder;
    const std::string file = folder / "marked";
    asio::io_context loop;
    worker whom(loop.get_executor(), probe_worker());
    asio::cancellation_signal stop;
    outcome first;
    outcome second;
    whom.async_request(event("sleep 20 answer"), 20s, into{&first});
    whom.async_request(event("mark " + file + " answer"), 20s,
                       asio::bind_cancellation_slot(stop.slot(), into{&second}));
    stop.emit(asio::cancellation_type::terminal);
    run_until(loop, [&] { return first.is_done(); });
    BOOST_TEST((second.error == errc::cancelled));
    BOOST_TEST(!ask(loop, whom, "answer").error);
    BOOST_TEST(!std::filesystem::exists(file));
}

// --- The end

BOOST_AUTO_TEST_CASE(a_shut_down_closes_stdin_and_the_program_leaves_by_itself)
{
    const scratch_folder folder;
    const std::string file = folder / "marked";
    asio::io_context loop;
    worker whom(loop.get_executor(), probe_worker({"on-term", file}));
    const pid_t pid = std::stoi(ask(loop, whom, "pid").reply.result);
    whom.shut_down();
    whom.shut_down();
    loop.restart();
    loop.run();
    BOOST_TEST(test::is_gone(pid));
    BOOST_TEST(!std::filesystem::exists(file));  // no SIGTERM
    BOOST_TEST((ask(loop, whom, "answer").error == errc::closed));
}

BOOST_AUTO_TEST_CASE(
    the_end_of_the_worker_completes_its_requests_and_ends_a_program_that_does_not_listen)
{
    const scratch_folder folder;
    const std::string file = folder / "marked";
    asio::io_context loop;
    outcome results[2];
    {
        worker_options options = probe_worker({"mark", file});
        options.grace = 20ms;
        worker whom(loop.get_executor(), std::move(options));
        whom.async_request(event("ignore-term sleep " + forever), 20s, into{&results[0]});
        whom.async_request(event("answer"), 20s, into{&results[1]});
        run_until(loop, [&] { return pids_in(file).size() == 1; });
    }
    loop.restart();
    loop.run();
    BOOST_TEST((results[0].error == errc::closed));
    BOOST_TEST((results[1].error == errc::closed));
    BOOST_TEST(all_gone(pids_in(file)));
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_replaced_ends_and_one_that_is_moved_lives_on)
{
    asio::io_context loop;
    worker first(loop.get_executor(), probe_worker());
    const std::string pid = ask(loop, first, "pid").reply.result;
    worker second(std::move(first));
    BOOST_TEST(ask(loop, second, "pid").reply.result == pid);
    second = worker(loop.get_executor(), probe_worker());
    loop.restart();
    loop.run();
    BOOST_TEST(test::is_gone(std::stoi(pid)));
    BOOST_TEST(!ask(loop, second, "answer").error);
}

BOOST_AUTO_TEST_CASE(a_destroyed_event_loop_leaves_no_child_and_no_handler)
{
    const scratch_folder folder;
    const std::string file = folder / "marked";
    const auto alive = std::make_shared<int>();
    auto loop = std::make_optional<asio::io_context>();
    worker_options options = probe_worker({"ignore-term", "mark", file});
    worker whom(loop->get_executor(), std::move(options));
    for (int i = 0; i < 3; ++i)
        whom.async_request(event("sleep " + forever), std::nullopt,
                           [alive](error_code, const worker_reply&) { BOOST_ERROR("completed"); });
    run_until(*loop, [&] { return pids_in(file).size() == 1; });
    loop.reset();
    BOOST_TEST(alive.use_count() == 1);
    BOOST_TEST(!test::has_children());
    whom.shut_down();
}

BOOST_AUTO_TEST_CASE(an_event_loop_that_is_destroyed_in_a_pause_leaves_no_handler)
{
    const auto alive = std::make_shared<int>();
    auto loop = std::make_optional<asio::io_context>();
    worker_options options = probe_worker();
    options.first_pause = 1h;
    worker whom(loop->get_executor(), std::move(options));
    ask(*loop, whom, "exit 1");
    whom.async_request(event("answer"), std::nullopt,
                       [alive](error_code, const worker_reply&) { BOOST_ERROR("completed"); });
    loop->restart();
    loop->poll();
    loop.reset();
    BOOST_TEST(alive.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_handler_may_own_the_worker_also_when_the_event_loop_is_destroyed)
{
    auto loop = std::make_optional<asio::io_context>();
    {
        auto whom = std::make_shared<worker>(loop->get_executor(), probe_worker());
        whom->async_request(event("sleep " + forever), 20s,
                            [whom](error_code, const worker_reply&) {});
    }
    loop->poll();
    loop.reset();
    BOOST_TEST(!test::has_children());
}

BOOST_AUTO_TEST_CASE(a_worker_may_end_in_the_handler_of_its_request)
{
    asio::io_context loop;
    auto whom = std::make_unique<worker>(loop.get_executor(), probe_worker());
    whom->async_request(event("answer"), 20s,
                        [&](error_code, const worker_reply&) { whom.reset(); });
    loop.run();
    BOOST_TEST(!whom);
}

BOOST_AUTO_TEST_CASE(a_worker_that_was_never_used_may_outlive_its_event_loop)
{
    auto loop = std::make_optional<asio::io_context>();
    const worker whom(loop->get_executor(), probe_worker());
    loop.reset();
}

// --- Tokens and threads

BOOST_AUTO_TEST_CASE(it_completes_on_the_executor_of_its_handler_and_keeps_that_at_work)
{
    asio::io_context loop;
    asio::io_context other;
    worker whom(loop.get_executor(), probe_worker());
    outcome said;
    whom.async_request(event("answer"), 20s,
                       asio::bind_executor(other.get_executor(), into{&said}));
    std::thread running([&] { loop.run(); });
    other.run();
    BOOST_TEST(!said.error);
    BOOST_TEST(said.completions == 1);
    asio::post(loop, [&] { whom.shut_down(); });
    running.join();
}

BOOST_AUTO_TEST_CASE(futures_and_deferred_operations_are_completion_tokens)
{
    asio::io_context loop;
    worker whom(loop.get_executor(), probe_worker());
    auto later = whom.async_request(event("answer"), 20s);
    BOOST_TEST(loop.poll() == 0U);
    outcome said;
    std::move(later)(into{&said});
    run_until(loop, [&] { return said.is_done(); });
    BOOST_TEST(!said.error);
    auto future = whom.async_request(event("answer"), 20s, asio::use_future);
    run_until(loop, [&] { return future.wait_for(0s) == std::future_status::ready; });
    BOOST_TEST(future.get().result == event("answer"));
}

BOOST_AUTO_TEST_CASE(workers_on_strands_of_a_pool_do_not_disturb_each_other)
{
    asio::thread_pool pool(4);
    constexpr int workers = 8;
    constexpr int requests = 50;
    std::deque<worker> all;
    std::deque<std::promise<int>> done(workers);
    struct chain {
        worker& whom;
        std::promise<int>& done;
        int left = requests;
        int good = 0;

        void next(std::shared_ptr<chain> self)
        {
            whom.async_request(event(left % 10 == 0 ? "exit 1" : "answer"), 20s,
                               asio::bind_executor(whom.get_executor(),
                                                   [self](error_code error, const worker_reply&) {
                                                       self->good += !error;
                                                       if (--self->left > 0)
                                                           return self->next(self);
                                                       self->whom.shut_down();
                                                       self->done.set_value(self->good);
                                                   }));
        }
    };
    for (int i = 0; i < workers; ++i) {
        worker_options options = probe_worker();
        options.first_pause = 1ms;
        worker& one = all.emplace_back(asio::make_strand(pool), std::move(options));
        auto ask_all = std::make_shared<chain>(chain{one, done[static_cast<std::size_t>(i)]});
        asio::post(one.get_executor(), [ask_all] { ask_all->next(ask_all); });
    }
    for (auto& one : done) BOOST_TEST(one.get_future().get() == requests - requests / 10);
    pool.join();
}

// --- Much of it

BOOST_AUTO_TEST_CASE(two_thousand_mixed_requests_leave_no_zombie_descriptor_or_thread)
{
    asio::io_context loop;
    const asio::posix::stream_descriptor reactor(loop);  // what it opens is the loop's
    const auto descriptors = test::open_descriptors();
    const auto threads = test::threads();
    const scratch_folder folder;
    std::deque<outcome> results;
    std::deque<asio::cancellation_signal> stops;
    {
        worker_options options = probe_worker();
        options.in_flight = 16;
        options.recycle_after = 100;
        options.first_pause = options.longest_pause = 1ms;
        options.grace = 20ms;
        worker whom(loop.get_executor(), std::move(options));
        for (int i = 0; i < 2000; ++i) {
            std::string modes = "answer";
            auto timeout = 20000ms;
            if (i % 100 == 7) modes = "once " + (folder / std::to_string(i)) + " 2 exit 3 answer";
            if (i % 200 == 11) modes = "raw " + hex("noise\n");
            if (i % 250 == 13) modes = "die KILL";
            if (i % 500 == 17) {
                modes = "hold";
                timeout = 30ms;
            }
            asio::cancellation_signal& stop = stops.emplace_back();
            whom.async_request(
                event(modes), timeout,
                asio::bind_cancellation_slot(stop.slot(), into{&results.emplace_back()}));
            if (i % 50 == 3) stop.emit(asio::cancellation_type::terminal);
            if (i % 10 == 0) loop.poll();
        }
        run_until(loop, [&] { return all_done(results); });
    }
    loop.restart();
    loop.run();
    std::size_t good = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
        BOOST_TEST(results[i].completions == 1);
        good += !results[i].error;
    }
    BOOST_TEST(good > 1500U);
    BOOST_TEST(!test::has_children());
    BOOST_TEST((test::open_descriptors() == descriptors));
    BOOST_TEST((test::threads() == threads));
}

BOOST_AUTO_TEST_SUITE_END()
