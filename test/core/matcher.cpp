#include <belay/core/chain.hpp>
#include <belay/core/matcher.hpp>
#include <belay/core/regex.hpp>
#include <belay/core/static_chain.hpp>

#include <boost/test/unit_test.hpp>

#include "events.hpp"
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace belay;
using namespace belay::test;

namespace {

// The message with which it throws.
template <class Make>
std::string refusal(Make&& make)
{
    try {
        std::forward<Make>(make)();
    } catch (const std::invalid_argument& why) {
        return why.what();
    }
    return "it was taken";
}

bool globs(std::string_view pattern, std::string_view subject)
{
    return glob(pattern).matches(subject);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(matcher_suite)

BOOST_AUTO_TEST_CASE(one_that_is_made_of_nothing_is_for_everything)
{
    const matcher all;
    BOOST_TEST(all.matches_everything());
    BOOST_TEST(all.matches("bash"));
    BOOST_TEST(all.matches(""));
}

BOOST_AUTO_TEST_CASE(an_exact_name_is_that_name_byte_for_byte)
{
    const auto bash = exact("bash");
    BOOST_TEST(!bash.matches_everything());
    BOOST_TEST(bash.matches("bash"));
    for (const char* other : {"Bash", "bas", "bash ", "bash2", ""})
        BOOST_TEST(!bash.matches(other));
}

BOOST_AUTO_TEST_CASE(an_exact_name_is_no_pattern)
{
    for (const char* name : {"*", "b?sh", "[b]ash", "b.*", "bash|edit", "\\b"}) {
        BOOST_TEST(exact(name).matches(name));
        BOOST_TEST(!exact(name).matches("bash"));
    }
}

BOOST_AUTO_TEST_CASE(any_of_is_each_of_its_names)
{
    const auto both = any_of({"edit", "write"});
    BOOST_TEST(both.matches("edit"));
    BOOST_TEST(both.matches("write"));
    BOOST_TEST(!both.matches("editwrite"));
    BOOST_TEST(!both.matches("read"));
}

BOOST_AUTO_TEST_CASE(names_that_cannot_be_are_refused)
{
    BOOST_TEST(refusal([] { (void)exact(""); }) == "a handler is for an empty name");
    BOOST_TEST(refusal([] { (void)any_of({}); }) == "a handler for any of no names is for nothing");
    BOOST_TEST(refusal([] { (void)any_of({"a", ""}); }) == "a handler is for an empty name");
    BOOST_TEST(refusal([] { (void)any_of({"a", "b", "a"}); }) ==
               "a handler is for the name 'a' twice");
}

// Where a search of all names before each would take minutes.
BOOST_AUTO_TEST_CASE(a_long_list_of_names_is_judged_soon)
{
    std::vector<std::string> names;
    for (int i = 0; i != 200'000; ++i) names.push_back("tool" + std::to_string(i));
    BOOST_TEST(any_of(names).matches("tool199999"));
    names.push_back("tool7");
    BOOST_TEST(refusal([&] { (void)any_of(names); }) == "a handler is for the name 'tool7' twice");
}

BOOST_AUTO_TEST_CASE(a_star_is_any_text_also_none)
{
    BOOST_TEST(globs("*", ""));
    BOOST_TEST(globs("*", "bash"));
    BOOST_TEST(globs("mcp__*", "mcp__"));
    BOOST_TEST(globs("mcp__*", "mcp__github__search"));
    BOOST_TEST(!globs("mcp__*", "mcp_github"));
    BOOST_TEST(globs("*__search", "mcp__github__search"));
    BOOST_TEST(!globs("*__search", "mcp__github__searches"));
    BOOST_TEST(globs("a*b*c", "a-b-b-c"));
    BOOST_TEST(!globs("a*b*c", "a-c-b"));
    BOOST_TEST(globs("**", "x"));
    BOOST_TEST(globs("*ab", "aab"));
}

BOOST_AUTO_TEST_CASE(a_question_mark_is_one_character_of_utf_8)
{
    BOOST_TEST(globs("b?sh", "bash"));
    BOOST_TEST(!globs("b?sh", "bsh"));
    BOOST_TEST(!globs("b?sh", "baash"));
    BOOST_TEST(globs("?", "\xc3\xa9"));  // e acute, two bytes
    BOOST_TEST(globs("a?b",
                     "a\xe2\x82\xac"
                     "b"));  // the sign of the euro, three
    BOOST_TEST(!globs("?", ""));
}

BOOST_AUTO_TEST_CASE(a_list_is_one_of_its_characters)
{
    BOOST_TEST(globs("[be]dit", "edit"));
    BOOST_TEST(!globs("[be]dit", "audit"));
    BOOST_TEST(globs("v[0-9]", "v7"));
    BOOST_TEST(!globs("v[0-9]", "va"));
    BOOST_TEST(globs("v[!0-9]", "va"));
    BOOST_TEST(globs("v[^0-9]", "va"));
    BOOST_TEST(!globs("v[^0-9]", "v7"));
    BOOST_TEST(!globs("v[!0-9]", "v7"));
    BOOST_TEST(!globs("v[!0-9]", "v"));
    BOOST_TEST(globs("[!a]", "\xc3\xa9"));  // whole
    BOOST_TEST(globs("[a-]", "-"));
    BOOST_TEST(globs("[-a]", "-"));
    BOOST_TEST(globs("[\\]]", "]"));
    BOOST_TEST(globs("[\\!a]", "!"));
    BOOST_TEST(!globs("[a]", "\xc3\xa9"));
}

BOOST_AUTO_TEST_CASE(after_a_backslash_a_character_means_itself)
{
    BOOST_TEST(globs("\\*", "*"));
    BOOST_TEST(!globs("\\*", "x"));
    BOOST_TEST(globs("\\{a\\}", "{a}"));
    BOOST_TEST(globs("a\\b", "ab"));
}

BOOST_AUTO_TEST_CASE(a_wrong_glob_is_refused_and_says_where)
{
    const auto why = [](std::string_view pattern) { return refusal([&] { (void)glob(pattern); }); };
    BOOST_TEST(why("") == "the glob '' is empty: it would match no name");
    BOOST_TEST(why("ab[c") == "the glob 'ab[c' has a list at character 3 that does not end");
    BOOST_TEST(why("[\\") == "the glob '[\\' has a list at character 1 that does not end");
    BOOST_TEST(why("[a-") == "the glob '[a-' has a list at character 1 that does not end");
    BOOST_TEST(why("[]x") == "the glob '[]x' has a list at character 1 with nothing in it");
    BOOST_TEST(why("[z-a]") ==
               "the glob '[z-a]' has a list at character 1 with a range that runs backwards");
    BOOST_TEST(why("[\xc3\xa9]") ==
               "the glob '[\xc3\xa9]' has a list at character 1 of more than ASCII");
    BOOST_TEST(why("a\\") == "the glob 'a\\' ends with a '\\' that has nothing after it");
    BOOST_TEST(why("x{a,b}") ==
               "the glob 'x{a,b}' has a '{' at character 2: say any_of, or put a \\ before it");
    for (const char* shells : {"@(a|b)", "a|b", "a)", "!(x)"}) {
        BOOST_TEST(why(shells).find("say any_of, or put a \\ before it") != std::string::npos);
    }
    BOOST_TEST(
        why("x[[:alpha:]]") ==
        "the glob 'x[[:alpha:]]' has a class in the list at character 2: list its characters");
    BOOST_TEST(why("a}") ==
               "the glob 'a}' has a '}' at character 2: say any_of, or put a \\ before it");
}

// Where a matcher that tries every way would not end: 40 stars in 4,000 characters.
BOOST_AUTO_TEST_CASE(a_glob_ends_soon_whatever_the_pattern)
{
    std::string pattern;
    for (int i = 0; i != 40; ++i) pattern += "*a";
    pattern += "*b";
    const std::string subject(4000, 'a');
    BOOST_TEST(!globs(pattern, subject));
    BOOST_TEST(globs(pattern, subject + "b"));
}

BOOST_AUTO_TEST_CASE(a_regular_expression_is_for_the_whole_name)
{
    const auto databases = regex("mcp__(pg|mysql)_.*");
    BOOST_TEST(databases.matches("mcp__pg_query"));
    BOOST_TEST(!databases.matches("mcp__sqlite_query"));
    BOOST_TEST(!databases.matches("x_mcp__pg_query"));
    BOOST_TEST(!regex("bash").matches("bashful"));
    BOOST_TEST(!regex("bash").matches_everything());
}

BOOST_AUTO_TEST_CASE(a_wrong_regular_expression_is_refused_and_says_where)
{
    const auto why = refusal([] { (void)regex("ab(c"); });
    BOOST_TEST(why.starts_with("the regular expression 'ab(c' is wrong at character "), why);
    BOOST_TEST(why.find("Unmatched") != std::string::npos, why);
    BOOST_TEST(refusal([] { (void)regex("*"); }) != "it was taken");
    BOOST_TEST(refusal([] { (void)regex(""); }) ==
               "the regular expression '' is empty: it would match no name");
}

BOOST_AUTO_TEST_CASE(a_name_that_a_regular_expression_cannot_decide_counts_as_one_of_its)
{
    const auto slow = regex("(a*)*(b*)*(a*)*(b*)*c");
    BOOST_TEST(slow.matches(std::string(200, 'a') + "c"));
    BOOST_TEST(regex("(a|aa|aaa|b)*(a|aa|b)*(a|aa|b)*x").matches(std::string(100'000, 'a')));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(chain_matcher_suite)

BOOST_AUTO_TEST_CASE(only_handlers_for_the_subject_are_asked_in_the_order_of_the_chain)
{
    chain<use> handlers;
    handlers.add({}, says("1"));
    handlers.add({}, exact("bash"), says("2"));
    handlers.add({}, any_of({"edit", "bash"}), says("3"));
    handlers.add({}, glob("e*"), says("4"));
    handlers.add({}, says("5"));
    handlers.add({}, exact("edit"), says("6"));
    handlers.add({}, regex(".*[st]h?"), says("7"));
    BOOST_TEST(handlers.size() == 7U);
    BOOST_TEST(handlers.dispatch({"bash"}) == "12357");
    BOOST_TEST(handlers.dispatch({"edit"}) == "134567");
    BOOST_TEST(handlers.dispatch({"eat"}) == "1457");
    BOOST_TEST(handlers.dispatch({"read"}) == "15");
    BOOST_TEST(handlers.dispatch({""}) == "15");
}

BOOST_AUTO_TEST_CASE(a_stop_ends_the_handlers_for_the_subject)
{
    chain<use> handlers;
    handlers.add({}, exact("bash"), says("!"));
    handlers.add({}, says("2"));
    handlers.add({}, exact("bash"), says("3"));
    BOOST_TEST(handlers.dispatch({"bash"}) == "!");
    BOOST_TEST(handlers.dispatch({"edit"}) == "2");
}

BOOST_AUTO_TEST_CASE(a_removed_handler_is_gone_for_each_of_its_names)
{
    chain<use> handlers;
    handlers.add({}, exact("bash"), says("1"));
    const auto both = handlers.add({}, any_of({"bash", "edit"}), says("2"));
    const auto pattern = handlers.add({}, glob("b*"), says("3"));
    BOOST_TEST(handlers.dispatch({"bash"}) == "123");
    BOOST_TEST(handlers.remove(both));
    BOOST_TEST(handlers.dispatch({"bash"}) == "13");
    BOOST_TEST(handlers.dispatch({"edit"}).empty());
    BOOST_TEST(handlers.remove(pattern));
    BOOST_TEST(handlers.dispatch({"bash"}) == "1");
    handlers.add({}, exact("edit"), says("4"));
    BOOST_TEST(handlers.dispatch({"edit"}) == "4");
}

BOOST_AUTO_TEST_CASE(what_is_added_or_removed_by_a_handler_is_so_for_the_next_event)
{
    chain<use> handlers;
    handler_id last{};
    bool changed = false;
    handlers.add({}, exact("bash"), [&](const use&) {
        if (std::exchange(changed, true)) return use::note{"a"};
        handlers.remove(last);
        handlers.add({}, exact("bash"), says("d"));
        handlers.add({}, exact("new"), says("e"));
        for (int i = 0; i != 100; ++i) handlers.add({}, exact("bash"), [](const use&) {});
        return use::note{"a"};
    });
    handlers.add({}, says("b"));
    last = handlers.add({}, exact("bash"), says("c"));
    BOOST_TEST(handlers.dispatch({"bash"}) == "abc");
    BOOST_TEST(handlers.dispatch({"bash"}) == "abd");
    BOOST_TEST(handlers.dispatch({"new"}) == "be");
}

BOOST_AUTO_TEST_CASE(a_thousand_names_each_find_their_handler)
{
    chain<use> handlers;
    for (int i = 0; i != 1000; ++i) {
        const auto number = std::to_string(i);
        handlers.add({}, exact("tool" + number), says(number));
    }
    for (int i = 0; i != 1000; ++i) {
        const auto number = std::to_string(i);
        BOOST_TEST(handlers.dispatch({"tool" + number}) == number);
    }
    BOOST_TEST(handlers.dispatch({"tool1000"}).empty());
}

BOOST_AUTO_TEST_CASE(the_trace_hears_of_every_handler_and_whether_it_is_for_the_subject)
{
    recorder seen;
    chain<use> traced(&seen);
    traced.add({.name = "a"}, exact("edit"), says("1"));
    traced.add({.name = "b"}, exact("bash"), [](const use&) -> use::note { throw 1; });
    traced.add({.name = "c"}, glob("x*"), says("3"));
    traced.add({.name = "d"}, says("!"));
    traced.add({.name = "e"}, exact("bash"), says("5"));
    traced.add({.name = "f"}, exact("edit"), says("6"));
    traced.dispatch({"bash"});
    std::string heard;
    for (const auto& one : seen.spans) {
        heard += one.handler + (one.matched ? one.ran ? "+" : "-" : "/");
    }
    BOOST_TEST(heard == "a/b+c/d+e-f/");
}

BOOST_AUTO_TEST_CASE(a_static_chain_asks_only_handlers_for_the_subject)
{
    auto fixed = make_static_chain<use>(
        says("1"), named({}, exact("bash"), says("2")), named({.name = "x"}, says("3")),
        named({}, any_of({"edit", "bash"}), says("4")), named({}, glob("e*"), says("5")));
    BOOST_TEST(fixed.dispatch({"bash"}) == "1234");
    BOOST_TEST(fixed.dispatch({"edit"}) == "1345");
    BOOST_TEST(fixed.dispatch({"read"}) == "13");
    auto moved = std::move(fixed);
    BOOST_TEST(moved.dispatch({"bash"}) == "1234");

    recorder seen;
    moved.trace(&seen);
    BOOST_TEST(moved.dispatch({"edit"}) == "1345");
    BOOST_REQUIRE(seen.spans.size() == 5U);
    BOOST_TEST((seen.spans[0].matched && seen.spans[0].ran));
    BOOST_TEST((!seen.spans[1].matched && !seen.spans[1].ran));

    auto none = make_static_chain<use>(named({}, exact("bash"), says("1")));
    BOOST_TEST(none.dispatch({"edit"}).empty());
    auto stops = make_static_chain<use>(named({}, exact("bash"), says("!")), says("2"));
    BOOST_TEST(stops.dispatch({"bash"}) == "!");
    BOOST_TEST(stops.dispatch({"edit"}) == "2");
}

BOOST_AUTO_TEST_SUITE_END()
