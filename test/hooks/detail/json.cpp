#include <belay/hooks/detail/json.hpp>

#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include <string>

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

BOOST_AUTO_TEST_SUITE_END()
