#include <belay/hooks/detail/session_fsm.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace belay;
using namespace belay::hooks;
using fsm = belay::hooks::detail::session_fsm;
using how = turn_finished::result;

namespace {

// Where a conversation can stand, and how to get there.
enum class place {
    fresh,
    starting,
    idle,
    prompting,
    in_turn,
    with_tools,
    ending,
    compacting,
    restarting,
    compacting_in_turn,
    restarting_in_turn,
};

constexpr place all_places[] = {
    place::fresh,
    place::starting,
    place::idle,
    place::prompting,
    place::in_turn,
    place::with_tools,
    place::ending,
    place::compacting,
    place::restarting,
    place::compacting_in_turn,
    place::restarting_in_turn,
};

// clang-format off
const char* name_of(place where)
{
    switch (where) {
    case place::fresh: return "fresh";
    case place::starting: return "starting";
    case place::idle: return "idle";
    case place::prompting: return "prompting";
    case place::in_turn: return "in_turn";
    case place::with_tools: return "with_tools";
    case place::ending: return "ending";
    case place::compacting: return "compacting";
    case place::restarting: return "restarting";
    case place::compacting_in_turn: return "compacting_in_turn";
    case place::restarting_in_turn: return "restarting_in_turn";
    }
    return "";
}
// clang-format on

const turn_settings some_settings{"model-a", {}, {"bash"}};
const pre_turn::outcome let_pass{.blocked = std::nullopt};

void must(error_code ec)
{
    BOOST_REQUIRE(!ec);
}

fsm at(place where)
{
    fsm made({.id = "s-1", .workspace = "/nest"});
    if (where == place::fresh) return made;
    must(made.begin_start());
    if (where == place::starting) return made;
    made.end_start();
    if (where == place::idle) return made;
    const bool in_turn = where != place::compacting && where != place::restarting;
    if (in_turn) {
        must(made.begin_turn("go", some_settings));
        if (where == place::prompting) return made;
        BOOST_REQUIRE(!made.end_prompt(let_pass));
    }
    if (where == place::with_tools) must(made.begin_tools("let me look"));
    if (where == place::ending) must(made.begin_ending({.text = "done"}));
    if (where == place::compacting || where == place::compacting_in_turn ||
        where == place::restarting || where == place::restarting_in_turn) {
        must(made.begin_compaction());
    }
    if (where == place::restarting || where == place::restarting_in_turn) {
        must(made.end_compaction(true));
    }
    return made;
}

bool has_turn(place where)
{
    return where == place::prompting || where == place::in_turn || where == place::with_tools ||
           where == place::ending || where == place::compacting_in_turn ||
           where == place::restarting_in_turn;
}

bool is_busy(place where)
{
    return where != place::fresh && where != place::idle && where != place::in_turn;
}

struct operation {
    const char* name;
    std::function<error_code(fsm&)> begin;
    std::function<error_code(place)> expected;
};

// What an operation that needs a started conversation is refused with.
error_code not_ready(place where)
{
    if (is_busy(where)) return errc::in_progress;
    return where == place::fresh ? error_code(errc::not_begun) : error_code();
}

error_code not_ready_for_turn(place where)
{
    if (const auto ec = not_ready(where)) return ec;
    return has_turn(where) ? error_code() : error_code(errc::not_begun);
}

error_code not_compacting(place where)
{
    return where == place::compacting || where == place::compacting_in_turn
               ? error_code()
               : error_code(errc::not_begun);
}

const std::vector<operation> operations{
    {"start", [](fsm& s) { return s.begin_start(); },
     [](place p) { return p == place::fresh ? error_code() : error_code(errc::in_progress); }},
    {"turn", [](fsm& s) { return s.begin_turn("x", some_settings); },
     [](place p) { return has_turn(p) ? error_code(errc::in_progress) : not_ready(p); }},
    {"turn without a prompt", [](fsm& s) { return s.begin_turn(std::nullopt, some_settings); },
     [](place p) { return has_turn(p) ? error_code(errc::in_progress) : not_ready(p); }},
    {"prompt", [](fsm& s) { return s.add_prompt("x", arrival::queued); }, not_ready_for_turn},
    {"tools", [](fsm& s) { return s.begin_tools("x"); }, not_ready_for_turn},
    {"ending", [](fsm& s) { return s.begin_ending({.text = "x"}); }, not_ready_for_turn},
    {"compaction", [](fsm& s) { return s.begin_compaction(); }, not_ready},
    {"compacted", [](fsm& s) { return s.end_compaction(true); }, not_compacting},
    {"not compacted", [](fsm& s) { return s.end_compaction(false); }, not_compacting},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(session_fsm)

BOOST_AUTO_TEST_CASE(every_operation_is_taken_or_refused_in_every_state)
{
    for (const auto where : all_places) {
        for (const auto& one : operations) {
            BOOST_TEST_CONTEXT(one.name << " while " << name_of(where))
            {
                auto session = at(where);
                const auto turns = session.turns();
                const auto ec = one.begin(session);
                BOOST_TEST((ec == one.expected(where)), ec.message());
                if (ec) {
                    BOOST_TEST(session.turn_running() == has_turn(where));
                    BOOST_TEST(session.turns() == turns);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_closed_conversation_takes_nothing)
{
    for (const auto where : all_places) {
        for (const auto& one : operations) {
            auto session = at(where);
            BOOST_TEST(session.close());
            session.stop();
            BOOST_TEST((one.begin(session) == errc::closed),
                       one.name << " while " << name_of(where));
            BOOST_TEST((session.may_hand_back() == errc::closed));
            BOOST_TEST(!session.close());
        }
    }
}

BOOST_AUTO_TEST_CASE(an_operation_that_is_given_up_ends_its_turn_and_can_be_repeated)
{
    for (const auto result : {how::aborted, how::error}) {
        for (const auto where : all_places) {
            BOOST_TEST_CONTEXT("while " << name_of(where))
            {
                auto session = at(where);
                const auto ended = session.give_up(result);
                const bool of_turn = where == place::prompting || where == place::with_tools ||
                                     where == place::ending;
                BOOST_TEST(ended.has_value() == of_turn);
                if (ended) BOOST_TEST((ended->outcome == result));
                BOOST_TEST(session.turn_running() == (has_turn(where) && !of_turn));

                if (where == place::fresh || where == place::starting) {
                    BOOST_TEST((session.begin_turn("x", some_settings) == errc::not_begun));
                    BOOST_TEST(!session.begin_start());
                } else if (where == place::compacting || where == place::restarting ||
                           where == place::compacting_in_turn ||
                           where == place::restarting_in_turn) {
                    BOOST_TEST((session.begin_turn("x", some_settings) == errc::in_progress));
                    BOOST_TEST((session.begin_tools("x") == errc::in_progress));
                    BOOST_TEST(!session.end_compaction(true));
                    session.end_start();
                    BOOST_TEST(session.turn_running() == has_turn(where));
                } else if (where != place::in_turn) {
                    const auto why = !of_turn                 ? error_code(errc::not_begun)
                                     : result == how::aborted ? error_code(errc::cancelled)
                                                              : error_code();
                    BOOST_TEST((session.may_hand_back() == why));
                    BOOST_TEST(!session.begin_turn("x", some_settings));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(each_result_takes_a_turn_however_it_ended)
{
    fsm session({.id = "s-2", .spawned = true});
    BOOST_TEST((session.may_hand_back() == errc::not_begun));
    BOOST_TEST(!session.begin_start());
    BOOST_TEST(!session.stop());
    BOOST_TEST((session.may_hand_back() == errc::not_begun));
    BOOST_TEST(!session.begin_start());
    session.end_start();
    BOOST_TEST((session.may_hand_back() == errc::not_begun));
    for (const auto why : {stop_reason::end, stop_reason::error, stop_reason::length}) {
        BOOST_TEST(!session.begin_turn("dig", some_settings));
        BOOST_TEST((session.may_hand_back() == errc::in_progress));
        session.end_without_hooks(why);
        BOOST_TEST(!session.may_hand_back());
        BOOST_TEST(!session.may_hand_back());  // asking changes nothing
        session.handed_back();
        BOOST_TEST((session.may_hand_back() == errc::not_begun));
    }
    BOOST_TEST(!session.begin_turn("dig", some_settings));
    session.stop();
    BOOST_TEST((session.may_hand_back() == errc::cancelled));
    BOOST_TEST(session.close());
    BOOST_TEST((session.may_hand_back() == errc::closed));
}

BOOST_AUTO_TEST_CASE(stopping_ends_the_turn_wherever_it_stands)
{
    for (const auto where : all_places) {
        BOOST_TEST_CONTEXT("while " << name_of(where))
        {
            auto session = at(where);
            const auto ended = session.stop();
            BOOST_TEST(ended.has_value() == has_turn(where));
            if (ended) {
                BOOST_TEST((ended->outcome == how::aborted));
                BOOST_TEST(ended->prompt == "go");
                BOOST_TEST((session.may_hand_back() == errc::cancelled));
            }
            BOOST_TEST(!session.turn_running());
            BOOST_TEST(!session.stop());
            // A compaction is still to be finished, and may have failed.
            if (!session.end_compaction(false)) BOOST_TEST(is_busy(where));
            const bool started = where != place::fresh && where != place::starting;
            BOOST_TEST((session.begin_turn("x", some_settings) ==
                        (started ? error_code() : error_code(errc::not_begun))));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_turn_ends_with_what_was_said_in_it)
{
    auto session = at(place::in_turn);
    must(session.add_prompt("and this", arrival::during_turn));
    BOOST_TEST(!session.end_prompt(let_pass));
    must(session.begin_tools("let me look"));
    session.end_tools();
    must(session.begin_ending({.text = "done"}));
    BOOST_TEST(session.ending_event("done").prompt == "go\n\nand this");
    BOOST_TEST(session.ending_event("done").continuations == 0u);
    BOOST_TEST(!session.end_ending({.continuation = added_context{"x", "go on", ""}}));
    must(session.begin_ending({.text = "done again"}));
    BOOST_TEST(session.ending_event("done again").continuations == 1u);
    const auto ended = session.end_ending({});
    BOOST_REQUIRE(ended.has_value());
    BOOST_TEST((ended->outcome == how::completed));
    BOOST_TEST(ended->reply == "let me look\n\ndone\n\ndone again");
    BOOST_TEST(ended->turns == 1u);
}

BOOST_AUTO_TEST_CASE(a_prompt_changes_what_the_model_is_called_with_or_ends_the_turn)
{
    auto session = at(place::prompting);
    BOOST_TEST(!session.end_prompt({.blocked = std::nullopt,
                                    .tools = std::vector<std::string>{},
                                    .model = "model-b",
                                    .reasoning_effort = "high"}));
    BOOST_TEST(session.settings().model == "model-b");
    BOOST_TEST((session.settings().reasoning_effort == "high"));
    BOOST_TEST(!session.offers("bash"));
    must(session.add_prompt("x", arrival::queued));
    BOOST_TEST(session.turns() == 2u);
    const auto ended = session.end_prompt({.blocked = block{"no"}});
    BOOST_REQUIRE(ended.has_value());
    BOOST_TEST((ended->outcome == how::error));
    BOOST_TEST(!session.may_hand_back());
}

BOOST_AUTO_TEST_CASE(the_hooks_are_asked_about_final_replies_alone)
{
    BOOST_TEST(fsm::is_final({.text = "done"}));
    BOOST_TEST(!fsm::is_final({.calls = {{"c1", "bash", {}}}}));
    for (const auto why :
         {stop_reason::tool_use, stop_reason::length, stop_reason::error, stop_reason::aborted}) {
        BOOST_TEST(!fsm::is_final({.stop = why}));
    }
    const auto end_with = [](stop_reason why) {
        return at(place::ending).end_without_hooks(why).outcome;
    };
    BOOST_TEST((end_with(stop_reason::length) == how::completed));
    BOOST_TEST((end_with(stop_reason::error) == how::error));
    BOOST_TEST((end_with(stop_reason::aborted) == how::aborted));
}

BOOST_AUTO_TEST_SUITE_END()
