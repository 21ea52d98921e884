#include <belay/core/reply.hpp>
#include <belay/hooks/coroutine.hpp>
#include <belay/hooks/registry.hpp>
#include <belay/hooks/session.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace belay;
using namespace belay::hooks;
using namespace std::chrono_literals;
using belay::test::host;
using belay::test::kept_log;

namespace {

using names = std::vector<std::string>;

// Notes that a function was called, and for which session.
struct calls {
    names all;

    any_handler<pre_turn> prepare(std::string as)
    {
        return [this, as](const pre_turn& turn) { all.push_back(as + " " + turn.session_id); };
    }
    any_handler<turn_ending> end(std::string as)
    {
        return [this, as](const turn_ending& turn) { all.push_back(as + " " + turn.session_id); };
    }
};

}  // namespace

// session_options::prepare_turn and before_turn_ends.
BOOST_AUTO_TEST_SUITE(conversation_functions)

BOOST_AUTO_TEST_CASE(they_run_after_the_hooks_of_the_configuration_and_of_extensions)
{
    host h;
    calls seen;
    h.use(R"([{"phase":"pre_turn","argv":["p"]},{"phase":"turn_ending","argv":["e"]}])");
    h.hooks.on<pre_turn>(seen.prepare("x"), "x");
    h.hooks.on<turn_ending>(seen.end("y"), "y");
    const auto own = [&](const auto&) {
        seen.all.push_back("own after " + std::to_string(h.programs.runs.size()));
    };
    auto s = h.open({.id = "s-1", .prepare_turn = own, .before_turn_ends = own});
    h.hooks.on<pre_turn>(seen.prepare("later"), "z");
    h.begin(s, "go");
    h.finish(s.async_end_turn({.text = "done"}));
    BOOST_TEST(seen.all == (names{"x s-1", "own after 1", "later s-1", "y s-1", "own after 2"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_they_say_counts_as_what_hooks_say)
{
    host h;
    auto s = h.open({.id = "s-1",
                     .prepare_turn =
                         [](const pre_turn& turn) {
                             return pre_turn::mutate{.context = "re: " + turn.prompt,
                                                     .tools = names{"read"},
                                                     .model = "model-b"};
                         },
                     .before_turn_ends =
                         [](const turn_ending& turn) -> std::optional<turn_ending::continue_turn> {
                         if (turn.continuations != 0) return std::nullopt;
                         return turn_ending::continue_turn{.context = "draw a map"};
                     }});
    const auto begun = h.begin(s, "where?");
    BOOST_REQUIRE(begun.contexts.size() == 1u);
    BOOST_TEST(begun.contexts[0].context == "re: where?");
    BOOST_TEST(begun.contexts[0].source == "prepare_turn");
    BOOST_TEST(s.settings().model == "model-b");
    BOOST_TEST(s.settings().tools == names{"read"}, boost::test_tools::per_element());
    auto [ec, ending] = h.finish(s.async_end_turn({.text = "done"}));
    BOOST_REQUIRE(ending.continuation.has_value());
    BOOST_TEST(ending.continuation->context == "draw a map");
    BOOST_TEST(ending.continuation->source == "before_turn_ends");
    BOOST_TEST(!std::get<1>(h.finish(s.async_end_turn({.text = "done"}))).continuation);
}

BOOST_AUTO_TEST_CASE(prepare_turn_blocks_the_turn_by_an_exception)
{
    host h;
    h.hooks.on<pre_turn>([](const pre_turn&) { return pre_turn::mutate{.context = "gone"}; }, "x");
    auto s = h.open(
        {.id = "s-1", .prepare_turn = [](const pre_turn&) { throw std::runtime_error("no map"); }});
    const auto said = h.begin(s, "go");
    BOOST_TEST(said.blocked.has_value());
    BOOST_TEST(said.blocked_text() == "pre_turn hook failed: no map");
    BOOST_TEST(said.contexts.empty());
    BOOST_TEST(!s.turn_running());
    BOOST_REQUIRE(said.failed.has_value());
    BOOST_TEST((said.failed->handler.from == origin::conversation));

    const auto records = h.log.of("pre_turn_hook_failed");
    BOOST_REQUIRE(records.size() == 1u);
    BOOST_TEST(kept_log::text(records[0], "function") == "prepare_turn");
    BOOST_TEST(!records[0].contains("command"));
    BOOST_TEST(!records[0].contains("extension"));
    BOOST_TEST(kept_log::text(records[0], "sessionId") == "s-1");
    BOOST_TEST(kept_log::text(records[0], "error") == "no map");
    BOOST_TEST(kept_log::text(records[0], "consequence") == "blocked");
    BOOST_TEST((records[0].at("index") == 2));
}

BOOST_AUTO_TEST_CASE(before_turn_ends_keeps_the_reply_when_it_throws)
{
    host h;
    std::vector<turn_finished> finished;
    h.hooks.on<turn_finished>([&](const turn_finished& turn) { finished.push_back(turn); }, "x");
    auto s = h.open({.id = "s-1", .before_turn_ends = [](const turn_ending&) {
                         throw std::runtime_error("no map");
                     }});
    h.begin(s, "go");
    auto [ec, said] = h.finish(s.async_end_turn({.text = "done"}));
    BOOST_TEST(!ec);
    BOOST_TEST(!said.continuation);
    BOOST_TEST(!s.turn_running());
    BOOST_REQUIRE(finished.size() == 1u);
    BOOST_TEST((finished[0].outcome == turn_finished::result::completed));
    BOOST_TEST(finished[0].reply == "done");
    const auto records = h.log.of("turn_ending_hook_failed");
    BOOST_REQUIRE(records.size() == 1u);
    BOOST_TEST(kept_log::text(records[0], "function") == "before_turn_ends");
    BOOST_TEST(kept_log::text(records[0], "consequence") == "turn_ended");
}

BOOST_AUTO_TEST_CASE(they_may_answer_later_within_the_deadline_of_the_phase)
{
    host h;
    std::optional<reply<pre_turn>> owed;
    auto s = h.open(
        {.id = "s-1",
         .prepare_turn = [&](const pre_turn&,
                             reply<pre_turn> answer) { owed.emplace(std::move(answer)); },
         .before_turn_ends = [](const turn_ending&) -> boost::asio::awaitable<turn_ending::answer> {
             turn_ending::continue_turn said{.context = "again"};
             co_return said;
         }});
    auto beginning = h.start(s.async_begin_turn("go", {}));
    BOOST_TEST(!host::is_done(beginning));
    (*owed)(pre_turn::mutate{.context = "third palm"});
    h.drain();
    BOOST_TEST(std::get<1>(beginning.get()).contexts.size() == 1u);
    BOOST_TEST(std::get<1>(h.finish(s.async_end_turn({.text = "done"}))).continuation.has_value());
    BOOST_TEST(!std::get<1>(h.finish(s.async_end_turn({.text = "done"}))).continuation);

    auto late = h.start(s.async_begin_turn("go", {}));
    h.pass(60s);
    BOOST_REQUIRE(host::is_done(late));
    BOOST_TEST(std::get<1>(late.get()).blocked_text() ==
               "pre_turn hook failed: pre_turn hooks timed out after 60000ms");
}

BOOST_AUTO_TEST_CASE(no_other_conversation_of_the_configuration_gets_them)
{
    host h;
    calls seen;
    auto before = h.open({.id = "s-1"});
    auto s = h.open({.id = "s-2", .prepare_turn = seen.prepare("own")});
    auto other = h.open({.id = "s-3", .prepare_turn = seen.prepare("other's")});
    auto after = h.open({.id = "s-4"});
    for (auto* one : {&before, &s, &other, &after}) h.begin(*one, "go");
    h.hooks.async_dispatch(pre_turn{.session_id = "none"})([](error_code, pre_turn::outcome) {});
    h.drain();
    BOOST_TEST(seen.all == (names{"own s-2", "other's s-3"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(extensions_come_and_go_and_configurations_change_as_for_all)
{
    host h;
    calls seen;
    h.use(R"([{"phase":"pre_turn","argv":["old"]}])");
    auto s = h.open({.id = "s-1", .prepare_turn = seen.prepare("own")});
    h.use(R"([{"phase":"pre_turn","argv":["new"]}])");
    const auto id = h.hooks.on<pre_turn>(seen.prepare("x"), "x");
    h.begin(s, "one");
    h.finish(s.async_end_turn({.text = "done"}));
    BOOST_TEST(h.hooks.remove(id));
    h.begin(s, "two");
    BOOST_TEST(seen.all == (names{"own s-1", "x s-1", "own s-1"}),
               boost::test_tools::per_element());
    BOOST_TEST(h.programs.names() == (names{"old", "old"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(subagents_run_those_of_their_starter)
{
    host h;
    calls seen;
    auto s =
        h.open({.id = "s-1", .prepare_turn = seen.prepare("p"), .before_turn_ends = seen.end("e")});
    auto child = s.create_subagent({.id = "s-2", .background = true}).value();
    auto grandchild = child.create_subagent({.id = "s-3"}).value();
    for (auto* one : {&child, &grandchild}) {
        h.finish(one->async_start(session_start::cause::start));
        h.begin(*one, "dig");
        h.finish(one->async_end_turn({.text = "done"}));
    }
    BOOST_TEST(seen.all == (names{"p s-2", "e s-2", "p s-3", "e s-3"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_bare_conversation_runs_none)
{
    host h;
    calls seen;
    auto s = h.open({.id = "s-1",
                     .bare = true,
                     .prepare_turn = seen.prepare("p"),
                     .before_turn_ends = seen.end("e")});
    h.begin(s, "go");
    h.finish(s.async_end_turn({.text = "done"}));
    BOOST_TEST(seen.all.empty());
}

BOOST_AUTO_TEST_CASE(they_go_with_their_conversation)
{
    host h;
    const auto owned = std::make_shared<int>();
    {
        auto s = h.open({.id = "s-1", .prepare_turn = [owned](const pre_turn&) {}});
        h.begin(s, "go");
        h.drain();
        BOOST_TEST(owned.use_count() == 2);
    }
    BOOST_TEST(owned.use_count() == 1);
    h.hooks.on<pre_turn>([](const pre_turn&) {}, "x");  // finds no set of a session that is gone
}

BOOST_AUTO_TEST_CASE(an_empty_function_is_none)
{
    host h;
    session_options who{.id = "s-1"};
    who.prepare_turn = std::function<void(const pre_turn&)>();
    void (*nobody)(const turn_ending&) = nullptr;
    who.before_turn_ends = nobody;
    BOOST_TEST(!who.prepare_turn);
    BOOST_TEST(!who.before_turn_ends);
    auto s = h.open(std::move(who));
    BOOST_TEST(!h.begin(s, "go").blocked);
    BOOST_CHECK_THROW(h.hooks.on<pre_turn>(std::function<void(const pre_turn&)>(), "x"),
                      std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
