#include <belay/core/reply.hpp>
#include <belay/hooks/coroutine.hpp>
#include <belay/hooks/detail/batch_fsm.hpp>
#include <belay/hooks/run_tools.hpp>
#include <belay/hooks/session.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace belay;
using namespace belay::hooks;
using belay::test::host;
using belay::test::kept_log;
using namespace std::chrono_literals;

namespace {

using names = std::vector<std::string>;

tool_call call(std::string id, std::string name = "bash", std::string command = "ls")
{
    tool_call made{std::move(id), std::move(name), {}};
    made.input.emplace("command", command);
    return made;
}

std::string command_of(const tool_call& one)
{
    return kept_log::text(one.input, "command");
}

std::string text_of(const call_record& one)
{
    return hooks::text_of(one.result.content);
}

// Writes down what happens to which call.
struct diary {
    tool_host host()
    {
        tool_host made;
        made.permit = [this](const tool_call& one) {
            lines.push_back("permit " + one.id + ' ' + command_of(one));
            return permission::grant();
        };
        made.run = [this](const tool_call& one) {
            lines.push_back("run " + one.id + ' ' + command_of(one));
            return text_result("ran " + command_of(one));
        };
        return made;
    }

    void watch(registry& hooks)
    {
        hooks.on<pre_tool_use>(
            [this](const pre_tool_use& e) { lines.push_back("pre " + e.call.id); }, "diary");
        hooks.on<post_tool_use>(
            [this](const post_tool_use& e) { lines.push_back("post " + e.call.id); }, "diary");
    }

    names lines;
};

std::vector<call_record> run(host& h, session& in, std::vector<tool_call> calls, tool_host with)
{
    auto [ec, records] = h.finish(in.async_run_tools({.calls = std::move(calls)}, std::move(with)));
    BOOST_REQUIRE(!ec);
    return std::move(records);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(batch_fsm)

using fsm = hooks::detail::batch_fsm;
using act = fsm::act;

// The next step, as text.
static std::string next(fsm& of)
{
    static const std::map<act, std::string> names{
        {act::ask_hooks, "hooks"}, {act::ask_permission, "permission"},
        {act::run_tool, "tool"},   {act::tell_hooks, "tell"},
        {act::wait, "wait"},       {act::done, "done"}};
    const auto step = of.next();
    const bool of_call = step.what != act::wait && step.what != act::done;
    return names.at(step.what) + (of_call ? ' ' + std::to_string(step.call) : "");
}

BOOST_AUTO_TEST_CASE(no_permission_is_asked_before_all_hooks_have_ended)
{
    fsm batch({true, true}, 8, 8);
    BOOST_TEST(next(batch) == "hooks 0");
    BOOST_TEST(next(batch) == "hooks 1");
    BOOST_TEST(next(batch) == "wait");
    batch.hooks_said(1, fsm::verdict::proceed);
    BOOST_TEST(next(batch) == "wait");
    batch.hooks_said(0, fsm::verdict::proceed);
    BOOST_TEST(next(batch) == "permission 0");
    BOOST_TEST(next(batch) == "permission 1");
    BOOST_TEST(next(batch) == "wait");
}

BOOST_AUTO_TEST_CASE(the_limits_hold)
{
    fsm batch({true, true, true}, 2, 1);
    BOOST_TEST(next(batch) == "hooks 0");
    BOOST_TEST(next(batch) == "hooks 1");
    BOOST_TEST(next(batch) == "wait");
    batch.hooks_said(0, fsm::verdict::proceed);
    BOOST_TEST(next(batch) == "hooks 2");
    batch.hooks_said(1, fsm::verdict::proceed);
    batch.hooks_said(2, fsm::verdict::proceed);
    BOOST_TEST(next(batch) == "permission 0");
    BOOST_TEST(next(batch) == "wait");
    batch.permission_said(0, true);
    BOOST_TEST(next(batch) == "tool 0");
    BOOST_TEST(next(batch) == "wait");
    batch.tool_ended(0);
    BOOST_TEST(next(batch) == "tell 0");
    BOOST_TEST(next(batch) == "wait");
    batch.hooks_told();
    BOOST_TEST(next(batch) == "permission 1");
    batch.permission_said(1, false);
    BOOST_TEST(next(batch) == "permission 2");
}

BOOST_AUTO_TEST_CASE(a_limit_of_nothing_is_one)
{
    fsm batch({true, true}, 0, 0);
    BOOST_TEST(next(batch) == "hooks 0");
    BOOST_TEST(next(batch) == "wait");
    batch.hooks_said(0, fsm::verdict::proceed);
    BOOST_TEST(next(batch) == "hooks 1");
    batch.hooks_said(1, fsm::verdict::refuse);
    BOOST_TEST(next(batch) == "permission 0");
}

BOOST_AUTO_TEST_CASE(what_is_refused_or_not_offered_is_over_and_what_is_replaced_is_told)
{
    fsm batch({false, true, true}, 8, 1);
    BOOST_TEST(next(batch) == "hooks 1");
    BOOST_TEST(next(batch) == "hooks 2");
    batch.hooks_said(1, fsm::verdict::refuse);
    batch.hooks_said(2, fsm::verdict::replace);
    BOOST_TEST(next(batch) == "tell 2");
    BOOST_TEST(next(batch) == "wait");
    batch.hooks_told();
    BOOST_TEST(next(batch) == "done");
}

BOOST_AUTO_TEST_CASE(an_empty_batch_is_done)
{
    fsm empty({}, 1, 1);
    BOOST_TEST(next(empty) == "done");
    fsm nothing_offered({false, false}, 1, 1);
    BOOST_TEST(next(nothing_offered) == "done");
}

BOOST_AUTO_TEST_CASE(after_a_cancellation_at_any_step_nothing_is_to_be_done)
{
    for (int steps = 0; steps != 8; ++steps) {
        fsm batch({true}, 1, 1);
        int left = steps;
        const auto take = [&](auto what) {
            if (left-- > 0) what();
        };
        take([&] { batch.next(); });
        take([&] { batch.hooks_said(0, fsm::verdict::proceed); });
        take([&] { batch.next(); });
        take([&] { batch.permission_said(0, true); });
        take([&] { batch.next(); });
        take([&] { batch.tool_ended(0); });
        take([&] { batch.next(); });
        batch.cancel();
        BOOST_TEST(next(batch) == "done", "after " << steps << " steps");
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(run_tools)

BOOST_AUTO_TEST_CASE(all_hooks_run_before_any_permission_check_and_any_tool)
{
    host h;
    diary d;
    d.watch(h.hooks);
    auto s = h.open_in_turn();
    run(h, s, {call("c1"), call("c2")}, d.host());
    BOOST_TEST(d.lines == (names{"pre c1", "pre c2", "permit c1 ls", "run c1 ls", "post c1",
                                 "permit c2 ls", "run c2 ls", "post c2"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_call_that_is_not_offered_is_refused_before_the_hooks)
{
    host h;
    diary d;
    d.watch(h.hooks);
    auto s = h.open_in_turn({"bash"});
    const auto records = run(h, s, {call("c1", "ghost"), call("c2")}, d.host());
    BOOST_TEST((records[0].fate == call_fate::not_offered));
    BOOST_TEST(text_of(records[0]) == "Tool not offered: ghost");
    BOOST_TEST(records[0].result.is_error);
    BOOST_TEST(!records[0].before);
    BOOST_TEST(!records[0].after);
    BOOST_TEST((records[1].fate == call_fate::ran));
    BOOST_TEST(std::ranges::none_of(d.lines, [](auto& l) { return l.ends_with("c1"); }));
}

BOOST_AUTO_TEST_CASE(a_tool_that_a_hook_has_narrowed_away_is_not_offered_for_this_turn)
{
    host h;
    const auto id = h.hooks.on<pre_turn>(
        [](const pre_turn&) { return pre_turn::mutate{.tools = names{"read"}}; }, "narrow");
    auto s = h.open_in_turn();
    BOOST_TEST((run(h, s, {call("c1")}, diary().host())[0].fate == call_fate::not_offered));
    h.finish(s.async_end_turn({.text = "done"}));
    h.hooks.remove(id);
    h.begin(s, "again");
    diary d;
    BOOST_TEST((run(h, s, {call("c1")}, d.host())[0].fate == call_fate::ran));
}

BOOST_AUTO_TEST_CASE(a_blocked_call_has_the_reason_as_its_result_and_nothing_else_happens)
{
    host h;
    diary d;
    h.hooks.on<pre_tool_use>(
        [](const pre_tool_use& e) -> std::optional<block> {
            if (e.call.id == "c1") return block{"Leave the treasure where it is."};
            return std::nullopt;
        },
        "lookout");
    d.watch(h.hooks);
    auto s = h.open_in_turn();
    const auto records = run(h, s, {call("c1"), call("c2")}, d.host());
    BOOST_TEST((records[0].fate == call_fate::blocked));
    BOOST_TEST(text_of(records[0]) == "Leave the treasure where it is.");
    BOOST_TEST(records[0].result.is_error);
    BOOST_TEST(records[0].before->decided_by == "lookout");
    BOOST_TEST(!records[0].after);
    BOOST_TEST((records[1].fate == call_fate::ran));
    BOOST_TEST(std::ranges::none_of(d.lines, [](auto& l) { return l.find("c1") != l.npos; }));
}

BOOST_AUTO_TEST_CASE(a_failed_hook_of_the_configuration_blocks_its_call_alone)
{
    host h;
    h.use(
        R"([{"phase":"pre_tool_use","argv":["rewrite"]},{"phase":"pre_tool_use","argv":["guard"]}])");
    h.programs.prints["rewrite"] = R"({"power":"mutate","input":{"command":"changed"}})";
    h.programs.exits["guard"] = 9;
    diary d;
    auto s = h.open_in_turn();
    const auto records = run(h, s, {call("c1")}, d.host());
    BOOST_TEST((records[0].fate == call_fate::hook_failed));
    BOOST_TEST(text_of(records[0]) ==
               "pre_tool_use hook failed: Command hook exited with status 9");
    BOOST_TEST(records[0].result.is_error);
    BOOST_TEST(command_of(records[0].call) == "ls");  // the change is dropped
    BOOST_TEST(d.lines.empty());
    BOOST_TEST(s.turn_running());

    const auto logged = h.log.of("pre_tool_use_hook_failed");
    BOOST_REQUIRE(logged.size() == 1u);
    BOOST_TEST(kept_log::text(logged[0], "toolCallId") == "c1");
    BOOST_TEST(kept_log::text(logged[0], "toolName") == "bash");
    BOOST_TEST(kept_log::text(logged[0], "command") == "guard");
    BOOST_TEST(kept_log::text(logged[0], "consequence") == "blocked");
}

BOOST_AUTO_TEST_CASE(the_permission_check_and_the_tool_see_the_changed_input)
{
    host h;
    diary d;
    h.hooks.on<pre_tool_use>(
        [](const pre_tool_use&) {
            pre_tool_use::mutate said;
            said.input.emplace("command", "ls -l");
            return said;
        },
        "rewrite");
    std::optional<post_tool_use> after;
    h.hooks.on<post_tool_use>([&](const post_tool_use& e) { after = e; }, "x");
    auto s = h.open_in_turn();
    const auto records = run(h, s, {call("c1")}, d.host());
    BOOST_TEST(d.lines == (names{"permit c1 ls -l", "run c1 ls -l"}),
               boost::test_tools::per_element());
    BOOST_TEST(command_of(records[0].call) == "ls -l");
    BOOST_REQUIRE(after.has_value());
    BOOST_TEST(command_of(after->call) == "ls -l");
    BOOST_TEST(text_of(after->result.content) == "ran ls -l");
    BOOST_TEST((after->session_id == "s-1"));
    BOOST_TEST(after->workspace == "/nest");
}

BOOST_AUTO_TEST_CASE(no_hook_grants_permission_and_a_denied_call_has_no_post_tool_use)
{
    host h;
    diary d;
    d.watch(h.hooks);
    auto with = d.host();
    with.permit = [](const tool_call&) { return permission::deny("not in this folder"); };
    auto s = h.open_in_turn();
    const auto records = run(h, s, {call("c1")}, with);
    BOOST_TEST((records[0].fate == call_fate::denied));
    BOOST_TEST(text_of(records[0]) == "not in this folder");
    BOOST_TEST(records[0].result.is_error);
    BOOST_TEST(!records[0].after);
    BOOST_TEST(d.lines == names{"pre c1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_replaced_call_still_has_its_post_tool_use_with_no_duration)
{
    host h;
    diary d;
    h.hooks.on<pre_tool_use>(
        [](const pre_tool_use&) { return pre_tool_use::replace{text_result("from a hook", true)}; },
        "r");
    std::optional<post_tool_use> after;
    h.hooks.on<post_tool_use>(
        [&](const post_tool_use& e) {
            after = e;
            return post_tool_use::mutate{.is_error = false};
        },
        "x");
    auto s = h.open_in_turn();
    const auto records = run(h, s, {call("c1")}, d.host());
    BOOST_TEST((records[0].fate == call_fate::replaced));
    BOOST_TEST(text_of(records[0]) == "from a hook");
    BOOST_TEST(!records[0].result.is_error);
    BOOST_TEST(d.lines.empty());
    BOOST_REQUIRE(after.has_value());
    BOOST_TEST(after->duration.count() == 0.0);
    BOOST_TEST(after->result.is_error);
    BOOST_REQUIRE(records[0].after.has_value());
    BOOST_TEST(records[0].after->patched_by == names{"x"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_tool_that_throws_gives_an_error_result_that_the_hooks_see)
{
    host h;
    diary d;
    d.watch(h.hooks);
    auto with = d.host();
    with.run = [](const tool_call& one) -> tool_result {
        if (one.id == "c1") throw std::runtime_error("no such file");
        return text_result("fine");
    };
    auto s = h.open_in_turn();
    const auto records = run(h, s, {call("c1"), call("c2")}, with);
    BOOST_TEST((records[0].fate == call_fate::ran));
    BOOST_TEST(text_of(records[0]) == "no such file");
    BOOST_TEST(records[0].result.is_error);
    BOOST_TEST(records[0].after.has_value());
    BOOST_TEST(text_of(records[1]) == "fine");
}

BOOST_AUTO_TEST_CASE(a_permission_check_that_fails_denies)
{
    host h;
    auto s = h.open_in_turn();
    diary d;
    auto with = d.host();
    with.permit = [](const tool_call&) -> permission { throw std::runtime_error("no terminal"); };
    auto records = run(h, s, {call("c1")}, with);
    BOOST_TEST((records[0].fate == call_fate::denied));
    BOOST_TEST(text_of(records[0]) == "Permission check failed: no terminal");

    with.permit = [](const tool_call&, permission_reply) {};  // drops its reply
    records = run(h, s, {call("c1")}, with);
    BOOST_TEST((records[0].fate == call_fate::denied));
    BOOST_TEST(text_of(records[0]) == "Permission check failed: it gave no answer");

    // Its answer does not count if it throws afterwards.
    with.permit = [](const tool_call&, permission_reply answer) {
        answer(permission::grant());
        throw std::runtime_error("too late");
    };
    records = run(h, s, {call("c1")}, with);
    BOOST_TEST(text_of(records[0]) == "Permission check failed: too late");

    with.permit = {};
    records = run(h, s, {call("c1")}, with);
    BOOST_TEST((records[0].fate == call_fate::denied));
    BOOST_TEST(d.lines.empty());

    with = d.host();
    with.run = {};
    records = run(h, s, {call("c1")}, with);
    BOOST_TEST((records[0].fate == call_fate::ran));
    BOOST_TEST(records[0].result.is_error);
}

BOOST_AUTO_TEST_CASE(chains_of_different_calls_overlap_up_to_their_limit)
{
    for (const std::size_t limit : {1u, 2u, 8u}) {
        host h;
        std::vector<reply<pre_tool_use>> owed;
        std::size_t at_once = 0;
        h.hooks.on<pre_tool_use>(
            [&](const pre_tool_use&, reply<pre_tool_use> answer) {
                owed.push_back(std::move(answer));
                at_once = std::max(at_once, owed.size());
            },
            "slow");
        auto s = h.open_in_turn();
        diary d;
        auto with = d.host();
        with.chains_at_once = limit;
        auto running =
            h.start(s.async_run_tools({.calls = {call("c1"), call("c2"), call("c3")}}, with));
        while (!owed.empty()) {
            // the last one first: the results come in the order of the calls all the same
            auto answer = std::move(owed.back());
            owed.pop_back();
            answer();
            h.drain();
        }
        BOOST_REQUIRE(host::is_done(running));
        const auto records = std::get<1>(running.get());
        BOOST_TEST(at_once == std::min<std::size_t>(limit, 3));
        BOOST_REQUIRE(records.size() == 3u);
        BOOST_TEST(records[0].call.id == "c1");
        BOOST_TEST(records[2].call.id == "c3");
    }
}

BOOST_AUTO_TEST_CASE(tools_run_one_after_another_unless_the_host_says_otherwise)
{
    for (const std::size_t limit : {1u, 2u}) {
        host h;
        std::map<std::string, tool_reply> owed;
        auto s = h.open_in_turn();
        tool_host with;
        with.permit = [](const tool_call&) { return permission::grant(); };
        with.run = [&](const tool_call& one, tool_reply answer) {
            owed.emplace(one.id, std::move(answer));
        };
        BOOST_TEST(tool_host().tools_at_once == 1u);
        with.tools_at_once = limit;
        auto running = h.start(s.async_run_tools({.calls = {call("c1"), call("c2")}}, with));
        BOOST_TEST(owed.size() == limit);
        if (limit == 2) {
            owed.at("c2")(text_result("second"));
            h.drain();
            BOOST_TEST(!host::is_done(running));
        }
        owed.at("c1")(text_result("first"));
        h.drain();
        if (limit == 1) owed.at("c2")(text_result("second"));
        h.drain();
        const auto records = std::get<1>(running.get());
        BOOST_TEST(text_of(records[0]) == "first");
        BOOST_TEST(text_of(records[1]) == "second");
    }
}

BOOST_AUTO_TEST_CASE(host_functions_may_be_coroutines)
{
    host h;
    auto s = h.open_in_turn();
    h.hooks.on<pre_tool_use>(
        [](const pre_tool_use& e) -> boost::asio::awaitable<std::optional<block>> {
            co_await boost::asio::post(co_await boost::asio::this_coro::executor,
                                       boost::asio::use_awaitable);
            if (e.call.id == "c3") co_return block{"not this one"};
            co_return std::nullopt;
        },
        "x");
    tool_host with;
    with.permit = [](const tool_call& one) -> boost::asio::awaitable<permission> {
        co_await boost::asio::post(co_await boost::asio::this_coro::executor,
                                   boost::asio::use_awaitable);
        co_return one.id == "c2" ? permission::deny("no") : permission::grant();
    };
    with.run = [](const tool_call& one) -> boost::asio::awaitable<tool_result> {
        co_await boost::asio::post(co_await boost::asio::this_coro::executor,
                                   boost::asio::use_awaitable);
        if (one.id == "c4") throw std::runtime_error("broken");
        co_return text_result("ran " + one.id);
    };
    const auto records = run(h, s, {call("c1"), call("c2"), call("c3"), call("c4")}, with);
    BOOST_TEST(text_of(records[0]) == "ran c1");
    BOOST_TEST((records[1].fate == call_fate::denied));
    BOOST_TEST((records[2].fate == call_fate::blocked));
    BOOST_TEST(text_of(records[3]) == "broken");
    BOOST_TEST(records[3].result.is_error);
}

BOOST_AUTO_TEST_CASE(a_tool_may_answer_from_another_thread)
{
    host h;
    auto s = h.open_in_turn();
    std::vector<std::thread> threads;
    tool_host with;
    with.permit = [](const tool_call&) { return permission::grant(); };
    with.run = [&](const tool_call&, tool_reply answer) {
        threads.emplace_back(
            [answer = std::move(answer)]() mutable { answer(text_result("there")); });
    };
    auto running = host::launch(s.async_run_tools({.calls = {call("c1")}}, with));
    h.wait(running);
    BOOST_TEST(text_of(std::get<1>(running.get()).at(0)) == "there");
    for (auto& one : threads) one.join();
}

BOOST_AUTO_TEST_CASE(the_duration_is_that_of_the_tool)
{
    host h;
    std::optional<tool_reply> owed;
    std::optional<post_tool_use> after;
    h.hooks.on<post_tool_use>([&](const post_tool_use& e) { after = e; }, "x");
    auto s = h.open_in_turn();
    tool_host with;
    with.permit = [](const tool_call&) { return permission::grant(); };
    with.run = [&](const tool_call&, tool_reply answer) { owed.emplace(std::move(answer)); };
    auto running = h.start(s.async_run_tools({.calls = {call("c1")}}, with));
    h.pass(1500ms);
    (*owed)(text_result("done"));
    h.drain();
    const auto records = std::get<1>(running.get());
    BOOST_TEST(records.at(0).duration.count() == 1500.0);
    BOOST_TEST(after.value().duration.count() == 1500.0);
}

BOOST_AUTO_TEST_CASE(tools_that_answer_at_once_leave_the_executor_to_others_now_and_then)
{
    host h;
    auto s = h.open_in_turn();
    diary d;
    auto with = d.host();
    with.run = [&](const tool_call& one) {
        boost::asio::post(h.io, [&] { d.lines.push_back("somebody else"); });
        h.time.advance(1ms);
        d.lines.push_back("run " + one.id);
        return text_result("done");
    };
    run(h, s, {call("c1"), call("c2")}, with);
    BOOST_TEST(d.lines == (names{"permit c1 ls", "run c1", "somebody else", "permit c2 ls",
                                 "run c2", "somebody else"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_batch_that_its_own_tool_cancels_ends_there)
{
    host h;
    auto s = h.open_in_turn();
    diary d;
    d.watch(h.hooks);
    auto with = d.host();
    with.run = [&](const tool_call& one) {
        d.lines.push_back("run " + one.id);
        s.cancel_turn();
        return text_result("done");
    };
    auto [ec, records] = h.finish(s.async_run_tools({.calls = {call("c1"), call("c2")}}, with));
    BOOST_TEST((ec == errc::cancelled));
    BOOST_TEST(d.lines == (names{"pre c1", "pre c2", "permit c1 ls", "run c1"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_batch_that_is_cancelled_waits_for_no_hook)
{
    host h;
    std::vector<reply<pre_tool_use>> owed;
    h.hooks.on<pre_tool_use>(
        [&](const pre_tool_use&, reply<pre_tool_use> answer) { owed.push_back(std::move(answer)); },
        "slow");
    diary d;
    auto s = h.open_in_turn();
    auto running = h.start(s.async_run_tools({.calls = {call("c1"), call("c2")}}, d.host()));
    BOOST_TEST(owed.size() == 2u);
    BOOST_TEST(s.cancel_turn());
    h.drain();
    auto [ec, records] = running.get();
    BOOST_TEST((ec == errc::cancelled));
    BOOST_TEST(records.empty());
    BOOST_TEST(!s.turn_running());
    for (auto& one : owed) one();
    h.drain();
    BOOST_TEST(d.lines.empty());
}

BOOST_AUTO_TEST_CASE(a_cancelled_batch_tells_the_tool_and_drops_its_answer)
{
    host h;
    diary d;
    d.watch(h.hooks);
    std::optional<tool_reply> owed;
    bool told = false;
    auto with = d.host();
    with.run = [&](const tool_call& one, tool_reply answer) {
        BOOST_TEST(one.id == "c1");
        answer.get_cancellation_slot().assign([&](boost::asio::cancellation_type) { told = true; });
        owed.emplace(std::move(answer));
    };
    auto s = h.open_in_turn();
    boost::asio::cancellation_signal stop;
    std::optional<error_code> seen;
    s.async_run_tools(
        {.calls = {call("c1"), call("c2")}}, with,
        boost::asio::bind_cancellation_slot(
            stop.slot(), [&](error_code ec, std::vector<call_record>) { seen = ec; }));
    h.drain();
    BOOST_REQUIRE(owed.has_value());
    stop.emit(boost::asio::cancellation_type::terminal);
    h.drain();
    BOOST_TEST((seen == error_code(errc::cancelled)));
    BOOST_TEST(told);
    (*owed)(text_result("late"));
    h.drain();
    BOOST_TEST(std::ranges::none_of(d.lines, [](auto& l) { return l.starts_with("post"); }));
}

BOOST_AUTO_TEST_CASE(a_call_stays_valid_until_its_reply_is_used_also_after_a_cancellation)
{
    for (const bool permitting : {true, false}) {
        host h;
        auto s = h.open_in_turn();
        const tool_call* seen = nullptr;
        std::optional<permission_reply> permission_owed;
        std::optional<tool_reply> tool_owed;
        auto running = [&] {
            tool_host with;
            with.permit = [&](const tool_call& one, permission_reply answer) {
                if (!permitting) return answer(permission::grant());
                seen = &one;
                permission_owed.emplace(std::move(answer));
            };
            with.run = [&](const tool_call& one, tool_reply answer) {
                seen = &one;
                tool_owed.emplace(std::move(answer));
            };
            return h.start(s.async_run_tools(
                {.calls = {call("a-name-that-is-too-long-to-be-kept-inside")}}, std::move(with)));
        }();
        BOOST_REQUIRE(seen != nullptr);
        BOOST_TEST(s.cancel_turn());
        h.drain();
        BOOST_TEST((std::get<0>(running.get()) == errc::cancelled));
        BOOST_TEST(seen->id == "a-name-that-is-too-long-to-be-kept-inside");
        BOOST_TEST(command_of(*seen) == "ls");
    }
}

BOOST_AUTO_TEST_CASE(a_host_function_lives_until_its_reply_is_used_also_after_a_cancellation)
{
    host h;
    auto s = h.open_in_turn();
    auto token = std::make_shared<int>(0);
    const std::weak_ptr<int> alive = token;
    std::optional<tool_reply> owed;
    auto running = [&] {
        tool_host with;
        with.permit = [](const tool_call&) { return permission::grant(); };
        with.run = [&owed, token = std::move(token)](const tool_call&, tool_reply answer) {
            owed.emplace(std::move(answer));
        };
        return h.start(s.async_run_tools({.calls = {call("c1")}}, std::move(with)));
    }();
    BOOST_REQUIRE(owed.has_value());
    s.cancel_turn();
    h.drain();
    BOOST_TEST((std::get<0>(running.get()) == errc::cancelled));
    BOOST_TEST(!alive.expired());  // a coroutine would still be using it
    owed.reset();
    BOOST_TEST(alive.expired());
}

BOOST_AUTO_TEST_CASE(a_tool_that_gives_its_reply_away_and_then_throws_has_a_duration)
{
    host h;
    auto s = h.open_in_turn();
    h.pass(1h);  // so that the beginning of time is no possible end of a call
    std::optional<tool_reply> kept;
    tool_host with;
    with.permit = [](const tool_call&) { return permission::grant(); };
    with.run = [&](const tool_call&, tool_reply answer) {
        kept.emplace(std::move(answer));
        h.time.advance(2s);
        throw std::runtime_error("too late");
    };
    const auto records = run(h, s, {call("c1")}, with);
    BOOST_TEST(text_of(records[0]) == "too late");
    BOOST_TEST(records[0].duration.count() == 2000.0);
}

BOOST_AUTO_TEST_CASE(a_reply_may_be_assigned_to_itself)
{
    host h;
    auto s = h.open_in_turn();
    tool_host with;
    with.permit = [](const tool_call&) { return permission::grant(); };
    with.run = [](const tool_call&, tool_reply answer) {
        auto& same = answer;
        answer = std::move(same);
        answer(text_result("done"));
    };
    BOOST_TEST(text_of(run(h, s, {call("c1")}, with)[0]) == "done");
}

BOOST_AUTO_TEST_CASE(hooks_that_cannot_be_combined_end_the_batch_with_an_error)
{
    for (const bool before_the_tool : {true, false}) {
        belay::test::unreliable_clock time;
        host h;
        auto options = h.options();
        options.time = &time;
        belay::hooks::registry hooks(h.io.get_executor(), options);
        std::vector<turn_finished> finished;
        hooks.on<turn_finished>([&](const turn_finished& event) { finished.push_back(event); },
                                "x");
        std::vector<reply<pre_tool_use>> before;
        std::vector<reply<post_tool_use>> after;
        if (before_the_tool) {
            hooks.on<pre_tool_use>(
                [&](const pre_tool_use& e, reply<pre_tool_use> answer) {
                    before.push_back(std::move(answer));
                    time.broken = e.call.id == "c2";
                },
                "slow");
        } else {
            hooks.on<post_tool_use>(
                [&](const post_tool_use&, reply<post_tool_use> answer) {
                    after.push_back(std::move(answer));
                    time.broken = true;
                },
                "slow");
        }
        diary d;
        auto s = hooks.create_session({.id = "s-1"}).value();
        h.finish(s.async_start(session_start::cause::start));
        h.begin(s, "go");
        auto [ec, records] =
            h.finish(s.async_run_tools({.calls = {call("c1"), call("c2")}}, d.host()));
        BOOST_TEST((ec == errc::threw));
        BOOST_TEST(records.empty());
        BOOST_TEST(!s.turn_running());
        BOOST_REQUIRE(finished.size() == 1u);
        BOOST_TEST((finished[0].outcome == turn_finished::result::error));

        time.broken = false;
        for (auto& one : before) one();
        for (auto& one : after) one();
        h.drain();
        BOOST_TEST(d.lines == (before_the_tool ? names{} : names{"permit c1 ls", "run c1 ls"}),
                   boost::test_tools::per_element());
        h.begin(s, "again");
        BOOST_TEST(s.turn_running());
    }
}

BOOST_AUTO_TEST_CASE(a_batch_that_cannot_begin_ends_with_an_error_and_so_does_its_turn)
{
    belay::test::unreliable_clock time;
    host h;
    auto options = h.options();
    options.time = &time;
    belay::hooks::registry hooks(h.io.get_executor(), options);
    diary d;
    auto s = hooks.create_session({.id = "s-1"}).value();
    h.finish(s.async_start(session_start::cause::start));
    h.begin(s, "go");
    time.broken = true;
    auto [ec, records] = h.finish(s.async_run_tools({.calls = {call("c1")}}, d.host()));
    BOOST_TEST((ec == errc::threw));
    BOOST_TEST(!s.turn_running());
    BOOST_TEST(d.lines.empty());
    time.broken = false;
    h.begin(s, "again");
    BOOST_TEST((run(h, s, {call("c1")}, d.host())[0].fate == call_fate::ran));
}

BOOST_AUTO_TEST_CASE(a_batch_may_be_cancelled_by_its_permission_check)
{
    host h;
    diary d;
    auto with = d.host();
    auto s = h.open_in_turn();
    with.permit = [&](const tool_call&) {
        s.cancel_turn();
        return permission::grant();
    };
    auto [ec, records] = h.finish(s.async_run_tools({.calls = {call("c1"), call("c2")}}, with));
    BOOST_TEST((ec == errc::cancelled));
    BOOST_TEST(d.lines.empty());
}

BOOST_AUTO_TEST_CASE(the_event_loop_may_go_while_a_tool_is_at_work)
{
    std::optional<tool_reply> owed;
    std::future<std::tuple<error_code, std::vector<call_record>>> running;
    {
        host h;
        auto s = h.open_in_turn();
        tool_host with;
        with.permit = [](const tool_call&) { return permission::grant(); };
        with.run = [&](const tool_call&, tool_reply answer) { owed.emplace(std::move(answer)); };
        running = h.start(s.async_run_tools({.calls = {call("c1")}}, with));
    }
    BOOST_REQUIRE(owed.has_value());
    (*owed)(text_result("to nobody"));
    BOOST_CHECK_THROW(running.get(), std::future_error);
}

BOOST_AUTO_TEST_CASE(a_batch_without_calls_completes)
{
    host h;
    auto s = h.open_in_turn();
    BOOST_TEST(run(h, s, {}, {}).empty());
    BOOST_TEST(s.turn_running());
}

BOOST_AUTO_TEST_SUITE_END()
