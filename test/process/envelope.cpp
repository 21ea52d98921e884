#include <belay/process/detail/envelope.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

using belay::errc;
using belay::process::detail::append_envelope;
using belay::process::detail::quotation;
using belay::process::detail::read_envelope;

namespace {

std::string written(std::uint64_t id, std::string_view member, std::string_view value)
{
    std::string line;
    append_envelope(line, id, member, value);
    return line;
}

/// Why it is no envelope.
belay::diagnosis fault(std::string_view line)
{
    const auto read = read_envelope(line, "result");
    BOOST_REQUIRE(!read);
    return read.error();
}

/// The id and the value.
std::string taken(std::string_view line)
{
    const auto read = read_envelope(line, "result");
    BOOST_REQUIRE(read);
    return std::to_string(read->id) + ' ' + std::string(read->value);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(envelope)

BOOST_AUTO_TEST_CASE(the_value_is_taken_as_it_stands)
{
    BOOST_TEST(taken(R"({"id":1,"result":{"a":[1,{"b":"}]"}]}})") == R"(1 {"a":[1,{"b":"}]"}]})");
    BOOST_TEST(taken(R"({"result":"a\"}\\","id":7})") == R"(7 "a\"}\\")");
    BOOST_TEST(taken("{\"id\":2,\"result\":[ ]}") == "2 [ ]");
    BOOST_TEST(taken("\t{ \"id\" : 3 , \"result\" : -1.5e3 } \r") == "3 -1.5e3");
    BOOST_TEST(taken("{\"id\":0,\"result\":null}") == "0 null");
    BOOST_TEST(taken("{\"id\":18446744073709551615}") == "18446744073709551615 ");
}

BOOST_AUTO_TEST_CASE(a_value_is_any_json_and_nothing_else)
{
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    for (const std::string value :
         {"true", "false", "null", "0", "-0", "10", "-1.5", "1e3", "1E+3", "0.0e-1", "\"\"",
          "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD800\"", "\"\x7F\xC3\xA9\"", "[]", "[ ]", "{ }",
          "[1 , [2]]", "{\"a\" : {\"b\":[{}]} , \"a\":1}"}) {
        BOOST_TEST_INFO(value);
        BOOST_TEST(taken("{\"id\":1,\"result\":" + value + "}") == "1 " + value);
    }
    BOOST_TEST(taken("{\"id\":1,\"result\":" + nested(500) + "}") == "1 " + nested(500));
    for (const std::string value : {"nonsense",  "True",       "nul",      "nulll",
                                    "01",        "-",          "+1",       ".5",
                                    "1.",        "1e",         "1e+",      "0x1",
                                    "--1",       "'a'",        "\"\\a\"",  "\"\\u12g4\"",
                                    "\"\\u12\"", "\"\t\"",     "\"a\"b\"", "[1,]",
                                    "[,1]",      "[1 2]",      "[1}",      "{\"a\"}",
                                    "{\"a\":}",  "{\"a\":1,}", "{a:1}",    "{\"a\":1 \"b\":2}",
                                    "{1:2}",     "{]"}) {
        BOOST_TEST_INFO(value);
        BOOST_TEST((fault("{\"id\":1,\"result\":" + value + "}").code == errc::not_json));
    }
    BOOST_TEST((fault("{\"id\":1,\"result\":" + nested(501) + "}").code == errc::not_json));
    BOOST_TEST((fault("{\"id\":1,\"result\":" + std::string(100'000, '[')).code == errc::not_json));
}

BOOST_AUTO_TEST_CASE(what_is_no_json_is_refused_with_its_place)
{
    BOOST_TEST(fault("hello").message == "not a JSON object");
    BOOST_TEST(fault("{\"id\":1,\"result\":{\"power\":}}").message == "not valid JSON at byte 26");
    BOOST_TEST(fault("{\"id\":1,\"result\":{\"a\":1,}}").message == "not valid JSON at byte 24");
}

BOOST_AUTO_TEST_CASE(what_is_no_object_is_refused)
{
    for (const std::string_view line : {"",
                                        " ",
                                        "\r",
                                        "hello",
                                        "[]",
                                        "1",
                                        "\"id\"",
                                        "{",
                                        "{\"id\"",
                                        "{\"id\":",
                                        "{\"id\":1",
                                        "{\"id\":1,",
                                        "{\"id\":1,}",
                                        "{,\"id\":1}",
                                        "{\"id\":1 \"result\":1}",
                                        "{\"id\":1,\"result\":}",
                                        "{\"id\":1,\"result\":{}",
                                        "{\"id\":1,\"result\":\"a}",
                                        "{\"id\":1,\"result\":\"a\\",
                                        "{\"id\":1,\"result\":[{}}",
                                        "{\"id\":1}{",
                                        "{\"id\":1} x",
                                        "{id:1}",
                                        "{\"id\" 1}",
                                        "{\"id\":1,\"result\":1 2}",
                                        "{\"id\":1]"}) {
        BOOST_TEST_INFO(line);
        BOOST_TEST((fault(line).code == errc::not_json));
    }
}

BOOST_AUTO_TEST_CASE(other_members_and_members_that_are_there_twice_are_refused)
{
    for (const std::string_view line :
         {"{}", "{\"result\":1}", "{\"id\":1,\"id\":1}", "{\"id\":1,\"result\":1,\"result\":1}",
          "{\"id\":1,\"event\":1}", "{\"id\":1,\"Result\":1}", "{\"id\":1,\"res\\u0075lt\":1}"}) {
        BOOST_TEST_INFO(line);
        BOOST_TEST((fault(line).code == errc::invalid_answer));
    }
    BOOST_TEST(fault("{\"id\":1,\"event\":1}").message == "it has a member \"event\"");
    BOOST_TEST(fault("{\"power\":\"observe\"}").message ==
               "it has no \"id\" (a line is {\"id\":1,\"result\":...})");
}

BOOST_AUTO_TEST_CASE(an_id_that_is_no_whole_number_is_refused)
{
    for (const std::string_view id :
         {"-1", "1.0", "1e3", "\"1\"", "null", "18446744073709551616", "[1]"}) {
        BOOST_TEST_INFO(id);
        BOOST_TEST((fault("{\"id\":" + std::string(id) + "}").code == errc::invalid_answer));
    }
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_utf_8_are_refused)
{
    const auto why = fault("{\"id\":1,\"result\":\"\xC0\x80\"}");
    BOOST_TEST((why.code == errc::not_utf8));
    BOOST_TEST(why.message == "not UTF-8 at byte 18");
}

BOOST_AUTO_TEST_CASE(a_line_that_was_written_can_be_read)
{
    BOOST_TEST(written(1, "event", "{\"a\":1}") == "{\"id\":1,\"event\":{\"a\":1}}\n");
    BOOST_TEST(written(2, "result", "") == "{\"id\":2}\n");
    BOOST_TEST(written(3, "result", "[\r\n1]\n") == "{\"id\":3,\"result\":[  1] }\n");
    std::string lines = "before\n";
    append_envelope(lines, 4, "event", "1");
    BOOST_TEST(lines == "before\n{\"id\":4,\"event\":1}\n");
    const auto most = std::numeric_limits<std::uint64_t>::max();
    const std::string line = written(most, "result", "{}");
    const auto read = read_envelope(line, "result");
    BOOST_REQUIRE(read);
    BOOST_TEST(read->id == most);
    BOOST_TEST(read->value == "{}");
}

BOOST_AUTO_TEST_CASE(a_quotation_is_one_line_that_does_nothing_to_a_terminal)
{
    BOOST_TEST(quotation("plain \"text\" \xC3\xA9") == "\"plain \"text\" \xC3\xA9\"");
    BOOST_TEST(quotation("a\x1b[2J\nb\r\x7F\xC2\x9B") ==
               "\"a\\u001b[2J\\u000ab\\u000d\\u007f\\u009b\"");
    BOOST_TEST(quotation("\xE2\x80\xAE") == "\"\\u202e\"");
    BOOST_TEST(quotation("\xFF") == "\"\xEF\xBF\xBD\"");
    BOOST_TEST(quotation("") == "\"\"");
}

BOOST_AUTO_TEST_CASE(a_quotation_is_cut_between_characters)
{
    BOOST_TEST(quotation(std::string(200, 'x')) == '"' + std::string(200, 'x') + '"');
    BOOST_TEST(quotation("abcd", 3) == "\"abc\"...");
    BOOST_TEST(quotation(std::string(201, 'x')) == '"' + std::string(200, 'x') + "\"...");
    std::string wide;
    for (int i = 0; i < 1000; ++i) wide += "\xF0\x9F\x98\x80";
    BOOST_TEST(quotation(wide) == '"' + wide.substr(0, 800) + "\"...");
}

BOOST_AUTO_TEST_SUITE_END()
