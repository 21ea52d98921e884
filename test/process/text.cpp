#include <belay/process/detail/text.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

using namespace belay::process::detail;

BOOST_AUTO_TEST_SUITE(text_suite)

BOOST_AUTO_TEST_CASE(a_code_point_has_one_to_four_bytes)
{
    const std::pair<std::string_view, char32_t> points[] = {
        {"A", 0x41}, {"\u00e9", 0xE9}, {"\u20ac", 0x20AC}, {"\U0001F642", 0x1F642}};
    std::size_t size = 0;
    for (const auto& [text, value] : points) {
        ++size;
        BOOST_TEST((first_code_point(text).value == value));
        BOOST_TEST(first_code_point(text).size == size);
    }
}

BOOST_AUTO_TEST_CASE(the_first_and_the_last_code_point_are_those_at_the_ends)
{
    constexpr std::string_view text = "\u20acA\u00e9";
    BOOST_TEST((first_code_point(text).value == U'\u20ac'));
    BOOST_TEST((last_code_point(text).value == U'\u00e9'));
}

BOOST_AUTO_TEST_CASE(all_white_space_at_the_ends_is_trimmed_and_none_inside)
{
    BOOST_TEST(trim(" \t\n\v\f\r\u00a0\u1680a b\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff") ==
               "a b");
    BOOST_TEST(trim("a") == "a");
    BOOST_TEST(trim(" \n ") == "");
    BOOST_TEST(trim("") == "");
}

BOOST_AUTO_TEST_CASE(what_is_no_white_space_is_not_trimmed)
{
    for (const std::string_view text : {"\u200ba\u200b", "\u0085a\u0085", "\u180ea\u180e"}) {
        BOOST_TEST(trim(text) == text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
