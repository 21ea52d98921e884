#include <belay/core/reply.hpp>
#include <belay/hooks/run_tools.hpp>
#include <belay/hooks/session.hpp>

#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include "slow_hooks.hpp"
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace belay;
using namespace belay::hooks;
using belay::test::host;
using belay::test::kept_log;
using belay::test::slow_hooks;
using namespace std::chrono_literals;

namespace {

tool_host obliging()
{
    tool_host made;
    made.permit = [](const tool_call&) { return permission::grant(); };
    made.run = [](const tool_call& call) { return text_result("ran " + call.id); };
    return made;
}

model_reply one_call()
{
    return {.calls = {{"c1", "bash", {}}}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(pre_tool_use_deadline)

BOOST_AUTO_TEST_CASE(an_executable_of_the_configuration_at_60_seconds_blocks_the_call)
{
    host h;
    h.use(R"([{"phase":"pre_tool_use","argv":["guard"],"timeout_ms":30000}])");
    h.programs.prints["guard"] = std::nullopt;
    auto s = h.open_in_turn();
    auto running = h.start(s.async_run_tools(one_call(), obliging()));
    h.pass(59999ms);
    BOOST_TEST(!host::is_done(running));
    h.pass(1ms);
    BOOST_REQUIRE(host::is_done(running));
    const auto record = std::get<1>(running.get()).at(0);
    BOOST_TEST((record.fate == call_fate::hook_failed));
    BOOST_TEST(text_of(record.result.content) ==
               "pre_tool_use hook failed: pre_tool_use hooks timed out after 60000ms");
    BOOST_TEST((record.before->failed->code == errc::deadline));
}

BOOST_AUTO_TEST_CASE(an_extension_that_is_overdue_is_ignored_and_what_comes_after_it_is_reported)
{
    host h;
    slow_hooks<pre_tool_use> slow;
    slow.add(h.hooks, "slow");
    bool asked = false;
    h.hooks.on<pre_tool_use>([&](const pre_tool_use&) { asked = true; }, "late");
    auto s = h.open_in_turn();
    auto running = h.start(s.async_run_tools(one_call(), obliging()));
    h.pass(60s);
    BOOST_REQUIRE(host::is_done(running));
    const auto record = std::get<1>(running.get()).at(0);
    BOOST_TEST((record.fate == call_fate::ran));
    BOOST_TEST(!asked);
    BOOST_REQUIRE(record.before->ignored.size() == 2u);
    BOOST_TEST((record.before->ignored[0].code == errc::deadline));
    BOOST_TEST(record.before->ignored[0].handler.name == "slow");
    BOOST_TEST((record.before->ignored[1].code == errc::not_started));
    BOOST_TEST(record.before->ignored[1].handler.name == "late");
    const auto logged = h.log.of("pre_tool_use_hook_failed");
    BOOST_REQUIRE(logged.size() == 2u);
    BOOST_TEST(kept_log::text(logged[1], "error") == "pre_tool_use hooks timed out after 60000ms");
    BOOST_TEST(kept_log::text(logged[1], "consequence") == "ignored");
}

BOOST_AUTO_TEST_CASE(the_hooks_of_one_call_share_it_and_each_call_has_its_own)
{
    host h;
    slow_hooks<pre_tool_use> slow;
    slow.add(h.hooks, "first");
    slow.add(h.hooks, "second");
    auto s = h.open_in_turn();
    auto host_part = obliging();
    host_part.chains_at_once = 1;
    auto running =
        h.start(s.async_run_tools({.calls = {{"c1", "bash", {}}, {"c2", "bash", {}}}}, host_part));
    h.pass(40s);
    slow.owed.at(0)();
    h.drain();
    h.pass(20s);  // the second one had what was left
    BOOST_REQUIRE(slow.owed.size() == 3u);
    h.pass(59s);  // the second call begins anew
    BOOST_TEST(!host::is_done(running));
    slow.owed.at(2)();
    h.drain();
    h.pass(1s);
    BOOST_REQUIRE(host::is_done(running));
    const auto records = std::get<1>(running.get());
    for (const auto& one : records) {
        BOOST_REQUIRE(one.before->ignored.size() == 1u);
        BOOST_TEST(one.before->ignored[0].handler.name == "second");
    }
}

BOOST_AUTO_TEST_CASE(a_timeout_of_the_functions_own_comes_first)
{
    host h;
    slow_hooks<pre_tool_use> slow;
    slow.add(h.hooks, "slow", 250ms);
    auto s = h.open_in_turn();
    auto running = h.start(s.async_run_tools(one_call(), obliging()));
    h.pass(250ms);
    BOOST_REQUIRE(host::is_done(running));
    const auto record = std::get<1>(running.get()).at(0);
    BOOST_REQUIRE(record.before->ignored.size() == 1u);
    BOOST_TEST((record.before->ignored[0].code == errc::timed_out));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(post_tool_use_deadline)

BOOST_AUTO_TEST_CASE(an_executable_of_the_configuration_at_5_seconds_drops_the_patches_before_it)
{
    host h;
    h.use(R"([{"phase":"post_tool_use","argv":["patch"]},
              {"phase":"post_tool_use","argv":["slow"],"timeout_ms":30000}])");
    h.programs.prints["patch"] =
        R"({"power":"mutate","patch":{"content":[{"type":"text","text":"patched"}]}})";
    h.programs.prints["slow"] = std::nullopt;
    auto s = h.open_in_turn();
    auto running = h.start(s.async_run_tools(one_call(), obliging()));
    h.pass(4999ms);
    BOOST_TEST(!host::is_done(running));
    h.pass(1ms);
    BOOST_REQUIRE(host::is_done(running));
    const auto record = std::get<1>(running.get()).at(0);
    BOOST_TEST((record.fate == call_fate::ran));
    BOOST_TEST(text_of(record.result.content) == "ran c1");
    BOOST_TEST(!record.result.is_error);
    BOOST_TEST(record.after->patched_by.empty());
    BOOST_TEST(record.after->failed->message == "post_tool_use hooks timed out after 5000ms");
    const auto logged = h.log.of("post_tool_use_hook_failed");
    BOOST_REQUIRE(logged.size() == 1u);
    BOOST_TEST(kept_log::text(logged[0], "consequence") == "patches_dropped");
}

BOOST_AUTO_TEST_CASE(an_extension_that_is_overdue_keeps_the_patches_before_it)
{
    host h;
    h.hooks.on<post_tool_use>(
        [](const post_tool_use&) { return post_tool_use::mutate{.is_error = true}; }, "patch");
    slow_hooks<post_tool_use> slow;
    slow.add(h.hooks, "slow");
    slow.add(h.hooks, "late");
    auto s = h.open_in_turn();
    auto running = h.start(s.async_run_tools(one_call(), obliging()));
    h.pass(5s);
    BOOST_REQUIRE(host::is_done(running));
    const auto record = std::get<1>(running.get()).at(0);
    BOOST_TEST(record.result.is_error);
    BOOST_TEST(slow.owed.size() == 1u);
    BOOST_REQUIRE(record.after->ignored.size() == 2u);
    BOOST_TEST(record.after->ignored[0].message == "post_tool_use hooks timed out after 5000ms");
    BOOST_TEST((record.after->ignored[1].code == errc::not_started));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(session_start_deadline)

BOOST_AUTO_TEST_CASE(each_hook_has_60_seconds_and_the_next_one_runs)
{
    host h;
    h.use(R"([{"phase":"session_start","argv":["never"],"timeout_ms":30000}])");
    h.programs.prints["never"] = std::nullopt;
    slow_hooks<session_start> slow;
    slow.add(h.hooks, "a");
    slow.add(h.hooks, "b");
    slow.add(h.hooks, "c");
    auto s = h.hooks.create_session({.id = "s-1"}).value();
    auto starting = h.start(s.async_start(session_start::cause::start));
    h.pass(60s);
    BOOST_REQUIRE(slow.owed.size() == 1u);
    h.pass(59s);
    slow.owed[0](session_start::mutate{"a"});
    h.drain();
    h.pass(60s);
    BOOST_REQUIRE(slow.owed.size() == 3u);
    h.pass(59s);
    slow.owed[2](session_start::mutate{"c"});
    h.drain();
    BOOST_REQUIRE(host::is_done(starting));
    const auto started = std::get<1>(starting.get());
    BOOST_TEST(started.message() == "## Session start hook 2\n\na\n\n## Session start hook 4\n\nc");
    const auto logged = h.log.of("session_start_hook_failed");
    BOOST_REQUIRE(logged.size() == 2u);
    for (const auto& one : logged) {
        BOOST_TEST(kept_log::text(one, "error") == "session_start hooks timed out after 60000ms");
    }
    BOOST_TEST(kept_log::text(logged[0], "command") == "never");
    BOOST_TEST(kept_log::text(logged[1], "extension") == "b");
    BOOST_TEST((logged[1].at("index") == 3));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(pre_turn_deadline)

BOOST_AUTO_TEST_CASE(an_executable_of_the_configuration_at_60_seconds_blocks_the_prompt)
{
    host h;
    h.use(R"([{"phase":"pre_turn","argv":["recall"],"timeout_ms":30000}])");
    h.programs.prints["recall"] = std::nullopt;
    auto s = h.open();
    auto beginning = h.start(s.async_begin_turn("go", {"m", {}, {}}));
    h.pass(60s);
    BOOST_REQUIRE(host::is_done(beginning));
    BOOST_TEST(std::get<1>(beginning.get()).blocked_text() ==
               "pre_turn hook failed: pre_turn hooks timed out after 60000ms");
    BOOST_TEST(!s.turn_running());
}

BOOST_AUTO_TEST_CASE(an_extension_that_is_overdue_is_ignored_and_each_prompt_begins_anew)
{
    host h;
    slow_hooks<pre_turn> slow;
    slow.add(h.hooks, "a");
    slow.add(h.hooks, "b");
    auto s = h.open();
    auto beginning = h.start(s.async_begin_turn("go", {"m", {}, {}}));
    h.pass(50s);
    slow.owed.at(0)(pre_turn::mutate{.context = "kept"});
    h.drain();
    h.pass(10s);
    BOOST_REQUIRE(host::is_done(beginning));
    const auto said = std::get<1>(beginning.get());
    BOOST_TEST(!said.blocked);
    BOOST_TEST(said.contexts.size() == 1u);
    BOOST_REQUIRE(said.ignored.size() == 1u);
    BOOST_TEST(said.ignored[0].message == "pre_turn hooks timed out after 60000ms");

    auto joining = h.start(s.async_add_prompt("and", arrival::during_turn));
    h.pass(59s);
    BOOST_TEST(!host::is_done(joining));
    h.pass(1s);
    BOOST_REQUIRE(host::is_done(joining));
    BOOST_TEST(std::get<1>(joining.get()).ignored.size() == 2u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(turn_ending_deadline)

BOOST_AUTO_TEST_CASE(an_executable_of_the_configuration_at_60_seconds_lets_the_turn_end)
{
    host h;
    h.use(R"([{"phase":"turn_ending","argv":["check"],"timeout_ms":30000}])");
    h.programs.prints["check"] = std::nullopt;
    bool asked = false;
    h.hooks.on<turn_ending>([&](const turn_ending&) { asked = true; }, "later");
    auto s = h.open_in_turn();
    auto ending = h.start(s.async_end_turn({.text = "done"}));
    h.pass(60s);
    BOOST_REQUIRE(host::is_done(ending));
    const auto said = std::get<1>(ending.get());
    BOOST_TEST(!said.continuation);
    BOOST_TEST(said.failed->message == "turn_ending hooks timed out after 60000ms");
    BOOST_TEST(!asked);
    BOOST_TEST(!s.turn_running());
}

BOOST_AUTO_TEST_CASE(an_extension_that_is_overdue_is_ignored)
{
    host h;
    slow_hooks<turn_ending> slow;
    slow.add(h.hooks, "slow");
    slow.add(h.hooks, "late");
    auto s = h.open_in_turn();
    auto ending = h.start(s.async_end_turn({.text = "done"}));
    h.pass(60s);
    BOOST_REQUIRE(host::is_done(ending));
    const auto said = std::get<1>(ending.get());
    BOOST_TEST(!said.failed);
    BOOST_REQUIRE(said.ignored.size() == 2u);
    BOOST_TEST((said.ignored[0].code == errc::deadline));
    BOOST_TEST((said.ignored[1].code == errc::not_started));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(phases_that_only_observe)

BOOST_AUTO_TEST_CASE(they_have_no_deadline)
{
    host h;
    slow_hooks<session_end> slow;
    slow.add(h.hooks, "slow");
    auto s = h.open();
    s.close(session_end::cause::closed);
    h.drain();
    h.pass(24h);
    BOOST_REQUIRE(slow.owed.size() == 1u);
    BOOST_TEST(slow.owed[0].awaited());
    BOOST_TEST(h.log.records.empty());
    slow.owed[0].fail(errc::threw, "at last");
    h.drain();
    BOOST_REQUIRE(h.log.of("session_end_hook_failed").size() == 1u);
    BOOST_TEST(kept_log::text(h.log.records[0], "error") == "at last");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(turns)

BOOST_AUTO_TEST_CASE(a_call_that_waits_for_its_place_in_the_batch_is_not_charged_for_it)
{
    host h;
    slow_hooks<pre_tool_use> slow;
    slow.add(h.hooks, "slow", 10s);
    auto s = h.open_in_turn();
    auto host_part = obliging();
    host_part.chains_at_once = 1;
    model_reply reply;
    for (int i = 0; i != 20; ++i) reply.calls.push_back({"c" + std::to_string(i), "bash", {}});
    auto running = h.start(s.async_run_tools(reply, host_part));
    for (std::size_t i = 0; i != 20;
         ++i) {  // 180 s in all, and 60 s is what the hooks of a call have
        BOOST_REQUIRE(slow.owed.size() == i + 1);
        h.pass(9s);
        slow.owed[i]();
        h.drain();
    }
    BOOST_REQUIRE(host::is_done(running));
    const auto records = std::get<1>(running.get());
    BOOST_REQUIRE(records.size() == 20U);
    for (const auto& one : records) BOOST_TEST(one.before->ignored.empty());
}

BOOST_AUTO_TEST_CASE(a_program_that_waits_for_its_place_in_the_batch_is_not_charged_for_it)
{
    host h;
    h.use(R"([{"phase":"pre_tool_use","argv":["guard"],"timeout_ms":20000}])");
    h.programs.prints["guard"] = std::nullopt;
    auto s = h.open_in_turn();
    auto host_part = obliging();
    host_part.chains_at_once = 1;
    model_reply reply;
    for (int i = 0; i != 5; ++i) reply.calls.push_back({"c" + std::to_string(i), "bash", {}});
    auto running = h.start(s.async_run_tools(reply, host_part));
    for (std::size_t i = 0; i != 5; ++i) {  // 75 s in all: more than a program has, or a call
        BOOST_REQUIRE(h.programs.runs.size() == i + 1);
        BOOST_TEST((h.programs.runs[i].timeout == 20s));
        h.pass(15s);
        h.programs.end(i, R"({"power":"observe"})");
        h.drain();
    }
    BOOST_REQUIRE(host::is_done(running));
    const auto records = std::get<1>(running.get());
    BOOST_REQUIRE(records.size() == 5u);
    for (const auto& one : records) BOOST_TEST((one.fate == call_fate::ran));
}

BOOST_AUTO_TEST_SUITE_END()
