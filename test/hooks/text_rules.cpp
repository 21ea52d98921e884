#include <belay/hooks/text_rules.hpp>

#include <boost/test/unit_test.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

using belay::hooks::is_display_line;

namespace {

std::string times(int count, std::string_view unit)
{
    std::string text;
    while (count-- > 0) text += unit;
    return text;
}

std::string utf8(char32_t point)
{
    const auto byte = [](char32_t value) { return static_cast<char>(value); };
    if (point < 0x80) return {byte(point)};
    if (point < 0x800) return {byte(0xC0 | (point >> 6)), byte(0x80 | (point & 0x3F))};
    if (point < 0x10000) {
        return {byte(0xE0 | (point >> 12)), byte(0x80 | ((point >> 6) & 0x3F)),
                byte(0x80 | (point & 0x3F))};
    }
    return {byte(0xF0 | (point >> 18)), byte(0x80 | ((point >> 12) & 0x3F)),
            byte(0x80 | ((point >> 6) & 0x3F)), byte(0x80 | (point & 0x3F))};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(text_rules)

BOOST_AUTO_TEST_CASE(a_display_line_may_be_empty_and_has_at_most_200_code_points)
{
    BOOST_TEST(is_display_line(""));
    BOOST_TEST(is_display_line("Spotted: treasure under the third palm"));
    BOOST_TEST(is_display_line(times(200, "d")));
    BOOST_TEST(!is_display_line(times(201, "d")));
}

BOOST_AUTO_TEST_CASE(code_points_are_counted_not_bytes)
{
    for (const auto* one : {"\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x8F\xB4"}) {
        BOOST_TEST(is_display_line(times(200, one)));
        BOOST_TEST(!is_display_line(times(201, one)));
    }
}

BOOST_AUTO_TEST_CASE(exactly_the_characters_that_spoil_a_line_are_refused)
{
    const auto refused = [](char32_t point) {
        for (const auto& [first, last] :
             std::initializer_list<std::pair<char32_t, char32_t>>{{0x0000, 0x001F},
                                                                  {0x007F, 0x009F},
                                                                  {0x061C, 0x061C},
                                                                  {0x200E, 0x200F},
                                                                  {0x2028, 0x2029},
                                                                  {0x202A, 0x202E},
                                                                  {0x2066, 0x2069}}) {
            if (first <= point && point <= last) return true;
        }
        return false;
    };
    int wrong = 0;
    for (char32_t point = 0; point <= 0x10FFFF; ++point) {
        if (point >= 0xD800 && point <= 0xDFFF) continue;
        const auto line = "a" + utf8(point) + "b";
        if (is_display_line(line) != !refused(point)) {
            ++wrong;
            BOOST_TEST_MESSAGE("wrong for code point " << static_cast<unsigned long>(point));
        }
    }
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(what_is_not_utf8_is_no_display_line)
{
    for (const std::string_view bytes : {"\xFF", "a\xC3", "\xC0\xAF", "\xED\xA0\x80", "\x80"}) {
        BOOST_TEST(!is_display_line(bytes));
    }
}

BOOST_AUTO_TEST_SUITE_END()
