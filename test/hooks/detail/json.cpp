#include <belay/hooks/detail/json.hpp>

#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <utility>

using namespace belay::hooks::detail;

BOOST_AUTO_TEST_SUITE(json_suite)

BOOST_AUTO_TEST_CASE(a_fault_says_whether_it_was_json_as_far_as_it_was_read)
{
    const auto fault_of = [](const std::string& text) {
        boost::json::value document;
        const auto fault = parse_json(text, document);
        BOOST_REQUIRE_MESSAGE(fault.has_value(), text.substr(0, 80));
        return *fault;
    };
    for (const auto& text : {std::string(129, '[') + std::string(129, ']'),
                             std::string(R"("\ud800")"), std::string(R"({"a":"\uDC00 \\"})"),
                             std::string("[1e99999999999]"), std::string(129, '[') + " no end"}) {
        BOOST_TEST(fault_of(text).beyond_limits, text);
    }
    for (const auto& text : {std::string(128, '['), std::string(R"("\ud800)"),
                             std::string(R"("\\ud800)"), std::string("{} {}"), std::string(""),
                             std::string("{'a':1}"), std::string("{\"a\":\"\\u12\"}")}) {
        BOOST_TEST(!fault_of(text).beyond_limits, text);
    }
}

// Written one character at a time, so nothing that looks at several at once is in it.
BOOST_AUTO_TEST_CASE(every_byte_is_escaped_right_wherever_it_stands)
{
    const auto escaped = [](int byte) -> std::string {
        switch (byte) {
        case '"': return "\\\"";
        case '\\': return "\\\\";
        case '\b': return "\\b";
        case '\f': return "\\f";
        case '\n': return "\\n";
        case '\r': return "\\r";
        case '\t': return "\\t";
        default: break;
        }
        const std::string digits = "0123456789abcdef";
        const auto digit = [&](int value) { return digits[static_cast<std::size_t>(value)]; };
        if (byte < 0x20) return std::string("\\u00") + digit(byte / 16) + digit(byte % 16);
        return byte < 0x80 ? std::string(1, static_cast<char>(byte)) : "\xEF\xBF\xBD";
    };
    for (const std::size_t size : {1U, 7U, 8U, 9U, 40U}) {
        for (std::size_t at = 0; at != size; ++at) {
            for (int byte = 0; byte != 256; ++byte) {
                std::string text(size, 'a');
                text[at] = static_cast<char>(byte);
                json_writer writer;
                writer.write(text);
                const auto expected = '"' + std::string(at, 'a') + escaped(byte) +
                                      std::string(size - at - 1, 'a') + '"';
                if (const auto got = std::move(writer).take(); got != expected) {
                    BOOST_TEST(got == expected);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(neighbours_of_an_escaped_character_are_written_as_they_are)
{
    json_writer writer;
    writer.write("\"!\"#[\\]\x1f \x7f\u00e9\u20ac\"\u00e9");
    BOOST_TEST(std::move(writer).take() ==
               "\"\\\"!\\\"#[\\\\]\\u001f \x7f\u00e9\u20ac\\\"\u00e9\"");
}

BOOST_AUTO_TEST_CASE(what_is_doubted_is_a_key_that_was_given_twice_or_a_number_beyond_all_bounds)
{
    const auto doubts = [](const std::string& text) {
        boost::json::value document;
        BOOST_REQUIRE(!parse_json(text, document));
        return doubts_about(document);
    };
    std::string many = "{";  // more members than an object looks through one by one
    for (int i = 0; i != 100; ++i) many += (i ? ",\"" : "\"") + std::to_string(i) + "\":0";
    for (const auto& text : {std::string(R"({"a":0,"a":0})"),
                             std::string(R"([{"b":{"a":0,"\u0061":0}}])"), many + ",\"50\":0}"}) {
        BOOST_TEST(doubts(text).duplicate_keys, text);
        BOOST_TEST(!doubts(text).infinite_numbers, text);
    }
    for (const auto& text : {std::string(R"({"a":{"a":0},"b":[{"a":0},{"a":0}]})"),
                             std::string("{}"), std::string("[]"), many + "}"}) {
        BOOST_TEST(!doubts(text).duplicate_keys, text);
    }
    BOOST_TEST(doubts("[0,{\"a\":1e999}]").infinite_numbers);
    BOOST_TEST(doubts("-1e999").infinite_numbers);
    BOOST_TEST(!doubts("[1e308]").infinite_numbers);
}

BOOST_AUTO_TEST_SUITE_END()
