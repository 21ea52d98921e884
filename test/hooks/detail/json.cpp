#include <belay/hooks/detail/json.hpp>

#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <random>
#include <string>
#include <string_view>

using namespace belay::hooks::detail;

BOOST_AUTO_TEST_SUITE(json_suite)

BOOST_AUTO_TEST_CASE(the_grammar_knows_a_document_however_deep_and_whatever_it_holds)
{
    const std::string deep(200000, '[');
    for (const std::string& text :
         {std::string("{}"), std::string("[]"), std::string(" [ ] "), std::string("null"),
          std::string("-0.5e+10"), std::string("0"), std::string("1E400"), std::string("\"\""),
          std::string(R"({"a":{"b":[1,[],{},"c"]},"a":[true,false]})"),
          std::string("\t{ \"a\" :\n1 ,\r\n\"b\" : [ 1 , 2 ] }"),
          std::string(R"(["\ud800","\u00e9\n\/"])"), std::string("\"\x7F\""),
          deep + std::string(200000, ']')}) {
        BOOST_TEST(is_json(text), text.substr(0, 80));
    }
}

BOOST_AUTO_TEST_CASE(the_grammar_refuses_what_is_no_document)
{
    for (const std::string_view text : {"",
                                        " ",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        "{]",
                                        "[}",
                                        "[1,]",
                                        "[,1]",
                                        "[1 2]",
                                        "{\"a\"}",
                                        "{\"a\":}",
                                        "{\"a\":1,}",
                                        "{,}",
                                        "{1:2}",
                                        "{\"a\" 1}",
                                        "{\"a\":1 \"b\":2}",
                                        "{}{}",
                                        "[] x",
                                        "nul",
                                        "nulll",
                                        "True",
                                        "01",
                                        "-",
                                        "+1",
                                        ".5",
                                        "1.",
                                        "1e",
                                        "1e+",
                                        "0x1",
                                        "NaN",
                                        "Infinity",
                                        "\"",
                                        "\"\\\"",
                                        "\"\\x\"",
                                        "\"\\u12\"",
                                        "\"\\u12g4\"",
                                        "\"\n\"",
                                        "'a'",
                                        "[1]]",
                                        "[\"a\":1]",
                                        "\xEF\xBB\xBF{}",
                                        "\xC2\xA0{}",
                                        "// c\n{}"}) {
        BOOST_TEST(!is_json(text), text);
    }
}

BOOST_AUTO_TEST_CASE(a_fault_says_whether_the_text_was_json_all_the_same)
{
    const auto fault_of = [](const std::string& text) {
        boost::json::value document;
        const auto fault = parse_json(text, document);
        BOOST_REQUIRE_MESSAGE(fault.has_value(), text.substr(0, 80));
        return *fault;
    };
    for (const auto& text :
         {std::string(129, '[') + std::string(129, ']'), std::string(R"("\ud800")"),
          std::string(R"({"a":"\udc00 "})"), std::string("[1e99999999999]")}) {
        BOOST_TEST(fault_of(text).is_json, text);
    }
    for (const auto& text : {std::string(129, '['), std::string(R"("\ud800)"), std::string("{} {}"),
                             std::string(""), std::string("[1e99999999999")}) {
        BOOST_TEST(!fault_of(text).is_json, text);
    }
}

// Whatever is read as JSON is JSON: what is no JSON is never taken for something unreadable.
BOOST_AUTO_TEST_CASE(the_grammar_agrees_with_the_parser)
{
    static constexpr std::string_view pieces[] = {
        "{",  "}",  "[",    "]",    ",",     ":",      "\"", "\\", "u",     "00", "e",
        "-1", ".5", "null", "true", "\"a\"", "\"b\":", " ",  "\n", "ud83d", "1"};
    std::mt19937 random(7);  // the same texts each time
    std::uniform_int_distribution<std::size_t> piece(0, std::size(pieces) - 1);
    std::uniform_int_distribution<int> length(1, 12);
    int documents = 0;
    for (int i = 0; i != 200000; ++i) {
        std::string text;
        for (int n = length(random); n != 0; --n) text += pieces[piece(random)];
        boost::json::value document;
        const auto fault = parse_json(text, document);
        documents += fault ? 0 : 1;
        if (is_json(text) != (fault ? fault->is_json : true)) BOOST_ERROR(text);
        // Half of a surrogate pair is all that can be refused here for another reason.
        if (fault && fault->is_json && text.find("ud83d") == std::string::npos) BOOST_ERROR(text);
    }
    BOOST_TEST(documents > 1000);
}

BOOST_AUTO_TEST_SUITE_END()
