#include <belay/modules/status_text.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <string_view>

using belay::modules::sanitize_status;

namespace {

struct shown {
    std::string_view raw;
    std::string_view text;
};

template <std::size_t N>
void check(const shown (&all)[N])
{
    for (const auto& [raw, text] : all) BOOST_TEST(sanitize_status(raw) == text);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(status_text_suite)

BOOST_AUTO_TEST_CASE(plain_text_stays_as_it_is)
{
    check({{"", ""}, {"plain", "plain"}, {"\u65e5\u672c \U0001F642", "\u65e5\u672c \U0001F642"}});
}

BOOST_AUTO_TEST_CASE(a_control_sequence_ends_with_its_final_character)
{
    check({
        {"\x1b[31mred\x1b[0m", "red"},
        {"\x1b[1;38;5;196mX\x1b[m\x1b[K!", "X!"},
        {"\x1b[38:2::1:2:3mtc", "tc"},
        {"\x1b[?25lcur\x1b[?25h", "cur"},
        {"a\u009b31mb", "ab"},
        {"a\x1b[@b", "ab"},  // the first that is final
        {"a\x1b[~b", "ab"},  // and the last
    });
}

BOOST_AUTO_TEST_CASE(anything_else_in_a_control_sequence_goes_with_it)
{
    check({
        {"a\x1b[3\n1mb", "ab"},
        {"a\x1b[3\x1b[1mb", "a1mb"},  // ESC is no end, the bracket is
        {"a\x1b[\u65e5\u672cmb", "ab"},
        {"a\x1b[\u009b31mb", "ab"},
        {"a\x1b[31", "a"},
        {"a\x1b[", "a"},
    });
}

BOOST_AUTO_TEST_CASE(an_operating_system_command_ends_at_bell_or_terminator)
{
    check({
        {"\x1b]0;title\ax", "x"},
        {"\x1b]0;title\x1b\\x", "x"},
        {"\u009d0;t\u009cx", "x"},
        {"\u009d0;t\ax", "x"},
        {"\x1b]8;;http://e.invalid/\x1b\\link\x1b]8;;\x1b\\ end", "link end"},
        {"a\x1b]0;never closed", "a"},
        {"a\x1b]0;\x1b", "a"},
    });
}

BOOST_AUTO_TEST_CASE(an_escape_sequence_inside_a_command_does_not_end_it)
{
    check({
        {"a\x1b]0;\x1b[31mred\ab", "ab"},
        {"a\x1b]0;\x1b]x\ab", "ab"},
        {"a\x1b]0;\x1b\x1b\\b", "ab"},
        {"a\x1b]0;\x1b\ab", "ab"},
        {"a\x1b]0;\x1b\u009cb", "ab"},
        {"a\x1b]0;\x1bx\\b\ac", "ac"},
    });
}

BOOST_AUTO_TEST_CASE(a_string_ends_at_a_terminator_and_not_at_a_bell)
{
    for (const std::string begin :
         {"\x1bP", "\x1bX", "\x1b^", "\x1b_", "\u0090", "\u0098", "\u009e", "\u009f"}) {
        BOOST_TEST(sanitize_status(begin + "q#0\x1b\\x") == "x");
        BOOST_TEST(sanitize_status(begin + "q#0\u009cx") == "x");
        BOOST_TEST(sanitize_status(begin + "bell\ax") == "");
        BOOST_TEST(sanitize_status(begin + "\x1b[31mx\x1b\\y") == "y");
        BOOST_TEST(sanitize_status(begin + "\x1b\x1b\\y") == "y");
        BOOST_TEST(sanitize_status(begin + "\x1b\u009cy") == "y");
        BOOST_TEST(sanitize_status(begin + "\x1bx\\y") == "");
        BOOST_TEST(sanitize_status("a" + begin + "open") == "a");
    }
}

BOOST_AUTO_TEST_CASE(some_sequences_have_three_characters)
{
    for (const char which : std::string_view(" #%()*+./")) {
        BOOST_TEST(sanitize_status(std::string("a\x1b") + which + "Bc") == "ac");
        BOOST_TEST(sanitize_status(std::string("a\x1b") + which + "\x1b[") == "a[");
        BOOST_TEST(sanitize_status(std::string("a\x1b") + which) == "a");
    }
}

BOOST_AUTO_TEST_CASE(any_other_sequence_has_two)
{
    check({
        {"\x1bMup\x1b\x37save\x1b\x38", "upsave"},
        {"x\x1bOPy", "xPy"},
        {"a\x1b\x1b[31mb", "a[31mb"},
        {"a\x1b\u65e5b", "ab"},
        {"a\x1b,Bc", "aBc"},
        {"a\x1b-Bc", "aBc"},
        {"a\x1b\\b", "ab"},
        {"a\x1b", "a"},
    });
}

BOOST_AUTO_TEST_CASE(control_characters_are_spaces)
{
    check({
        {"a\tb\nc\rd", "a b c d"},
        {"a\x7f"
         "b",
         "a b"},
        {"a\u0085b\u0084c", "a b c"},
        {"a\u009cb", "a b"},
        {std::string_view("a\0b", 3), "a b"},
        {"a\u0080b\u009ac", "a b c"},
        {"a\u00a1b", "a\u00a1b"},  // the first that is none
    });
}

BOOST_AUTO_TEST_CASE(spaces_collapse_and_the_ends_are_trimmed)
{
    check({
        {"  a   b  ", "a b"},
        {"\x1b[31mred \x1b[0m  \x1b[32m green\x1b[0m", "red green"},
        {"a \t\n b", "a b"},
        {" \u00a0\u2003\ufeffa\u3000 ", "a"},
        {"   ", ""},
    });
}

BOOST_AUTO_TEST_CASE(other_white_space_inside_is_kept)
{
    check({{"a\u00a0\u00a0b", "a\u00a0\u00a0b"},
           {"a\u2003b", "a\u2003b"},
           {"a\u200bb", "a\u200bb"},
           {"\u200ba", "\u200ba"}});  // no white space
}

BOOST_AUTO_TEST_CASE(ill_formed_parts_are_replaced)
{
    check({{"a\xff"
            "b",
            "a\ufffdb"},
           {"a\x9b"
            "31mb",
            "a\ufffd31mb"},
           {"a\xe6\x97", "a\ufffd"}});
}

BOOST_AUTO_TEST_SUITE_END()
