#include <belay/core/reply.hpp>
#include <belay/hooks/session.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include "slow_hooks.hpp"
#include <cstddef>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

using namespace belay;
using namespace belay::hooks;
using belay::test::host;
using belay::test::kept_log;
using belay::test::slow_hooks;

namespace {

using names = std::vector<std::string>;

const turn_settings some_settings{"model-a", {}, {"bash", "read"}};

model_reply final_reply(std::string text)
{
    return {.text = std::move(text)};
}

// Counts the events of all phases.
struct watcher {
    explicit watcher(registry& hooks)
    {
        watch<pre_tool_use>(hooks);
        watch<post_tool_use>(hooks);
        watch<session_start>(hooks);
        watch<pre_turn>(hooks);
        watch<turn_ending>(hooks);
        watch<pre_compact>(hooks);
        watch<session_end>(hooks);
        watch<subagent_finished>(hooks);
        watch<turn_finished>(hooks);
    }

    template <class E>
    void watch(registry& hooks)
    {
        hooks.on<E>([this](const E&) { seen.emplace_back(E::event_name); }, "watcher");
    }

    names seen;
};

// Keeps the events of one kind.
template <class E>
struct recorder {
    explicit recorder(registry& hooks)
    {
        hooks.on<E>([this](const E& event) { events.push_back(event); }, "recorder");
    }
    std::vector<E> events;
};

tool_host obliging()
{
    tool_host made;
    made.permit = [](const tool_call&) { return permission::grant(); };
    made.run = [](const tool_call& call) { return text_result("ran " + call.id); };
    return made;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(session_start_phase)

BOOST_AUTO_TEST_CASE(a_turn_has_to_wait_for_the_session_start_hooks)
{
    host h;
    slow_hooks<session_start> slow;
    slow.add(h.hooks, "slow");
    auto s = h.hooks.create_session({.id = "s-1"}).value();

    BOOST_TEST((std::get<0>(h.finish(s.async_begin_turn("hi", some_settings))) == errc::not_begun));
    BOOST_TEST((s.begin_compaction(pre_compact::cause::manual, 1, {}) == errc::not_begun));
    auto starting = h.start(s.async_start(session_start::cause::start));
    BOOST_TEST(!host::is_done(starting));
    BOOST_TEST(
        (std::get<0>(h.finish(s.async_begin_turn("hi", some_settings))) == errc::in_progress));
    BOOST_TEST((s.begin_compaction(pre_compact::cause::manual, 1, {}) == errc::in_progress));
    BOOST_TEST(s.turns() == 0u);

    slow.owed.back()(session_start::mutate{"be brief"});
    h.drain();
    auto [ec, started] = starting.get();
    BOOST_TEST(!ec);
    BOOST_TEST(started.message() == "## Session start hook 1\n\nbe brief");
    BOOST_TEST((std::get<0>(h.finish(s.async_begin_turn("hi", some_settings))) == error_code()));
}

BOOST_AUTO_TEST_CASE(a_conversation_starts_once_so_attaching_to_it_runs_nothing)
{
    host h;
    recorder<session_start> starts(h.hooks);
    auto s = h.open();
    BOOST_TEST(
        (std::get<0>(h.finish(s.async_start(session_start::cause::resume))) == errc::in_progress));
    BOOST_TEST(starts.events.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_reason_and_the_place_reach_the_hooks)
{
    host h;
    recorder<session_start> starts(h.hooks);
    auto s = h.hooks.create_session({.id = "s-9", .workspace = "/nest"}).value();
    h.finish(s.async_start(session_start::cause::resume));
    BOOST_REQUIRE(starts.events.size() == 1u);
    BOOST_TEST(starts.events[0].session_id == "s-9");
    BOOST_TEST(starts.events[0].workspace == "/nest");
    BOOST_TEST((starts.events[0].reason == session_start::cause::resume));
}

BOOST_AUTO_TEST_CASE(a_session_has_started_whatever_the_reason_was)
{
    using cause = session_start::cause;
    for (const auto reason : {cause::start, cause::resume, cause::compacted}) {
        host h;
        auto s = h.hooks.create_session({.id = "s-1"}).value();
        BOOST_TEST(!std::get<0>(h.finish(s.async_start(reason))));
        BOOST_TEST(!std::get<0>(h.finish(s.async_begin_turn("hi", some_settings))));
    }
}

BOOST_AUTO_TEST_CASE(a_cancelled_start_may_be_repeated)
{
    host h;
    slow_hooks<session_start> slow;
    slow.add(h.hooks, "slow");
    auto s = h.hooks.create_session({.id = "s-1"}).value();
    boost::asio::cancellation_signal stop;
    std::optional<error_code> first;
    s.async_start(session_start::cause::start,
                  boost::asio::bind_cancellation_slot(
                      stop.slot(), [&](error_code ec, session_start::outcome) { first = ec; }));
    h.drain();
    BOOST_TEST(!first.has_value());
    stop.emit(boost::asio::cancellation_type::total);
    h.drain();
    BOOST_TEST((first == error_code(errc::cancelled)));

    auto again = h.start(s.async_start(session_start::cause::start));
    slow.owed.back()();
    h.drain();
    BOOST_TEST(!std::get<0>(again.get()));
}

BOOST_AUTO_TEST_CASE(a_failure_is_logged_with_its_place_and_stops_nobody)
{
    host h;
    h.use(R"([{"phase":"session_start","argv":["note"]}])");
    h.programs.prints["note"] = "no json";
    h.hooks.on<session_start>([](const session_start&) { throw std::runtime_error("boom"); },
                              "acme.a");
    h.hooks.on<session_start>([](const session_start&) { return session_start::mutate{"yes"}; },
                              "acme.b");
    auto s = h.hooks.create_session({.id = "s-1"}).value();
    auto [ec, started] = h.finish(s.async_start(session_start::cause::start));
    BOOST_TEST(started.message() == "## Session start hook 3\n\nyes");

    const auto records = h.log.of("session_start_hook_failed");
    BOOST_REQUIRE(records.size() == 2u);
    BOOST_TEST(kept_log::text(records[0], "level") == "warn");
    BOOST_TEST(kept_log::text(records[0], "sessionId") == "s-1");
    BOOST_TEST(kept_log::text(records[0], "reason") == "start");
    BOOST_TEST(kept_log::text(records[0], "command") == "note");
    BOOST_TEST(kept_log::text(records[0], "error") == "Command hook returned invalid JSON");
    BOOST_TEST((records[0].at("index") == 1));
    BOOST_TEST(kept_log::text(records[1], "extension") == "acme.a");
    BOOST_TEST(kept_log::text(records[1], "error") == "boom");
    BOOST_TEST((records[1].at("index") == 2));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(turn)

BOOST_AUTO_TEST_CASE(the_first_prompt_can_change_all_that_the_model_is_called_with)
{
    host h;
    recorder<pre_turn> turns(h.hooks);
    h.hooks.on<pre_turn>(
        [](const pre_turn&) {
            return pre_turn::mutate{.context = "third palm",
                                    .tools = names{"read"},
                                    .model = "model-b",
                                    .reasoning_effort = "high"};
        },
        "recall");
    auto s = h.open();
    const auto said = h.begin(s, "where?");
    BOOST_TEST(!said.blocked);
    BOOST_REQUIRE(said.contexts.size() == 1u);
    BOOST_TEST(said.contexts[0].source == "recall");
    BOOST_TEST(s.settings().model == "model-b");
    BOOST_TEST((s.settings().reasoning_effort == "high"));
    BOOST_TEST(s.settings().tools == names{"read"}, boost::test_tools::per_element());

    BOOST_REQUIRE(turns.events.size() == 1u);
    const auto& event = turns.events[0];
    BOOST_TEST(event.session_id == "s-1");
    BOOST_TEST(event.workspace == "/nest");
    BOOST_TEST(event.prompt == "where?");
    BOOST_TEST(event.model == "model-a");
    BOOST_TEST(event.tools == (names{"bash", "read"}), boost::test_tools::per_element());
    BOOST_TEST(!event.arrived_during_turn);
    BOOST_TEST(!event.spawned);
}

BOOST_AUTO_TEST_CASE(what_a_hook_changed_is_gone_with_the_turn)
{
    host h;
    const auto id = h.hooks.on<pre_turn>(
        [](const pre_turn&) { return pre_turn::mutate{.tools = names{}, .model = "model-b"}; },
        "x");
    auto s = h.open_in_turn();
    BOOST_TEST(s.settings().tools.empty());
    h.finish(s.async_end_turn(final_reply("done")));
    BOOST_TEST(h.hooks.remove(id));
    h.begin(s, "again");
    BOOST_TEST(s.settings().model == "model-a");
    BOOST_TEST(s.settings().tools.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_joining_prompt_narrows_the_tools_but_cannot_change_the_model)
{
    host h;
    recorder<pre_turn> turns(h.hooks);
    auto s = h.open_in_turn();
    h.hooks.on<pre_turn>(
        [](const pre_turn&) {
            return pre_turn::mutate{.context = "more",
                                    .tools = names{"read"},
                                    .model = "model-b",
                                    .reasoning_effort = "high"};
        },
        "x");
    auto [ec, said] = h.finish(s.async_add_prompt("and this", arrival::during_turn));
    BOOST_TEST(!ec);
    BOOST_TEST(!said.blocked);
    BOOST_TEST(!said.model);
    BOOST_TEST(said.contexts.size() == 1u);
    BOOST_TEST(s.settings().model == "model-a");
    BOOST_TEST(!s.settings().reasoning_effort);
    BOOST_TEST(s.settings().tools == names{"read"}, boost::test_tools::per_element());
    BOOST_TEST(turns.events.back().arrived_during_turn);
    BOOST_TEST(turns.events.back().prompt == "and this");
    BOOST_TEST(s.turns() == 1u);

    // The next one sees the narrowed list, and the model that is in use.
    h.finish(s.async_add_prompt("last", arrival::during_turn));
    BOOST_TEST(turns.events.back().tools == names{"read"}, boost::test_tools::per_element());
    BOOST_TEST(turns.events.back().model == "model-a");
}

BOOST_AUTO_TEST_CASE(a_later_prompt_of_a_batch_cannot_change_the_model_and_is_counted)
{
    host h;
    recorder<pre_turn> turns(h.hooks);
    auto s = h.open_in_turn();
    h.hooks.on<pre_turn>([](const pre_turn&) { return pre_turn::mutate{.model = "model-b"}; }, "x");
    h.finish(s.async_add_prompt("second", arrival::queued));
    BOOST_TEST(s.settings().model == "model-a");
    BOOST_TEST(!turns.events.back().arrived_during_turn);
    BOOST_TEST(s.turns() == 2u);
}

BOOST_AUTO_TEST_CASE(a_blocked_prompt_ends_the_turn)
{
    host h;
    recorder<turn_finished> finished(h.hooks);
    h.hooks.on<pre_turn>([](const pre_turn&) { return block{"closed today"}; }, "x");
    auto s = h.open();
    const auto said = h.begin(s, "hello");
    BOOST_TEST(said.blocked_text() == "pre_turn hook blocked this turn: closed today");
    BOOST_TEST(!s.turn_running());
    BOOST_TEST((std::get<0>(h.finish(s.async_end_turn(final_reply("x")))) == errc::not_begun));
    BOOST_REQUIRE(finished.events.size() == 1u);
    BOOST_TEST((finished.events[0].outcome == turn_finished::result::error));
    BOOST_TEST(finished.events[0].prompt == "hello");
    BOOST_TEST(finished.events[0].turns == 1u);
}

BOOST_AUTO_TEST_CASE(a_blocked_joining_prompt_ends_the_running_turn)
{
    host h;
    auto s = h.open_in_turn();
    h.hooks.on<pre_turn>([](const pre_turn&) { return block{"enough"}; }, "x");
    auto [ec, said] = h.finish(s.async_add_prompt("and this", arrival::during_turn));
    BOOST_TEST(said.blocked_text() == "pre_turn hook blocked this turn: enough");
    BOOST_TEST(!s.turn_running());
}

BOOST_AUTO_TEST_CASE(a_failed_hook_of_the_configuration_blocks_and_is_logged)
{
    host h;
    h.use(R"([{"phase":"pre_turn","argv":["recall"]}])");
    h.programs.exits["recall"] = 3;
    auto s = h.open();
    const auto said = h.begin(s, "hello");
    BOOST_TEST(said.blocked_text() == "pre_turn hook failed: Command hook exited with status 3");
    const auto records = h.log.of("pre_turn_hook_failed");
    BOOST_REQUIRE(records.size() == 1u);
    BOOST_TEST(kept_log::text(records[0], "consequence") == "blocked");
}

BOOST_AUTO_TEST_CASE(a_failed_hook_of_an_extension_is_ignored_and_logged)
{
    host h;
    h.hooks.on<pre_turn>([](const pre_turn&) { throw std::runtime_error("boom"); }, "acme");
    auto s = h.open();
    BOOST_TEST(!h.begin(s, "hello").blocked);
    const auto records = h.log.of("pre_turn_hook_failed");
    BOOST_REQUIRE(records.size() == 1u);
    BOOST_TEST(kept_log::text(records[0], "consequence") == "ignored");
    BOOST_TEST(kept_log::text(records[0], "extension") == "acme");
}

BOOST_AUTO_TEST_CASE(a_turn_without_a_prompt_asks_no_pre_turn_hook)
{
    host h;
    recorder<pre_turn> turns(h.hooks);
    recorder<turn_ending> endings(h.hooks);
    auto s = h.open();
    auto [ec, said] = h.finish(s.async_begin_turn(std::nullopt, some_settings));
    BOOST_TEST(!ec);
    BOOST_TEST(!said.blocked);
    BOOST_TEST(turns.events.empty());
    BOOST_TEST(s.turns() == 0u);
    h.finish(s.async_end_turn(final_reply("delivered")));
    BOOST_REQUIRE(endings.events.size() == 1u);
    BOOST_TEST(endings.events[0].prompt.empty());
}

BOOST_AUTO_TEST_CASE(one_operation_at_a_time)
{
    host h;
    slow_hooks<pre_turn> slow;
    slow.add(h.hooks, "slow");
    auto s = h.open();
    auto first = h.start(s.async_begin_turn("one", some_settings));
    BOOST_TEST(
        (std::get<0>(h.finish(s.async_begin_turn("two", some_settings))) == errc::in_progress));
    BOOST_TEST(
        (std::get<0>(h.finish(s.async_add_prompt("two", arrival::queued))) == errc::in_progress));
    BOOST_TEST((std::get<0>(h.finish(s.async_run_tools({}, obliging()))) == errc::in_progress));
    BOOST_TEST((std::get<0>(h.finish(s.async_end_turn({}))) == errc::in_progress));
    slow.owed.back()();
    h.drain();
    BOOST_TEST(!std::get<0>(first.get()));
    BOOST_TEST(
        (std::get<0>(h.finish(s.async_begin_turn("two", some_settings))) == errc::in_progress));
    BOOST_TEST(s.turns() == 1u);
}

BOOST_AUTO_TEST_CASE(without_a_turn_there_is_nothing_to_join_to_run_or_to_end)
{
    host h;
    watcher all(h.hooks);
    auto s = h.open();
    all.seen.clear();
    BOOST_TEST(
        (std::get<0>(h.finish(s.async_add_prompt("x", arrival::queued))) == errc::not_begun));
    BOOST_TEST((std::get<0>(h.finish(s.async_run_tools({}, obliging()))) == errc::not_begun));
    BOOST_TEST((std::get<0>(h.finish(s.async_end_turn({}))) == errc::not_begun));
    BOOST_TEST(!s.cancel_turn());
    BOOST_TEST(all.seen.empty());
}

BOOST_AUTO_TEST_CASE(operations_may_be_started_from_another_thread)
{
    host h;
    auto s = h.open();
    std::future<std::tuple<error_code, pre_turn::outcome>> begun;
    std::thread other([&] { begun = host::launch(s.async_begin_turn("hi", some_settings)); });
    other.join();
    h.drain();
    BOOST_TEST(!std::get<0>(begun.get()));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(turn_ending_phase)

BOOST_AUTO_TEST_CASE(a_turn_gets_one_continuation)
{
    host h;
    recorder<turn_ending> endings(h.hooks);
    recorder<turn_finished> finished(h.hooks);
    h.hooks.on<turn_ending>(
        [](const turn_ending&) { return turn_ending::continue_turn{"draw a map", {}}; },
        "map-check");
    auto s = h.open_in_turn();
    auto [ec, first] = h.finish(s.async_end_turn(final_reply("done")));
    BOOST_TEST(!ec);
    BOOST_REQUIRE(first.continuation.has_value());
    BOOST_TEST(first.continuation->source == "map-check");
    BOOST_TEST(first.continuation->context == "draw a map");
    BOOST_TEST(s.turn_running());
    BOOST_TEST(finished.events.empty());

    auto [ec2, second] = h.finish(s.async_end_turn(final_reply("done, with a map")));
    BOOST_TEST(!ec2);
    BOOST_TEST(!second.continuation.has_value());
    BOOST_TEST(!s.turn_running());
    BOOST_REQUIRE(endings.events.size() == 2u);
    BOOST_TEST(endings.events[0].continuations == 0u);
    BOOST_TEST(endings.events[1].continuations == 1u);
    BOOST_TEST(endings.events[1].reply == "done, with a map");

    BOOST_REQUIRE(finished.events.size() == 1u);
    BOOST_TEST((finished.events[0].outcome == turn_finished::result::completed));
    BOOST_TEST(finished.events[0].reply == "done\n\ndone, with a map");

    // The next turn has one of its own.
    h.begin(s, "again");
    BOOST_TEST(std::get<1>(h.finish(s.async_end_turn(final_reply("x")))).continuation.has_value());
}

BOOST_AUTO_TEST_CASE(its_hooks_are_asked_only_when_the_model_has_ended_by_itself)
{
    host h;
    recorder<turn_ending> endings(h.hooks);
    recorder<turn_finished> finished(h.hooks);
    auto s = h.open();
    const auto end_with = [&](stop_reason why, std::vector<tool_call> calls = {}) {
        h.begin(s, "go");
        auto [ec, said] =
            h.finish(s.async_end_turn({.text = "so far", .calls = std::move(calls), .stop = why}));
        BOOST_TEST(!ec);
        BOOST_TEST(!said.continuation);
        BOOST_TEST(!s.turn_running());
        return finished.events.back().outcome;
    };
    using result = turn_finished::result;
    BOOST_TEST((end_with(stop_reason::length) == result::completed));
    BOOST_TEST((end_with(stop_reason::tool_use) == result::completed));
    BOOST_TEST((end_with(stop_reason::error) == result::error));
    BOOST_TEST((end_with(stop_reason::aborted) == result::aborted));
    BOOST_TEST((end_with(stop_reason::end, {{"c1", "bash", {}}}) == result::completed));
    BOOST_TEST(endings.events.empty());
    BOOST_TEST((end_with(stop_reason::end) == result::completed));
    BOOST_TEST(endings.events.size() == 1u);
}

BOOST_AUTO_TEST_CASE(it_knows_all_prompts_of_the_turn)
{
    host h;
    recorder<turn_ending> endings(h.hooks);
    recorder<turn_finished> finished(h.hooks);
    auto s = h.open();
    h.begin(s, "one");
    h.finish(s.async_add_prompt("two", arrival::queued));
    h.finish(s.async_run_tools({.text = "let me look", .calls = {{"c1", "bash", {}}}}, obliging()));
    h.finish(s.async_add_prompt("three", arrival::during_turn));
    h.finish(s.async_end_turn(final_reply("done")));
    BOOST_REQUIRE(endings.events.size() == 1u);
    BOOST_TEST(endings.events[0].prompt == "one\n\ntwo\n\nthree");
    BOOST_TEST(endings.events[0].reply == "done");
    BOOST_REQUIRE(finished.events.size() == 1u);
    BOOST_TEST(finished.events[0].prompt == "one\n\ntwo\n\nthree");
    BOOST_TEST(finished.events[0].reply == "let me look\n\ndone");
    BOOST_TEST(finished.events[0].turns == 2u);
}

BOOST_AUTO_TEST_CASE(a_failed_hook_of_the_configuration_lets_the_turn_end)
{
    host h;
    h.use(R"([{"phase":"turn_ending","argv":["check"]}])");
    h.programs.exits["check"] = 1;
    h.hooks.on<turn_ending>(
        [](const turn_ending&) { return turn_ending::continue_turn{"go on", {}}; }, "x");
    auto s = h.open_in_turn();
    auto [ec, said] = h.finish(s.async_end_turn(final_reply("done")));
    BOOST_TEST(!said.continuation);
    BOOST_TEST(!s.turn_running());
    BOOST_REQUIRE(h.log.of("turn_ending_hook_failed").size() == 1u);
    BOOST_TEST(kept_log::text(h.log.of("turn_ending_hook_failed")[0], "consequence") ==
               "turn_ended");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(cancellation)

BOOST_AUTO_TEST_CASE(a_turn_that_is_cancelled_waits_for_no_hook)
{
    host h;
    std::vector<reply<pre_turn>> owed;
    bool told = false;
    h.hooks.on<pre_turn>(
        [&](const pre_turn&, reply<pre_turn> answer) {
            answer.get_cancellation_slot().assign(
                [&](boost::asio::cancellation_type) { told = true; });
            owed.push_back(std::move(answer));
        },
        "slow");
    recorder<turn_finished> finished(h.hooks);
    auto s = h.open();
    auto beginning = h.start(s.async_begin_turn("go", some_settings));
    BOOST_TEST(s.cancel_turn());
    BOOST_TEST(!s.turn_running());
    h.drain();
    BOOST_REQUIRE(host::is_done(beginning));
    auto [ec, said] = beginning.get();
    BOOST_TEST((ec == errc::cancelled));
    BOOST_TEST(told);
    BOOST_REQUIRE(finished.events.size() == 1u);
    BOOST_TEST((finished.events[0].outcome == turn_finished::result::aborted));

    // What the hook says later is dropped, also if another turn has begun.
    auto next = h.start(s.async_begin_turn("next", some_settings));
    BOOST_REQUIRE(owed.size() == 2u);
    owed[0](block{"too late"});
    h.drain();
    BOOST_TEST(!host::is_done(next));
    owed[1](pre_turn::mutate{.model = "model-b"});
    h.drain();
    BOOST_REQUIRE(host::is_done(next));
    BOOST_TEST(!std::get<1>(next.get()).blocked);
    BOOST_TEST(s.settings().model == "model-b");
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_on_its_way_is_dropped)
{
    host h;
    slow_hooks<turn_ending> slow;
    slow.add(h.hooks, "slow");
    auto s = h.open_in_turn();
    auto ending = h.start(s.async_end_turn(final_reply("done")));
    slow.owed.back()(turn_ending::continue_turn{"go on", {}});
    s.cancel_turn();  // before the answer has been looked at
    h.drain();
    auto [ec, said] = ending.get();
    BOOST_TEST((ec == errc::cancelled));
    BOOST_TEST(!said.continuation);
    BOOST_TEST(!s.turn_running());
}

BOOST_AUTO_TEST_CASE(an_outcome_that_is_on_its_way_is_dropped)
{
    host h;
    h.hooks.on<pre_turn>([](const pre_turn&) { return pre_turn::mutate{.model = "model-b"}; }, "x");
    int asked = 0;
    h.hooks.on<pre_tool_use>([&](const pre_tool_use&) { ++asked; }, "x");
    auto s = h.open();
    std::future<std::tuple<error_code, pre_turn::outcome>> beginning;
    boost::asio::post(h.io, [&] {
        beginning = host::launch(s.async_begin_turn("go", some_settings));
        BOOST_TEST(s.turn_running());
        s.cancel_turn();  // its hooks have all answered
    });
    h.drain();
    BOOST_TEST((std::get<0>(beginning.get()) == errc::cancelled));
    BOOST_TEST(s.settings().model == "model-a");

    h.begin(s, "go");
    bool permission_asked = false;
    auto with = obliging();
    with.permit = [&](const tool_call&) {
        permission_asked = true;
        return permission::grant();
    };
    std::future<std::tuple<error_code, std::vector<call_record>>> running;
    boost::asio::post(h.io, [&] {
        running = host::launch(s.async_run_tools({.calls = {{"c1", "bash", {}}}}, with));
        BOOST_TEST(asked == 1);
        s.cancel_turn();
    });
    h.drain();
    BOOST_TEST((std::get<0>(running.get()) == errc::cancelled));
    BOOST_TEST(!permission_asked);
}

BOOST_AUTO_TEST_CASE(cancelling_an_operation_of_a_turn_ends_the_turn)
{
    host h;
    slow_hooks<turn_ending> slow;
    slow.add(h.hooks, "slow");
    recorder<turn_finished> finished(h.hooks);
    auto s = h.open_in_turn();
    boost::asio::cancellation_signal stop;
    std::optional<error_code> seen;
    s.async_end_turn(final_reply("done"),
                     boost::asio::bind_cancellation_slot(
                         stop.slot(), [&](error_code ec, turn_ending::outcome) { seen = ec; }));
    h.drain();
    stop.emit(boost::asio::cancellation_type::partial);
    h.drain();
    BOOST_TEST((seen == error_code(errc::cancelled)));
    BOOST_TEST(!s.turn_running());
    BOOST_REQUIRE(finished.events.size() == 1u);
    BOOST_TEST((finished.events[0].outcome == turn_finished::result::aborted));
    stop.emit(boost::asio::cancellation_type::partial);  // nothing is connected any more
    h.begin(s, "again");
    BOOST_TEST(s.turn_running());
}

BOOST_AUTO_TEST_CASE(a_cancellation_is_carried_out_on_the_executor_of_the_session)
{
    host h;
    std::optional<reply<pre_turn>> owed;
    std::optional<std::thread::id> told_on;
    h.hooks.on<pre_turn>(
        [&](const pre_turn&, reply<pre_turn> answer) {
            answer.get_cancellation_slot().assign(
                [&](boost::asio::cancellation_type) { told_on = std::this_thread::get_id(); });
            owed.emplace(std::move(answer));
        },
        "slow");
    auto s = h.open();

    // The completion handler lives on a thread of its own, where it is cancelled.
    boost::asio::io_context elsewhere;
    boost::asio::cancellation_signal stop;
    std::optional<error_code> seen;
    std::optional<std::thread::id> seen_on;
    std::thread::id other_id;
    s.async_begin_turn(
        "go", some_settings,
        boost::asio::bind_executor(
            elsewhere.get_executor(),
            boost::asio::bind_cancellation_slot(stop.slot(), [&](error_code ec, pre_turn::outcome) {
                seen = ec;
                seen_on = std::this_thread::get_id();
            })));
    h.drain();
    BOOST_REQUIRE(owed.has_value());
    std::thread other([&] {
        other_id = std::this_thread::get_id();
        stop.emit(boost::asio::cancellation_type::total);
    });
    other.join();
    BOOST_TEST(s.turn_running());  // nothing happens on the emitter's thread
    BOOST_TEST(!told_on.has_value());
    h.drain();
    BOOST_TEST(!s.turn_running());
    BOOST_TEST((told_on == std::this_thread::get_id()));
    BOOST_TEST(!seen.has_value());
    std::thread last([&] { elsewhere.run(); });
    const auto last_id = last.get_id();
    last.join();
    BOOST_TEST((seen == error_code(errc::cancelled)));
    BOOST_TEST((seen_on == last_id));
    stop.emit(boost::asio::cancellation_type::total);  // nothing is connected any more
}

BOOST_AUTO_TEST_CASE(an_operation_may_be_cancelled_before_it_has_begun)
{
    host h;
    recorder<turn_finished> finished(h.hooks);
    slow_hooks<pre_turn> slow;
    slow.add(h.hooks, "slow");
    auto s = h.open();
    boost::asio::cancellation_signal stop;
    std::optional<error_code> seen;
    std::thread other([&] {
        s.async_begin_turn("go", some_settings,
                           boost::asio::bind_cancellation_slot(
                               stop.slot(), [&](error_code ec, pre_turn::outcome) { seen = ec; }));
        stop.emit(boost::asio::cancellation_type::total);
    });
    other.join();
    h.drain();
    BOOST_TEST((seen == error_code(errc::cancelled)));
    BOOST_TEST(!s.turn_running());
    BOOST_TEST(finished.events.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_hook_may_cancel_the_turn_that_asks_it)
{
    host h;
    auto s = h.open();
    h.hooks.on<pre_turn>([&](const pre_turn&) { s.cancel_turn(); }, "impatient");
    auto [ec, said] = h.finish(s.async_begin_turn("go", some_settings));
    BOOST_TEST((ec == errc::cancelled));
    BOOST_TEST(!s.turn_running());
}

BOOST_AUTO_TEST_CASE(a_tool_that_hears_of_a_cancellation_may_close_the_session)
{
    host h;
    watcher all(h.hooks);
    auto s = h.open_in_turn();
    std::optional<tool_reply> owed;
    auto with = obliging();
    with.run = [&](const tool_call&, tool_reply answer) {
        answer.get_cancellation_slot().assign([&](boost::asio::cancellation_type) {
            BOOST_TEST(s.close(session_end::cause::closed));
        });
        owed.emplace(std::move(answer));
    };
    auto running = h.start(s.async_run_tools({.calls = {{"c1", "bash", {}}}}, with));
    BOOST_REQUIRE(owed.has_value());
    all.seen.clear();
    BOOST_TEST(s.cancel_turn());
    h.drain();
    BOOST_TEST((std::get<0>(running.get()) == errc::cancelled));
    BOOST_TEST(all.seen == (names{"turn_finished", "session_end"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_event_loop_may_go_while_a_hook_is_pending)
{
    std::optional<reply<pre_turn>> owed;
    std::future<std::tuple<error_code, pre_turn::outcome>> beginning;
    {
        host h;
        h.hooks.on<pre_turn>(
            [&](const pre_turn&, reply<pre_turn> answer) { owed.emplace(std::move(answer)); },
            "slow");
        auto s = h.open();
        beginning = h.start(s.async_begin_turn("go", some_settings));
    }
    (*owed)();
    BOOST_CHECK_THROW(beginning.get(), std::future_error);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(compaction)

BOOST_AUTO_TEST_CASE(it_does_not_wait_for_pre_compact_and_runs_session_start_again)
{
    host h;
    std::optional<reply<pre_compact>> never;
    std::vector<pre_compact> begun;
    h.hooks.on<pre_compact>(
        [&](const pre_compact& event, reply<pre_compact> answer) {
            begun.push_back(event);
            never.emplace(std::move(answer));
        },
        "slow");
    auto s = h.open_in_turn();
    recorder<session_start> starts(h.hooks);
    BOOST_TEST(!s.begin_compaction(pre_compact::cause::automatic, 90000, 200000));
    BOOST_TEST(begun.empty());  // not in the caller's stack
    auto [ec, started] = h.finish(s.async_finish_compaction());
    BOOST_TEST(!ec);
    BOOST_REQUIRE(begun.size() == 1u);
    BOOST_TEST(begun[0].session_id == "s-1");
    BOOST_TEST((begun[0].reason == pre_compact::cause::automatic));
    BOOST_TEST(begun[0].tokens == 90000u);
    BOOST_TEST((begun[0].capacity == 200000u));
    BOOST_REQUIRE(starts.events.size() == 1u);
    BOOST_TEST((starts.events[0].reason == session_start::cause::compacted));
    BOOST_TEST(s.turn_running());
}

BOOST_AUTO_TEST_CASE(the_conversation_goes_on_only_after_the_session_start_hooks)
{
    host h;
    auto s = h.open();
    slow_hooks<session_start> slow;
    slow.add(h.hooks, "slow");
    BOOST_TEST(!s.begin_compaction(pre_compact::cause::manual, 1, {}));
    BOOST_TEST(
        (std::get<0>(h.finish(s.async_begin_turn("x", some_settings))) == errc::in_progress));
    BOOST_TEST((s.begin_compaction(pre_compact::cause::manual, 1, {}) == errc::in_progress));
    auto finishing = h.start(s.async_finish_compaction());
    BOOST_TEST(
        (std::get<0>(h.finish(s.async_begin_turn("x", some_settings))) == errc::in_progress));
    slow.owed.back()(session_start::mutate{"remember"});
    h.drain();
    BOOST_TEST(std::get<1>(finishing.get()).message() == "## Session start hook 1\n\nremember");
    BOOST_TEST(!std::get<0>(h.finish(s.async_begin_turn("x", some_settings))));
}

BOOST_AUTO_TEST_CASE(one_that_fails_runs_no_session_start_hook)
{
    host h;
    watcher all(h.hooks);
    auto s = h.open();
    all.seen.clear();
    // One that does not even start is not announced; this one has started.
    BOOST_TEST(!s.begin_compaction(pre_compact::cause::manual, 1, {}));
    BOOST_TEST(!s.fail_compaction());
    h.drain();
    BOOST_TEST(all.seen == names{"pre_compact"}, boost::test_tools::per_element());
    BOOST_TEST((s.fail_compaction() == errc::not_begun));
    BOOST_TEST((std::get<0>(h.finish(s.async_finish_compaction())) == errc::not_begun));
    BOOST_TEST(!std::get<0>(h.finish(s.async_begin_turn("x", some_settings))));
}

BOOST_AUTO_TEST_CASE(a_cancelled_end_may_be_repeated_and_nothing_goes_on_without_its_hooks)
{
    for (const bool by_the_turn : {true, false}) {
        host h;
        std::vector<reply<session_start>> owed;
        auto s = h.open_in_turn();
        recorder<turn_finished> finished(h.hooks);
        h.hooks.on<session_start>(
            [&](const session_start&, reply<session_start> answer) {
                owed.push_back(std::move(answer));
            },
            "slow");
        BOOST_TEST(!s.begin_compaction(pre_compact::cause::automatic, 1, {}));
        boost::asio::cancellation_signal stop;
        std::optional<error_code> seen;
        s.async_finish_compaction(boost::asio::bind_cancellation_slot(
            stop.slot(), [&](error_code ec, session_start::outcome) { seen = ec; }));
        h.drain();
        BOOST_TEST(!seen.has_value());
        if (by_the_turn) {
            BOOST_TEST(s.cancel_turn());
        } else {
            stop.emit(boost::asio::cancellation_type::terminal);
        }
        h.drain();
        BOOST_TEST((seen == error_code(errc::cancelled)));
        BOOST_TEST(s.turn_running() == !by_the_turn);
        BOOST_TEST(finished.events.size() == (by_the_turn ? 1u : 0u));
        BOOST_TEST(
            (std::get<0>(h.finish(s.async_begin_turn("x", some_settings))) == errc::in_progress));
        BOOST_TEST((std::get<0>(h.finish(s.async_run_tools({}, obliging()))) == errc::in_progress));

        auto again = h.start(s.async_finish_compaction());
        BOOST_REQUIRE(owed.size() == 2u);
        owed[0](session_start::mutate{"too late"});
        h.drain();
        BOOST_TEST(!host::is_done(again));
        owed[1](session_start::mutate{"remember"});
        h.drain();
        BOOST_REQUIRE(host::is_done(again));
        BOOST_TEST(std::get<1>(again.get()).message() == "## Session start hook 1\n\nremember");
        if (by_the_turn) h.begin(s, "x");
        BOOST_TEST(!std::get<0>(h.finish(s.async_run_tools({}, obliging()))));
    }
}

BOOST_AUTO_TEST_CASE(a_turn_that_is_cancelled_leaves_the_compaction_to_the_host)
{
    host h;
    auto s = h.open_in_turn();
    BOOST_TEST(!s.begin_compaction(pre_compact::cause::automatic, 1, {}));
    BOOST_TEST(s.cancel_turn());
    BOOST_TEST(
        (std::get<0>(h.finish(s.async_begin_turn("x", some_settings))) == errc::in_progress));
    BOOST_TEST(!s.fail_compaction());
    BOOST_TEST(!std::get<0>(h.finish(s.async_begin_turn("x", some_settings))));
}

BOOST_AUTO_TEST_CASE(a_failed_observer_is_logged)
{
    host h;
    h.use(R"([{"phase":"pre_compact","argv":["saver"]}])");
    h.programs.exits["saver"] = 4;
    auto s = h.open();
    BOOST_TEST(!s.begin_compaction(pre_compact::cause::manual, 1, {}));
    h.drain();
    const auto records = h.log.of("pre_compact_hook_failed");
    BOOST_REQUIRE(records.size() == 1u);
    BOOST_TEST(kept_log::text(records[0], "level") == "warn");
    BOOST_TEST(kept_log::text(records[0], "command") == "saver");
    BOOST_TEST(kept_log::text(records[0], "error") == "Command hook exited with status 4");
}

BOOST_AUTO_TEST_SUITE_END()

// Hooks whose answers cannot be combined.
BOOST_AUTO_TEST_SUITE(errors)

namespace {

// Its hooks keep their replies, and the clock is broken when asked to be.
struct broken_host : host {
    broken_host()
    {
        keep<session_start>();
        keep<pre_turn>();
        keep<turn_ending>();
        registry.on<turn_finished>([this](const turn_finished& e) { finished.push_back(e); }, "x");
    }

    template <class E>
    void keep()
    {
        registry.on<E>(
            [this](const E&, reply<E> answer) {
                if (!breaks) return answer();
                std::get<std::vector<reply<E>>>(owed).push_back(std::move(answer));
                clock.broken = true;
            },
            "slow");
    }

    belay::test::unreliable_clock clock;
    bool breaks = false;
    std::tuple<std::vector<reply<session_start>>, std::vector<reply<pre_turn>>,
               std::vector<reply<turn_ending>>>
        owed;
    std::vector<turn_finished> finished;
    belay::hooks::registry registry{io.get_executor(), [this] {
                                        auto made = options();
                                        made.time = &clock;
                                        return made;
                                    }()};

    template <class Op>
    auto fail(Op op)
    {
        breaks = true;
        auto [ec, said] = finish(std::move(op));
        BOOST_TEST((ec == errc::threw));
        breaks = clock.broken = false;
        return said;
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_start_that_failed_may_be_repeated)
{
    broken_host h;
    auto s = h.registry.create_session({.id = "s-1"}).value();
    h.fail(s.async_start(session_start::cause::start));
    BOOST_TEST((std::get<0>(h.finish(s.async_begin_turn("x", some_settings))) == errc::not_begun));
    BOOST_TEST(!std::get<0>(h.finish(s.async_start(session_start::cause::start))));
    h.begin(s, "go");
    BOOST_TEST(s.turn_running());
}

BOOST_AUTO_TEST_CASE(an_operation_of_a_turn_that_failed_ends_the_turn)
{
    broken_host h;
    auto s = h.registry.create_session({.id = "s-1"}).value();
    h.finish(s.async_start(session_start::cause::start));
    const auto turn_is_over = [&](std::size_t count) {
        BOOST_TEST(!s.turn_running());
        BOOST_REQUIRE(h.finished.size() == count);
        BOOST_TEST((h.finished.back().outcome == turn_finished::result::error));
    };
    BOOST_TEST(h.fail(s.async_begin_turn("go", some_settings)).blocked.has_value());
    turn_is_over(1);
    h.begin(s, "again");
    BOOST_TEST(h.fail(s.async_add_prompt("more", arrival::queued)).blocked.has_value());
    turn_is_over(2);
    h.begin(s, "again");
    BOOST_TEST(!h.fail(s.async_end_turn(final_reply("done"))).continuation);
    turn_is_over(3);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_compaction_that_failed_may_be_repeated)
{
    broken_host h;
    auto s = h.registry.create_session({.id = "s-1"}).value();
    h.finish(s.async_start(session_start::cause::start));
    h.begin(s, "go");
    BOOST_TEST(!s.begin_compaction(pre_compact::cause::automatic, 1, {}));
    h.fail(s.async_finish_compaction());
    BOOST_TEST((std::get<0>(h.finish(s.async_end_turn({}))) == errc::in_progress));
    BOOST_TEST(!std::get<0>(h.finish(s.async_finish_compaction())));
    BOOST_TEST(s.turn_running());
    BOOST_TEST(!std::get<0>(h.finish(s.async_end_turn({}))));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(closing_and_subagents)

BOOST_AUTO_TEST_CASE(session_end_fires_once_the_root_first_then_its_subagents)
{
    host h;
    recorder<session_end> ends(h.hooks);
    auto root = h.open();
    h.begin(root, "go");
    auto child = root.create_subagent({.id = "s-2"}).value();
    auto grandchild = child.create_subagent({.id = "s-3", .workspace = "/elsewhere"}).value();
    auto gone = root.create_subagent({.id = "s-4"}).value();
    BOOST_TEST(gone.close(session_end::cause::idle));
    h.drain();
    ends.events.clear();

    BOOST_TEST(root.close(session_end::cause::shutdown));
    BOOST_TEST(ends.events.empty());  // not in the caller's stack
    BOOST_TEST(!root.close(session_end::cause::closed));
    BOOST_TEST(!child.close(session_end::cause::closed));
    h.drain();
    BOOST_REQUIRE(ends.events.size() == 3u);
    BOOST_TEST(ends.events[0].session_id == "s-1");
    BOOST_TEST(ends.events[0].turns == 1u);
    BOOST_TEST(!ends.events[0].spawned);
    BOOST_TEST(ends.events[1].session_id == "s-2");
    BOOST_TEST(ends.events[1].workspace == "/nest");
    BOOST_TEST(ends.events[1].spawned);
    BOOST_TEST(ends.events[2].session_id == "s-3");
    BOOST_TEST(ends.events[2].workspace == "/elsewhere");
    BOOST_TEST(ends.events[2].spawned);
    for (const auto& one : ends.events) {
        BOOST_TEST((one.reason == session_end::cause::shutdown));
    }
    BOOST_TEST((std::get<0>(h.finish(root.async_begin_turn("x", some_settings))) == errc::closed));
    BOOST_TEST(
        (std::get<0>(h.finish(child.async_start(session_start::cause::start))) == errc::closed));
    BOOST_TEST((root.create_subagent({}).error() == errc::closed));
}

BOOST_AUTO_TEST_CASE(closing_ends_the_running_turn_first)
{
    host h;
    watcher all(h.hooks);
    auto s = h.open_in_turn();
    all.seen.clear();
    s.close(session_end::cause::closed);
    h.drain();
    BOOST_TEST(all.seen == (names{"turn_finished", "session_end"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_session_that_is_destroyed_unclosed_has_crashed)
{
    host h;
    watcher all(h.hooks);
    {
        auto s = h.open_in_turn();
        all.seen.clear();
    }
    h.drain();
    BOOST_TEST(all.seen.empty());
}

BOOST_AUTO_TEST_CASE(a_subagent_runs_the_hooks_of_its_starter_and_is_spawned)
{
    host h;
    h.use(R"([{"phase":"pre_turn","argv":["old"]}])");
    auto parent = h.open();
    h.use(R"([{"phase":"pre_turn","argv":["new"]}])");
    for (const bool background : {false, true}) {
        h.programs.runs.clear();
        auto child = parent.create_subagent({.id = "s-2", .background = background}).value();
        h.finish(child.async_start(session_start::cause::start));
        h.begin(child, "dig");
        BOOST_TEST(h.programs.names() == names{"old"}, boost::test_tools::per_element());
        BOOST_TEST((h.programs.runs[0].input.at("spawned") == true));
        BOOST_TEST(child.spawned());
    }
}

BOOST_AUTO_TEST_CASE(every_event_of_a_subagent_that_can_say_so_says_that_it_is_spawned)
{
    host h;
    std::vector<std::pair<std::string, bool>> seen;
    const auto watch = [&]<class E>(std::type_identity<E>) {
        h.hooks.on<E>([&](const E& event) { seen.emplace_back(E::event_name, event.spawned); },
                      "x");
    };
    auto parent = h.open();
    watch(std::type_identity<pre_turn>());
    watch(std::type_identity<turn_ending>());
    watch(std::type_identity<turn_finished>());
    watch(std::type_identity<pre_compact>());
    watch(std::type_identity<session_end>());
    auto child = parent.create_subagent({.id = "s-2"}).value();
    h.finish(child.async_start(session_start::cause::start));
    for (auto* one : {&parent, &child}) {
        seen.clear();
        h.begin(*one, "go");
        h.finish(one->async_end_turn({.text = "done"}));
        BOOST_TEST(!one->begin_compaction(pre_compact::cause::manual, 1, {}));
        BOOST_TEST(!one->fail_compaction());
        h.drain();
        if (one == &child) child.close(session_end::cause::closed);
        h.drain();
        names events;
        for (const auto& [name, spawned] : seen) {
            events.push_back(name);
            BOOST_TEST(spawned == (one == &child), name);
        }
        names expected{"pre_turn", "turn_ending", "turn_finished", "pre_compact"};
        if (one == &child) expected.emplace_back("session_end");
        BOOST_TEST(events == expected, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_bare_session_and_its_subagents_run_no_hook_of_any_phase)
{
    host h;
    h.use(R"([{"phase":"pre_turn","argv":["a"]},{"phase":"session_end","argv":["b"]}])");
    watcher all(h.hooks);
    auto bare = h.open({.id = "s-1", .bare = true});
    h.hooks.on<pre_turn>([](const pre_turn&) { return block{"later"}; }, "later");
    const auto live = [&](session& s) {
        BOOST_TEST(!h.begin(s, "go").blocked);
        auto [ec, records] =
            h.finish(s.async_run_tools({.calls = {{"c1", "bash", {}}}}, obliging()));
        BOOST_TEST((records.at(0).fate == call_fate::ran));
        BOOST_TEST(!s.begin_compaction(pre_compact::cause::manual, 1, {}));
        h.finish(s.async_finish_compaction());
        BOOST_TEST(!std::get<1>(h.finish(s.async_end_turn(final_reply("done")))).continuation);
    };
    live(bare);
    auto child = bare.create_subagent({.id = "s-2"}).value();
    BOOST_TEST(child.bare());
    h.finish(child.async_start(session_start::cause::start));
    live(child);
    BOOST_TEST(!child.hand_back(subagent_finished::result::completed, "done"));
    bare.close(session_end::cause::closed);
    h.drain();
    BOOST_TEST(all.seen.empty());
    BOOST_TEST(h.programs.runs.empty());
}

BOOST_AUTO_TEST_CASE(a_subagent_hands_back_its_result_and_in_the_background_again)
{
    host h;
    recorder<subagent_finished> finished(h.hooks);
    auto parent = h.open();
    auto child = parent.create_subagent({.id = "s-2", .background = true}).value();
    h.finish(child.async_start(session_start::cause::start));
    h.begin(child, "dig");
    BOOST_TEST((child.hand_back(subagent_finished::result::completed, "x") == errc::in_progress));
    h.finish(child.async_end_turn(final_reply("found it")));
    BOOST_TEST(!child.hand_back(subagent_finished::result::completed, "found it"));
    BOOST_TEST(finished.events.empty());  // not in the caller's stack
    h.begin(child, "dig more");
    h.finish(child.async_end_turn({.stop = stop_reason::error}));
    BOOST_TEST(!child.hand_back(subagent_finished::result::error, "no luck"));
    h.drain();
    BOOST_REQUIRE(finished.events.size() == 2u);
    BOOST_TEST(finished.events[0].parent_session_id == "s-1");
    BOOST_TEST(finished.events[0].subagent_id == "s-2");
    BOOST_TEST(finished.events[0].workspace == "/nest");
    BOOST_TEST(finished.events[0].background);
    BOOST_TEST(finished.events[0].text == "found it");
    BOOST_TEST((finished.events[1].outcome == subagent_finished::result::error));
}

BOOST_AUTO_TEST_CASE(a_subagent_that_was_stopped_or_closed_hands_back_nothing)
{
    host h;
    recorder<subagent_finished> finished(h.hooks);
    auto parent = h.open();
    auto child = parent.create_subagent({.id = "s-2"}).value();
    h.finish(child.async_start(session_start::cause::start));
    h.begin(child, "dig");
    child.cancel_turn();
    BOOST_TEST((child.hand_back(subagent_finished::result::error, "") == errc::cancelled));
    h.begin(child, "dig again");
    h.finish(child.async_end_turn(final_reply("found")));
    parent.close(session_end::cause::closed);
    BOOST_TEST((child.hand_back(subagent_finished::result::completed, "found") == errc::closed));
    BOOST_TEST((parent.hand_back(subagent_finished::result::completed, "") == errc::not_begun));
    h.drain();
    BOOST_TEST(finished.events.empty());
}

BOOST_AUTO_TEST_CASE(a_subagent_that_was_given_up_before_its_first_turn_hands_back_nothing)
{
    host h;
    recorder<subagent_finished> finished(h.hooks);
    auto parent = h.open();
    auto child = parent.create_subagent({.id = "s-2"}).value();
    BOOST_TEST((child.hand_back(subagent_finished::result::error, "") == errc::not_begun));
    h.finish(child.async_start(session_start::cause::start));
    BOOST_TEST((child.hand_back(subagent_finished::result::error, "") == errc::not_begun));
    h.drain();
    BOOST_TEST(finished.events.empty());
}

BOOST_AUTO_TEST_CASE(a_result_is_handed_back_once_in_the_background_or_not)
{
    for (const bool background : {false, true}) {
        host h;
        recorder<subagent_finished> finished(h.hooks);
        auto parent = h.open();
        auto child = parent.create_subagent({.id = "s-2", .background = background}).value();
        h.finish(child.async_start(session_start::cause::start));
        h.begin(child, "dig");
        h.finish(child.async_end_turn(final_reply("found it")));
        BOOST_TEST(!child.hand_back(subagent_finished::result::completed, "found it"));
        BOOST_TEST(
            (child.hand_back(subagent_finished::result::completed, "again") == errc::not_begun));
        h.drain();
        BOOST_REQUIRE(finished.events.size() == 1u);
        BOOST_TEST(finished.events[0].background == background);
        h.begin(child, "dig more");
        h.finish(child.async_end_turn(final_reply("found more")));
        BOOST_TEST(!child.hand_back(subagent_finished::result::completed, "found more"));
        h.drain();
        BOOST_TEST(finished.events.size() == 2u);
    }
}

BOOST_AUTO_TEST_CASE(a_refusal_uses_up_no_turn_and_a_blocked_prompt_was_one)
{
    host h;
    recorder<subagent_finished> finished(h.hooks);
    auto parent = h.open();
    auto child = parent.create_subagent({.id = "s-2"}).value();
    h.finish(child.async_start(session_start::cause::start));
    h.begin(child, "dig");
    BOOST_TEST((child.hand_back(subagent_finished::result::completed, "") == errc::in_progress));
    const auto id = h.hooks.on<pre_turn>([](const pre_turn&) { return block{"no"}; }, "gate");
    h.finish(child.async_end_turn(final_reply("found it")));
    BOOST_TEST(!child.hand_back(subagent_finished::result::completed, "found it"));
    BOOST_TEST(h.begin(child, "dig more").blocked.has_value());  // that turn has ended, as an error
    BOOST_TEST(!child.hand_back(subagent_finished::result::error, "blocked"));
    BOOST_TEST(h.hooks.remove(id));
    h.drain();
    BOOST_TEST(finished.events.size() == 2u);
}

BOOST_AUTO_TEST_CASE(subagents_that_crashed_with_their_starter_tell_nobody)
{
    host h;
    watcher all(h.hooks);
    {
        auto parent = h.open_in_turn();
        auto child = parent.create_subagent({.id = "s-2"}).value();
        h.finish(child.async_start(session_start::cause::start));
        h.begin(child, "dig");
        all.seen.clear();
    }
    h.drain();
    BOOST_TEST(all.seen.empty());
}

BOOST_AUTO_TEST_CASE(a_subagent_outlives_a_starter_that_crashed)
{
    host h;
    recorder<session_end> ends(h.hooks);
    recorder<subagent_finished> finished(h.hooks);
    session child;
    {
        auto parent = h.open();
        child = parent.create_subagent({.id = "s-2"}).value();
    }
    h.finish(child.async_start(session_start::cause::start));
    h.begin(child, "dig");
    h.finish(child.async_end_turn(final_reply("found it")));
    BOOST_TEST(!child.hand_back(subagent_finished::result::completed, "found it"));
    BOOST_TEST(child.close(session_end::cause::idle));
    h.drain();
    BOOST_TEST(finished.events.size() == 1u);
    BOOST_REQUIRE(ends.events.size() == 1u);
    BOOST_TEST(ends.events[0].session_id == "s-2");
    BOOST_TEST(ends.events[0].spawned);
}

BOOST_AUTO_TEST_CASE(closing_ends_the_turns_of_subagents_which_hand_nothing_back)
{
    host h;
    std::vector<std::string> told;
    h.hooks.on<turn_finished>(
        [&](const turn_finished& turn) {
            told.push_back("turn of " + turn.session_id +
                           (turn.outcome == turn_finished::result::aborted ? " aborted" : ""));
        },
        "x");
    h.hooks.on<session_end>(
        [&](const session_end& end) {
            told.push_back("end of " + end.session_id + (end.spawned ? " spawned" : ""));
        },
        "x");
    h.hooks.on<subagent_finished>([&](const subagent_finished&) { told.push_back("result"); }, "x");
    auto parent = h.open_in_turn();
    auto child = parent.create_subagent({.id = "s-2"}).value();
    h.finish(child.async_start(session_start::cause::start));
    h.begin(child, "dig");
    parent.close(session_end::cause::deleted);
    h.drain();
    BOOST_TEST(told == (names{"turn of s-1 aborted", "end of s-1", "turn of s-2 aborted",
                              "end of s-2 spawned"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(closing_cancels_what_is_running)
{
    host h;
    slow_hooks<session_start> slow;
    slow.add(h.hooks, "slow");
    auto s = h.hooks.create_session({.id = "s-1"}).value();
    auto starting = h.start(s.async_start(session_start::cause::start));
    s.close(session_end::cause::closed);
    h.drain();
    BOOST_TEST((std::get<0>(starting.get()) == errc::cancelled));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(log_that_comes_back)

struct impatient_log final : log_sink {
    void on_record(const boost::json::object&) noexcept override
    {
        ++records;
        if (session) session->cancel_turn();
    }
    belay::hooks::session* session = nullptr;
    int records = 0;
};

struct impatient_host : host {
    impatient_host()
    {
        auto with = options();
        with.log = &impatient;
        hooks = belay::hooks::registry(io.get_executor(), with);
        hooks.on<turn_finished>(
            [this](const turn_finished& turn) { outcomes.push_back(turn.outcome); }, "ledger");
        programs.exits["broken"] = 1;
    }

    impatient_log impatient;
    std::vector<turn_finished::result> outcomes;
};

BOOST_AUTO_TEST_CASE(a_log_may_stop_the_turn_that_a_hook_has_blocked_or_let_pass)
{
    impatient_host h;
    h.use(R"([{"phase":"pre_turn","argv":["broken"]}])");
    auto s = h.open();
    h.impatient.session = &s;
    BOOST_TEST(h.begin(s, "go").blocked.has_value());
    BOOST_TEST(h.impatient.records == 1);
    BOOST_TEST(!s.turn_running());
    h.drain();
    BOOST_REQUIRE(h.outcomes.size() == 1u);
    BOOST_TEST((h.outcomes[0] == turn_finished::result::error));

    h.use("[]");
    h.hooks.on<pre_turn>([](const pre_turn&) { throw std::runtime_error("no"); }, "x");
    auto next = h.open({.id = "s-2"});
    h.impatient.session = &next;
    BOOST_TEST(!h.begin(next, "go").blocked.has_value());
    BOOST_TEST(h.impatient.records == 2);
    BOOST_TEST(!next.turn_running());
    h.drain();
    BOOST_REQUIRE(h.outcomes.size() == 2u);
    BOOST_TEST((h.outcomes[1] == turn_finished::result::aborted));
}

BOOST_AUTO_TEST_CASE(a_log_may_stop_the_turn_that_is_ending)
{
    impatient_host h;
    h.use(R"([{"phase":"turn_ending","argv":["broken"]}])");
    auto s = h.open_in_turn();
    h.impatient.session = &s;
    model_reply reply{.text = "done"};
    auto [ec, said] = h.finish(s.async_end_turn(reply));
    BOOST_TEST(!ec);
    BOOST_TEST(said.failed.has_value());
    BOOST_TEST(h.impatient.records == 1);
    h.drain();
    BOOST_REQUIRE(h.outcomes.size() == 1u);
    BOOST_TEST((h.outcomes[0] == turn_finished::result::completed));
}

BOOST_AUTO_TEST_SUITE_END()
