#include <belay/hooks/registry.hpp>
#include <belay/hooks/registry_options.hpp>
#include <belay/hooks/run_tools.hpp>
#include <belay/hooks/session.hpp>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace belay;
using namespace belay::hooks;
using belay::test::host;
using namespace std::chrono_literals;

namespace {

// A place where functions block, and are counted.
class room {
public:
    // Stays until `at_once` have been here at the same time, or everybody may leave.
    void visit(std::size_t at_once)
    {
        std::unique_lock lock(mutex_);
        ++visits_;
        peak_ = std::max(peak_, ++inside_);
        changed_.notify_all();
        changed_.wait_for(lock, 2min, [&] { return open_ || peak_ >= at_once; });
        --inside_;
        changed_.notify_all();
    }

    void stay() { visit(1'000'000); }

    void open()
    {
        const std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }

    // Until so many have come.
    void await_visits(std::size_t count)
    {
        std::unique_lock lock(mutex_);
        BOOST_REQUIRE(changed_.wait_for(lock, 2min, [&] { return visits_ >= count; }));
    }

    std::size_t peak() const
    {
        const std::lock_guard lock(mutex_);
        return peak_;
    }
    std::size_t visits() const
    {
        const std::lock_guard lock(mutex_);
        return visits_;
    }

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t inside_ = 0;
    std::size_t peak_ = 0;
    std::size_t visits_ = 0;
    bool open_ = false;
};

// A host whose functions may block, on a pool of its own.
struct pooled {
    explicit pooled(std::size_t threads, std::chrono::milliseconds longest_wait = 2h)
        : pool(threads), wait_limit(longest_wait)
    {}
    ~pooled()
    {
        doors.open();
        pool.join();
    }

    registry_options options()
    {
        auto made = h.options();
        made.pool = pool.get_executor();
        made.pool_wait_limit = wait_limit;
        return made;
    }

    template <class Op>
    auto wait(Op op)
    {
        auto running = host::launch(std::move(op));
        h.wait(running);
        return running.get();
    }

    session open_in_turn(session_options who = {.id = "s-1"})
    {
        auto made = hooks.create_session(std::move(who)).value();
        wait(made.async_start(session_start::cause::start));
        turn_settings settings{"model-a", {}, {"bash"}};
        wait(made.async_begin_turn("go", std::move(settings)));
        return made;
    }

    // What has been posted so far, and nothing that has to be waited for.
    void drain() { h.drain(); }

    static model_reply calls(std::size_t count)
    {
        model_reply made;
        for (std::size_t i = 0; i != count; ++i) {
            made.calls.push_back({"c" + std::to_string(i), "bash", {}});
        }
        return made;
    }

    static tool_host obliging(std::size_t chains_at_once)
    {
        tool_host made;
        made.permit = [](const tool_call&) { return permission::grant(); };
        made.run = [](const tool_call& call) { return text_result("ran " + call.id); };
        made.chains_at_once = chains_at_once;
        return made;
    }

    room doors;
    boost::asio::thread_pool pool;
    const std::chrono::milliseconds wait_limit;
    host h;
    registry hooks{h.io.get_executor(), options()};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(pool)

BOOST_AUTO_TEST_CASE(functions_that_block_overlap_up_to_the_limit_of_chains)
{
    constexpr std::size_t threads = 12;
    for (const std::size_t limit : {1u, 3u, 8u}) {
        std::atomic<std::size_t> inside = 0;
        std::atomic<bool> too_many = false;
        pooled p(threads);
        p.hooks.on<pre_tool_use>(
            [&](const pre_tool_use&) {
                if (++inside > limit) too_many = true;
                p.doors.stay();
                --inside;
            },
            "slow");
        auto s = p.open_in_turn();
        auto running = host::launch(s.async_run_tools(pooled::calls(24), pooled::obliging(limit)));
        p.drain();
        // Once all threads are in there, so is every function that has been started.
        for (std::size_t i = limit; i != threads; ++i) {
            boost::asio::post(p.pool, [&] { p.doors.stay(); });
        }
        p.doors.await_visits(threads);
        BOOST_TEST(inside == limit);
        p.doors.open();
        p.h.wait(running);
        BOOST_TEST(!too_many);
        const auto [ec, records] = running.get();
        BOOST_TEST(!ec);
        BOOST_REQUIRE(records.size() == 24u);
        BOOST_TEST(p.doors.visits() == 24 + threads - limit);
        for (std::size_t i = 0; i != records.size(); ++i) {
            BOOST_TEST(records[i].call.id == "c" + std::to_string(i));
            BOOST_TEST((records[i].fate == call_fate::ran));
        }
    }
}

BOOST_AUTO_TEST_CASE(functions_that_block_overlap_up_to_the_threads_of_the_pool)
{
    pooled p(2);
    p.hooks.on<pre_tool_use>([&](const pre_tool_use&) { p.doors.visit(2); }, "slow");
    auto s = p.open_in_turn();
    p.wait(s.async_run_tools(pooled::calls(24), pooled::obliging(8)));
    BOOST_TEST(p.doors.peak() == 2u);
}

BOOST_AUTO_TEST_CASE(within_a_call_functions_keep_their_order_and_see_each_others_changes)
{
    pooled p(4);
    p.hooks.on<pre_tool_use>(
        [](const pre_tool_use& e) {
            pre_tool_use::mutate said;
            said.input.emplace("command", e.call.id);
            return said;
        },
        "first");
    p.hooks.on<pre_tool_use>(
        [](const pre_tool_use& e) -> std::optional<block> {
            if (e.call.input.at("command") == "c1") return block{"not this one"};
            return std::nullopt;
        },
        "second");
    p.hooks.on<pre_tool_use>(
        [](const pre_tool_use& e) {
            if (e.call.id == "c2") throw std::runtime_error("broken");
        },
        "third");
    auto s = p.open_in_turn();
    const auto [ec, records] = p.wait(s.async_run_tools(pooled::calls(3), pooled::obliging(8)));
    BOOST_REQUIRE(records.size() == 3u);
    BOOST_TEST((records[0].fate == call_fate::ran));
    BOOST_TEST((records[0].call.input.at("command") == "c0"));
    BOOST_TEST((records[1].fate == call_fate::blocked));
    BOOST_TEST(records[1].before->decided_by == "second");
    BOOST_REQUIRE(records[2].before->ignored.size() == 1u);
    BOOST_TEST(records[2].before->ignored[0].message == "broken");
    BOOST_TEST((records[2].before->ignored[0].code == errc::threw));
}

BOOST_AUTO_TEST_CASE(the_time_that_a_function_waits_for_a_thread_is_not_charged)
{
    pooled p(1);
    p.hooks.on<pre_tool_use>([&](const pre_tool_use&) { p.doors.stay(); }, "slow", 10s);
    auto s = p.open_in_turn();
    // Somebody else has the only thread, for longer than the 60 s that the hooks of a call share.
    room elsewhere;
    boost::asio::post(p.pool, [&] { elsewhere.stay(); });
    elsewhere.await_visits(1);
    auto running = host::launch(s.async_run_tools(pooled::calls(2), pooled::obliging(8)));
    p.drain();
    p.h.pass(1h);
    elsewhere.open();
    p.doors.await_visits(1);  // c0 has begun
    p.drain();
    p.h.pass(9999ms);
    BOOST_TEST(!host::is_done(running));
    p.doors.open();
    p.h.wait(running);
    const auto records = std::get<1>(running.get());
    BOOST_REQUIRE(records.size() == 2u);
    for (const auto& one : records) BOOST_TEST(one.before->ignored.empty());
}

BOOST_AUTO_TEST_CASE(a_function_that_blocks_for_too_long_is_not_waited_for)
{
    pooled p(1);
    p.hooks.on<pre_tool_use>(
        [&](const pre_tool_use&) {
            p.doors.stay();
            return block{"too late"};
        },
        "slow", 10s);
    auto s = p.open_in_turn();
    auto running = host::launch(s.async_run_tools(pooled::calls(1), [&] {
        auto host_part = pooled::obliging(1);
        host_part.run = [](const tool_call&, tool_reply answer) { answer(text_result("ran")); };
        return host_part;
    }()));
    p.drain();
    p.doors.await_visits(1);
    p.drain();
    p.h.pass(10s);
    p.h.wait(running);  // the function still has its thread
    const auto records = std::get<1>(running.get());
    BOOST_REQUIRE(records.size() == 1u);
    BOOST_TEST((records[0].fate == call_fate::ran));
    BOOST_REQUIRE(records[0].before->ignored.size() == 1u);
    BOOST_TEST((records[0].before->ignored[0].code == errc::timed_out));
    BOOST_TEST(records[0].before->ignored[0].message == "slow timed out after 10000ms");
}

BOOST_AUTO_TEST_CASE(the_deadline_of_a_phase_ends_the_wait_for_a_function)
{
    pooled p(1);
    p.hooks.on<pre_tool_use>([&](const pre_tool_use&) { p.doors.stay(); }, "slow");
    auto s = p.open_in_turn();
    auto host_part = pooled::obliging(1);
    host_part.run = {};
    auto running = host::launch(s.async_run_tools(pooled::calls(1), host_part));
    p.drain();
    p.doors.await_visits(1);
    p.drain();
    p.h.pass(59999ms);
    BOOST_TEST(!host::is_done(running));
    p.h.pass(1ms);
    BOOST_REQUIRE(host::is_done(running));
    const auto records = std::get<1>(running.get());
    BOOST_TEST((records.at(0).before->ignored.at(0).code == errc::deadline));
}

BOOST_AUTO_TEST_CASE(a_cancelled_batch_waits_for_no_function_and_calls_none_that_was_waiting)
{
    pooled p(1);
    p.hooks.on<pre_tool_use>([&](const pre_tool_use&) { p.doors.stay(); }, "slow");
    auto s = p.open_in_turn();
    auto running = host::launch(s.async_run_tools(pooled::calls(4), pooled::obliging(4)));
    p.drain();
    p.doors.await_visits(1);
    BOOST_TEST(s.cancel_turn());
    p.drain();
    BOOST_REQUIRE(host::is_done(running));
    BOOST_TEST((std::get<0>(running.get()) == errc::cancelled));
    p.doors.open();
    p.pool.join();
    p.drain();
    BOOST_TEST(p.doors.visits() == 1u);
}

BOOST_AUTO_TEST_CASE(tools_that_block_overlap_up_to_their_limit_and_their_wait_is_no_part_of_them)
{
    for (const std::size_t limit : {1u, 3u}) {
        pooled p(4);
        auto s = p.open_in_turn();
        auto host_part = pooled::obliging(1);
        host_part.tools_at_once = limit;
        host_part.run = [&](const tool_call& call) {
            p.doors.visit(limit);
            if (call.id == "c1") throw std::runtime_error("no such file");
            return text_result("ran " + call.id);
        };
        const auto [ec, records] = p.wait(s.async_run_tools(pooled::calls(9), host_part));
        BOOST_TEST(p.doors.peak() == limit);
        BOOST_REQUIRE(records.size() == 9u);
        BOOST_TEST(text_of(records[8].result.content) == "ran c8");
        BOOST_TEST(text_of(records[1].result.content) == "no such file");
        BOOST_TEST(records[1].result.is_error);
    }

    pooled p(1);
    auto s = p.open_in_turn();
    room elsewhere;
    boost::asio::post(p.pool, [&] { elsewhere.stay(); });
    elsewhere.await_visits(1);
    auto host_part = pooled::obliging(1);
    host_part.run = [&](const tool_call&) {
        p.h.time.advance(7s);
        return text_result("done");
    };
    auto running = host::launch(s.async_run_tools(pooled::calls(1), host_part));
    p.drain();
    p.h.pass(1h);
    elsewhere.open();
    p.h.wait(running);
    BOOST_TEST(std::get<1>(running.get()).at(0).duration.count() == 7000.0);
}

BOOST_AUTO_TEST_CASE(a_tool_of_a_cancelled_batch_that_was_waiting_for_a_thread_does_not_run)
{
    pooled p(1);
    auto s = p.open_in_turn();
    room elsewhere;
    boost::asio::post(p.pool, [&] { elsewhere.stay(); });
    elsewhere.await_visits(1);
    std::atomic<bool> ran = false;
    auto host_part = pooled::obliging(1);
    host_part.run = [&](const tool_call&) {
        ran = true;
        return text_result("done");
    };
    auto running = host::launch(s.async_run_tools(pooled::calls(1), host_part));
    p.drain();
    BOOST_TEST(s.cancel_turn());
    p.drain();
    BOOST_TEST((std::get<0>(running.get()) == errc::cancelled));
    elsewhere.open();
    p.pool.join();
    BOOST_TEST(!ran);
}

BOOST_AUTO_TEST_CASE(functions_run_on_the_pool_and_everything_else_on_the_registrys_executor)
{
    struct threads final : trace_sink, log_sink {
        void on_span(const trace_span& span) noexcept override
        {
            spans.insert(std::this_thread::get_id());
            ++count;
            if (span.failed) ++failed;
        }
        void on_record(const boost::json::object&) noexcept override
        {
            records.insert(std::this_thread::get_id());
        }
        std::set<std::thread::id> spans;
        std::set<std::thread::id> records;
        int count = 0;
        int failed = 0;
    };

    threads sinks;
    pooled p(1);
    auto options = p.options();
    options.trace = &sinks;
    options.log = &sinks;
    registry hooks(p.h.io.get_executor(), options);
    std::mutex mutex;
    std::set<std::thread::id> at_once;
    std::set<std::thread::id> later;
    const auto see = [&](std::set<std::thread::id>& where) {
        const std::lock_guard lock(mutex);
        where.insert(std::this_thread::get_id());
    };
    hooks.on<pre_tool_use>([&](const pre_tool_use&) { see(at_once); }, "a");
    hooks.on<pre_tool_use>(
        [&](const pre_tool_use&, reply<pre_tool_use> answer) {
            see(later);
            answer();
        },
        "b");
    hooks.on<post_tool_use>(
        [&](const post_tool_use&) {
            see(at_once);
            throw std::runtime_error("for the log");
        },
        "c");
    hooks.on<turn_finished>([&](const turn_finished&) { see(at_once); }, "d");
    auto s = hooks
                 .create_session({.id = "s-1",
                                  .prepare_turn = [&](const pre_turn&) { see(at_once); },
                                  .before_turn_ends = [&](const turn_ending&) { see(at_once); }})
                 .value();
    p.wait(s.async_start(session_start::cause::start));
    turn_settings settings{"model-a", {}, {"bash"}};
    p.wait(s.async_begin_turn("go", std::move(settings)));
    auto host_part = pooled::obliging(4);
    host_part.permit = [&](const tool_call&) {
        see(later);
        return permission::grant();
    };
    host_part.run = [&](const tool_call&) {
        see(at_once);
        return text_result("ran");
    };
    p.wait(s.async_run_tools(pooled::calls(8), host_part));
    p.wait(s.async_end_turn({.text = "done"}));
    p.wait(hooks.async_drain(1min));

    const std::set<std::thread::id> here{std::this_thread::get_id()};
    BOOST_TEST((later == here));
    BOOST_TEST((sinks.spans == here));
    BOOST_TEST((sinks.records == here));
    BOOST_TEST(at_once.size() == 1u);
    BOOST_TEST(!at_once.contains(std::this_thread::get_id()));
    BOOST_TEST(sinks.count == 8 * 3 + 3);
    BOOST_TEST(sinks.failed == 8);
}

BOOST_AUTO_TEST_CASE(a_function_that_waits_for_a_thread_of_a_pool_that_stops_has_failed)
{
    pooled p(1);
    p.hooks.on<pre_tool_use>([](const pre_tool_use&) {}, "slow");
    auto s = p.open_in_turn();
    std::optional<boost::asio::thread_pool> other(1);
    auto options = p.h.options();
    options.pool = other->get_executor();
    registry hooks(p.h.io.get_executor(), options);
    hooks.on<pre_tool_use>([](const pre_tool_use&) {}, "never");
    auto t = hooks.create_session({.id = "s-2"}).value();
    p.wait(t.async_start(session_start::cause::start));
    p.wait(t.async_begin_turn(std::nullopt, turn_settings{"m", {}, {"bash"}}));
    room elsewhere;
    boost::asio::post(*other, [&] { elsewhere.stay(); });
    elsewhere.await_visits(1);
    auto host_part = pooled::obliging(1);
    host_part.run = {};
    auto running = host::launch(t.async_run_tools(pooled::calls(1), host_part));
    p.drain();
    other->stop();
    elsewhere.open();
    other.reset();
    p.h.wait(running);
    const auto records = std::get<1>(running.get());
    BOOST_TEST((records.at(0).before->ignored.at(0).code == errc::unanswered));
}

BOOST_AUTO_TEST_CASE(
    a_function_that_gets_no_thread_in_time_has_failed_and_those_after_it_have_their_time)
{
    for (const bool joined : {false, true}) {
        room elsewhere;
        pooled p(1, 61s);  // longer than the 60 s that the hooks of a call share
        bool called = false;
        bool next_called = false;
        p.hooks.on<pre_tool_use>([&](const pre_tool_use&) { called = true; }, "slow");
        p.hooks.on<pre_tool_use>(
            [&](const pre_tool_use&, reply<pre_tool_use> answer) {
                next_called = true;
                answer();
            },
            "next");
        auto s = p.open_in_turn();
        if (joined) {
            p.pool.join();
        } else {
            boost::asio::post(p.pool, [&] { elsewhere.stay(); });
            elsewhere.await_visits(1);
        }
        auto host_part = pooled::obliging(1);
        host_part.run = {};
        auto running = host::launch(s.async_run_tools(pooled::calls(1), host_part));
        p.drain();
        p.h.pass(60999ms);
        BOOST_TEST(!host::is_done(running));
        p.h.pass(1ms);
        elsewhere.open();
        p.h.wait(running);  // the tool, which is none, waits for the thread, too
        p.pool.join();
        const auto records = std::get<1>(running.get());
        BOOST_REQUIRE(records.at(0).before->ignored.size() == 1u);
        const auto& why = records[0].before->ignored[0];
        BOOST_TEST((why.code == errc::not_started));
        BOOST_TEST(why.message == "no thread was free within 61000ms");
        BOOST_TEST(why.handler.name == "slow");
        BOOST_TEST(next_called);
        BOOST_TEST(!called);
    }
}

BOOST_AUTO_TEST_CASE(
    a_function_of_the_conversation_that_gets_no_thread_ends_the_turn_as_if_it_had_failed)
{
    room elsewhere;
    pooled p(1, 5s);
    auto s = p.hooks.create_session({.id = "s-1", .prepare_turn = [](const pre_turn&) {}}).value();
    p.wait(s.async_start(session_start::cause::start));
    boost::asio::post(p.pool, [&] { elsewhere.stay(); });
    elsewhere.await_visits(1);
    auto running = host::launch(s.async_begin_turn("go", turn_settings{"m", {}, {"bash"}}));
    p.drain();
    p.h.pass(5s);
    BOOST_REQUIRE(host::is_done(running));
    elsewhere.open();
    const auto [ec, said] = running.get();
    BOOST_TEST(!ec);
    BOOST_REQUIRE(said.failed.has_value());
    BOOST_TEST(said.failed->message == "no thread was free within 5000ms");
    BOOST_TEST(said.blocked.has_value());
}

BOOST_AUTO_TEST_CASE(what_a_function_captured_is_destroyed_on_the_registrys_executor)
{
    std::optional<std::thread::id> where;
    pooled p(1);
    const auto other = p.hooks.on<turn_finished>([](const turn_finished&) {}, "other");
    std::shared_ptr<int> captured(new int(0), [&](int* it) {
        delete it;
        where = std::this_thread::get_id();
        p.hooks.remove(other);
    });
    const auto id = p.hooks.on<pre_tool_use>(
        [&p, captured = std::exchange(captured, nullptr)](const pre_tool_use&) { p.doors.stay(); },
        "slow");
    auto s = p.open_in_turn();
    auto running = host::launch(s.async_run_tools(pooled::calls(1), pooled::obliging(1)));
    p.drain();
    p.doors.await_visits(1);
    BOOST_TEST(p.hooks.remove(id));
    BOOST_TEST(s.cancel_turn());
    p.drain();
    BOOST_REQUIRE(host::is_done(running));
    p.doors.open();
    p.pool.join();
    BOOST_TEST(!where.has_value());  // it has returned, and is on its way back
    p.drain();
    BOOST_REQUIRE(where.has_value());
    BOOST_TEST((*where == std::this_thread::get_id()));
    BOOST_TEST(!p.hooks.remove(other));
}

BOOST_AUTO_TEST_CASE(what_a_tool_captured_is_destroyed_on_the_registrys_executor)
{
    std::optional<std::thread::id> where;
    pooled p(1);
    auto s = p.open_in_turn();
    std::shared_ptr<int> captured(new int(0), [&](int* it) {
        delete it;
        where = std::this_thread::get_id();
    });
    auto host_part = pooled::obliging(1);
    host_part.run = [&p, captured = std::exchange(captured, nullptr)](const tool_call&) {
        p.doors.stay();
        return text_result("done");
    };
    auto running = host::launch(s.async_run_tools(pooled::calls(1), std::move(host_part)));
    p.drain();
    p.doors.await_visits(1);
    BOOST_TEST(s.cancel_turn());
    p.drain();
    BOOST_REQUIRE(host::is_done(running));
    running = {};
    p.doors.open();
    p.pool.join();
    BOOST_TEST(!where.has_value());
    p.drain();
    BOOST_TEST((where == std::this_thread::get_id()));
}

BOOST_AUTO_TEST_CASE(the_event_loop_may_go_while_a_function_is_at_work)
{
    for (const bool on_a_strand : {false, true}) {
        room doors;
        std::weak_ptr<int> alive;
        boost::asio::thread_pool pool(1);
        {
            host h;
            auto options = h.options();
            options.pool = pool.get_executor();
            boost::asio::any_io_executor executor = h.io.get_executor();
            if (on_a_strand) executor = boost::asio::make_strand(executor);
            registry hooks(executor, options);
            auto captured = std::make_shared<int>(0);
            alive = captured;
            hooks.on<pre_tool_use>(
                [&doors, captured = std::move(captured)](const pre_tool_use&) { doors.stay(); },
                "slow");
            auto s = hooks.create_session({.id = "s-1"}).value();
            h.finish(s.async_start(session_start::cause::start));
            h.begin(s, "go");
            h.start(s.async_run_tools(pooled::calls(2), pooled::obliging(2)));
            doors.await_visits(1);
        }
        BOOST_TEST(!alive.expired());
        doors.open();
        pool.join();
        BOOST_TEST(doors.visits() == 1u);  // the second was not wanted any more
        BOOST_TEST(alive.expired());
    }
}

BOOST_AUTO_TEST_SUITE_END()
