#include <belay/process/invocation.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using belay::errc;
using belay::process::argv_elements_limit;
using belay::process::argv_json_limit;
using belay::process::check_argv;
using belay::process::json_size;

namespace {

using strings = std::vector<std::string>;

bool is_refused(const strings& argv, const std::string& words)
{
    const auto outcome = check_argv(argv);
    if (outcome) return false;
    BOOST_TEST_INFO(outcome.error().message);
    BOOST_TEST(outcome.error().message.find(words) != std::string::npos);
    return outcome.error().code == errc::invalid_argv;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(invocation)

BOOST_AUTO_TEST_CASE(the_limits_are_those_of_the_document)
{
    const belay::process::invocation plain;
    BOOST_TEST(plain.limits.input == 262144U);
    BOOST_TEST(plain.limits.out == 65536U);
    BOOST_TEST(plain.limits.err == 65536U);
    BOOST_TEST(!plain.timeout.has_value());
    BOOST_TEST(belay::process::limits::none().out == belay::process::no_limit);
}

BOOST_AUTO_TEST_CASE(the_size_is_that_of_compact_json)
{
    BOOST_TEST(json_size({}) == std::string("[]").size());
    BOOST_TEST(json_size({"/a"}) == std::string(R"(["/a"])").size());
    BOOST_TEST(json_size({"/a", "b c"}) == std::string(R"(["/a","b c"])").size());
    BOOST_TEST(json_size({"\"\\"}) == std::string(R"(["\"\\"])").size());
    BOOST_TEST(json_size({"\b\f\n\r\t"}) == std::string(R"(["\b\f\n\r\t"])").size());
    BOOST_TEST(json_size({"\x01\x1F\x0B\x7F"}) ==
               std::string(R"(["\u0001\u001f\u000b"])").size() + 1);
    BOOST_TEST(json_size({"\xC3\xA9"}) == 6U);
}

BOOST_AUTO_TEST_CASE(sixteen_elements_are_allowed_and_seventeen_are_not)
{
    strings argv(argv_elements_limit, "x");
    argv[0] = "/x";
    BOOST_TEST(check_argv(argv).has_value());
    argv.emplace_back("x");
    BOOST_TEST(is_refused(argv, "17 elements"));
}

BOOST_AUTO_TEST_CASE(exactly_8_kib_of_json_are_allowed_and_one_byte_more_is_not)
{
    strings argv = {"/x", ""};
    argv[1].assign(argv_json_limit - json_size(argv), 'x');
    BOOST_TEST(json_size(argv) == argv_json_limit);
    BOOST_TEST(check_argv(argv).has_value());
    argv[1] += 'x';
    BOOST_TEST(is_refused(argv, "8193 bytes"));
}

BOOST_AUTO_TEST_CASE(an_argv_that_cannot_be_used_is_refused_and_the_element_named)
{
    BOOST_TEST(is_refused({}, "empty"));
    BOOST_TEST(is_refused({""}, "argv[0]"));
    BOOST_TEST(is_refused({"/x", "a", ""}, "argv[2] is empty"));
    BOOST_TEST(is_refused({"/x", std::string("a\0b", 3)}, "argv[1] holds a NUL"));
}

BOOST_AUTO_TEST_SUITE_END()
