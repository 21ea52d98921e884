#include <belay/process/utf8.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <string_view>

using belay::process::utf8_error_offset;
using belay::process::utf8_lenient;
using namespace std::string_view_literals;

namespace {

/// The encoding of a code point, surrogates included, by arithmetic and not by table.
std::string encoded(unsigned long c)
{
    const auto byte = [](unsigned long value) { return static_cast<char>(value); };
    if (c < 0x80) return {byte(c)};
    if (c < 0x800) return {byte(0xC0 | c >> 6), byte(0x80 | (c & 0x3F))};
    if (c < 0x10000)
        return {byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F))};
    return {byte(0xF0 | c >> 18), byte(0x80 | (c >> 12 & 0x3F)), byte(0x80 | (c >> 6 & 0x3F)),
            byte(0x80 | (c & 0x3F))};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(utf8)

BOOST_AUTO_TEST_CASE(every_scalar_value_is_well_formed_and_every_surrogate_is_not)
{
    unsigned long wrong = 0;
    for (unsigned long c = 0; c <= 0x10FFFF; ++c) {
        const bool is_surrogate = c >= 0xD800 && c <= 0xDFFF;
        if (utf8_error_offset(encoded(c)).has_value() != is_surrogate) ++wrong;
    }
    BOOST_TEST(wrong == 0U);
    BOOST_TEST(utf8_error_offset(encoded(0x110000)).value() == 0U);
}

BOOST_AUTO_TEST_CASE(the_offset_is_that_of_the_first_bad_byte)
{
    struct {
        std::string_view bytes;
        std::size_t offset;
    } const cases[] = {
        {"\xC0\xAF"sv, 0},            // overlong, two bytes
        {"ab\xE0\x80\xAF"sv, 2},      // overlong, three
        {"ab\xF0\x80\x80\xAF"sv, 2},  // overlong, four
        {"{}\x80"sv, 2},              // lone continuation
        {"\"\xED\xA0\x80\""sv, 1},    // surrogate
        {"\xF4\x90\x80\x80"sv, 0},    // above U+10FFFF
        {"abc\xE2\x82"sv, 3},         // cut tail
        {"abc\xF0\x9F\x98"sv, 3},     // cut tail
        {"\xC3(\xC3\xA9"sv, 0},       // a lead byte without its continuation
        {"\xFE"sv, 0},
        {"a\0\xFF"sv, 2},
    };
    for (const auto& one : cases) BOOST_TEST(utf8_error_offset(one.bytes).value() == one.offset);
}

BOOST_AUTO_TEST_CASE(a_bad_byte_is_found_wherever_it_stands)
{
    for (std::size_t size = 1; size != 80; ++size) {
        for (std::size_t at = 0; at != size; ++at) {
            std::string text(size, 'a');
            text[at] = '\xFF';
            if (utf8_error_offset(text) != at) BOOST_TEST(utf8_error_offset(text).value() == at);
        }
        BOOST_TEST(!utf8_error_offset(std::string(size, 'a')));
        BOOST_TEST(!utf8_error_offset(std::string(size, 'a') + "\u20ac" + std::string(size, 'b')));
    }
}

BOOST_AUTO_TEST_CASE(nul_and_the_byte_order_mark_are_characters)
{
    BOOST_TEST(!utf8_error_offset("\0"sv).has_value());
    BOOST_TEST(!utf8_error_offset("\xEF\xBB\xBF{}"sv).has_value());
    BOOST_TEST(!utf8_error_offset(""sv).has_value());
}

BOOST_AUTO_TEST_CASE(a_lenient_reading_keeps_what_is_well_formed)
{
    const std::string text = "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80\n";
    BOOST_TEST(utf8_lenient(text) == text);
    BOOST_TEST(utf8_lenient("") == "");
}

BOOST_AUTO_TEST_CASE(a_lenient_reading_replaces_each_maximal_subpart_by_one_character)
{
    const std::string bad = "\xEF\xBF\xBD";
    BOOST_TEST(utf8_lenient("a\xFFz") == "a" + bad + "z");
    BOOST_TEST(utf8_lenient("\xE2\x82") == bad);  // a cut tail is one
    BOOST_TEST(utf8_lenient("\xF0\x9F\x98(") == bad + "(");
    BOOST_TEST(utf8_lenient("\xC0\xAF") == bad + bad);  // no byte of an overlong form belongs
    BOOST_TEST(utf8_lenient("\xED\xA0\x80") == bad + bad + bad);  // nor of a surrogate
    BOOST_TEST(utf8_lenient("\xF4\x90\x80\x80") == bad + bad + bad + bad);
}

BOOST_AUTO_TEST_SUITE_END()
