#include <belay/modules/status_line.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace belay::modules;
using strings = std::vector<std::string>;

namespace {

using entries = std::vector<std::pair<std::string, std::string>>;

strings rendered(const entries& all, std::size_t width = 80)
{
    status_line status;
    for (const auto& [key, text] : all) status.set(key, text);
    return status.render(width);
}

// One text, in so many columns.
std::string cut(const std::string& text, std::size_t width)
{
    const auto lines = rendered({{"key", text}}, width);
    BOOST_TEST_REQUIRE(lines.size() == 1U);
    return lines[0];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(status_line_suite)

BOOST_AUTO_TEST_CASE(without_keys_there_is_no_line)
{
    status_line status;
    BOOST_TEST(status.render(80).empty());
    status.set("a", "one");
    status.set("a", std::nullopt);
    status.set("never", std::nullopt);
    BOOST_TEST(status.render(80).empty());
}

BOOST_AUTO_TEST_CASE(a_key_has_one_text_the_last)
{
    status_line status;
    status.set("a", "one");
    status.set("b", "two");
    status.set("a", "three");
    BOOST_TEST(status.render(80) == strings{"three two"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(keys_are_in_the_order_of_a_dictionary_not_of_bytes)
{
    // "ä" is an "a" with something, and so before "b"
    const strings keys{"_x", "-y", "0", "a",         "A",       "\u00e4z",
                       "b",  "B",  "c", "status:10", "status:2"};
    entries backwards;
    std::string line;
    for (const auto& key : keys) {
        backwards.insert(backwards.begin(), {key, key});
        line += (line.empty() ? "" : " ") + key;
    }
    BOOST_TEST(rendered(backwards) == strings{line}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(keys_that_are_equal_to_the_collation_are_all_shown)
{
    // "é" in one code point and in two
    BOOST_TEST(rendered({{"\u00e9", "one"}, {"e\u0301", "two"}}) == strings{"two one"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_text_is_sanitized_when_it_is_shown)
{
    BOOST_TEST(rendered({{"a", "\x1b[31m red\t"}, {"b", "\nblue\x1b["}}) == strings{"red blue"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_empty_text_takes_its_place_between_the_spaces)
{
    BOOST_TEST(rendered({{"a", ""}, {"b", "x"}}) == strings{" x"},
               boost::test_tools::per_element());
    BOOST_TEST(rendered({{"a", "x"}, {"b", ""}, {"c", "y"}}) == strings{"x  y"},
               boost::test_tools::per_element());
    BOOST_TEST(rendered({{"a", "\x1b[m"}}) == strings{""}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_line_is_cut_to_the_width_with_an_ellipsis_in_it)
{
    const entries two{{"a", "one"}, {"b", "two"}};
    const strings lines{"",           "\u2026",      "o\u2026", "on\u2026", "one\u2026",
                        "one \u2026", "one t\u2026", "one two", "one two"};
    for (std::size_t width = 0; width != lines.size(); ++width) {
        BOOST_TEST(rendered(two, width) == strings{lines[width]}, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(a_wide_character_is_not_halved)
{
    const strings lines{"",
                        "\u2026",
                        "\u2026",
                        "\u65e5\u2026",
                        "\u65e5\u2026",
                        "\u65e5\u672c\u2026",
                        "\u65e5\u672c\u8a9e"};
    for (std::size_t width = 0; width != lines.size(); ++width) {
        BOOST_TEST(cut("\u65e5\u672c\u8a9e", width) == lines[width]);
    }
}

BOOST_AUTO_TEST_CASE(what_a_reader_sees_as_one_character_is_not_split)
{
    const std::string family = "\U0001F469\u200D\U0001F469\u200D\U0001F467";
    BOOST_TEST(cut(family + family, 3) == family + "\u2026");
    BOOST_TEST(cut(family + family, 2) == "\u2026");
    BOOST_TEST(cut("e\u0301e\u0301e\u0301", 2) == "e\u0301\u2026");
    BOOST_TEST(cut("e\u0301e\u0301", 2) == "e\u0301e\u0301");
    // flags: two regional indicators each
    const std::string flag = "\U0001F1E9\U0001F1EA";
    BOOST_TEST(cut(flag + flag, 3) == flag + "\u2026");
}

BOOST_AUTO_TEST_CASE(the_width_of_a_text_is_that_of_its_widest_code_points)
{
    const std::pair<std::string, std::size_t> widths[] = {
        {"", 0},
        {"abc", 3},
        {"\u00e9", 1},
        {"e\u0301", 1},               // a combining mark takes no column
        {"\u65e5\u672c", 4},          // wide
        {"\uff21", 2},                // full width
        {"\uff71", 1},                // half width
        {"\u03b1", 1},                // ambiguous: narrow
        {"\U0001F642", 2},            // emoji by default
        {"\u2764", 1},                // text by default
        {"\u2764\ufe0f", 2},          // made an emoji
        {"a\ufe0f", 1},               // cannot be one
        {"1\ufe0f\u20e3", 2},         // keycap
        {"\U0001F1E9\U0001F1EA", 2},  // flag
        {"\u200b\u2060", 0},          // format characters
        {"\u1112\u1161\u11ab", 2},    // one syllable in three parts
        {"a\xff", 2},                 // U+FFFD
    };
    for (const auto& [text, width] : widths) {
        BOOST_TEST_CONTEXT(text)
        {
            BOOST_TEST(terminal_width(text) == width);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
