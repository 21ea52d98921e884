#include <belay/process/run.hpp>
#include <belay/process/serve.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include "support.hpp"
#include <string>
#include <utility>

namespace process = belay::process;

namespace {

/// What the probe, which serves, did with this input.
process::exit_report served(std::string input)
{
    boost::asio::io_context loop;
    process::exit_report result;
    auto what = test::probe({"serve"});
    what.limits = process::limits::none();
    process::async_run(loop.get_executor(), std::move(what), std::move(input),
                       [&](belay::error_code error, process::exit_report report) {
                           BOOST_TEST(!error);
                           result = std::move(report);
                       });
    loop.run();
    return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(serve)

BOOST_AUTO_TEST_CASE(each_event_is_answered_in_order_until_stdin_ends)
{
    const auto report = served(
        "{\"id\":1,\"event\":{\"a\":1}}\n{\"id\":9,\"event\":[2]}\n{\"event\":3,\"id\":4}\r\n");
    BOOST_TEST(report.status.is_success());
    BOOST_TEST(
        report.out ==
        "{\"id\":1,\"result\":{\"a\":1}}\n{\"id\":9,\"result\":[2]}\n{\"id\":4,\"result\":3}\n");
    BOOST_TEST(report.err.empty());
}

BOOST_AUTO_TEST_CASE(no_event_is_no_failure)
{
    const auto report = served("");
    BOOST_TEST(report.status.is_success());
    BOOST_TEST(report.out.empty());
}

BOOST_AUTO_TEST_CASE(events_may_be_large_and_many)
{
    std::string input;
    std::string expected;
    for (int i = 1; i <= 1000; ++i) {
        const std::string value = '"' + std::string(i % 100 == 0 ? 200000 : 20, 'x') + '"';
        const std::string id = "{\"id\":" + std::to_string(i);
        input += id + ",\"event\":" + value + "}\n";
        expected += id + ",\"result\":" + value + "}\n";
    }
    const auto report = served(input);
    BOOST_TEST(report.status.is_success());
    BOOST_TEST((report.out == expected));
}

BOOST_AUTO_TEST_CASE(a_line_that_is_no_request_is_quoted_after_what_came_before_was_answered)
{
    const auto report = served("{\"id\":1,\"event\":1}\nhello\n{\"id\":2,\"event\":2}\n");
    BOOST_TEST(report.status.code().value() == 1);
    BOOST_TEST(report.out == "{\"id\":1,\"result\":1}\n");
    BOOST_TEST(report.err == "worker: this is no request, not a JSON object: \"hello\"\n");
}

BOOST_AUTO_TEST_CASE(a_request_without_an_event_is_refused)
{
    const auto report = served("{\"id\":1}\n");
    BOOST_TEST(report.status.code().value() == 1);
    BOOST_TEST(report.err == "worker: this request has no event: \"{\"id\":1}\"\n");
}

BOOST_AUTO_TEST_CASE(an_exception_ends_it_and_is_told)
{
    const auto report = served("{\"id\":1,\"event\":1}\n{\"id\":2,\"event\":\"throw\"}\n");
    BOOST_TEST(report.status.code().value() == 1);
    BOOST_TEST(report.out == "{\"id\":1,\"result\":1}\n");
    BOOST_TEST(report.err == "worker: request 2: as you wish\n");
}

BOOST_AUTO_TEST_CASE(an_end_within_a_line_is_an_error)
{
    const auto report = served("{\"id\":1,\"event\":1}\n{\"id\":2,\"ev");
    BOOST_TEST(report.status.code().value() == 1);
    BOOST_TEST(report.out == "{\"id\":1,\"result\":1}\n");
    BOOST_TEST(report.err == "worker: stdin ends within a line: \"{\"id\":2,\"ev\"\n");
}

BOOST_AUTO_TEST_SUITE_END()
