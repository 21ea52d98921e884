#include <belay/modules/tool.hpp>

#include <boost/asio/error.hpp>
#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <stdexcept>
#include <system_error>

using namespace belay;
using namespace belay::modules;

namespace {

template <class Exception>
bool cancels(const Exception& thrown)
{
    return is_cancellation(std::make_exception_ptr(thrown));
}

bool code_cancels(const error_code& code)
{
    return cancels(boost::system::system_error(code));
}

bool standard_code_cancels(const std::error_code& code)
{
    return cancels(std::system_error(code));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tool_suite)

BOOST_AUTO_TEST_CASE(an_abort_is_a_cancellation_whoever_throws_it)
{
    BOOST_TEST(cancels(tool_cancelled("stopped by user")));
    BOOST_TEST(code_cancels(boost::asio::error::operation_aborted));
    BOOST_TEST(code_cancels(make_error_code(boost::system::errc::operation_canceled)));
    BOOST_TEST(code_cancels(errc::cancelled));
    BOOST_TEST(standard_code_cancels(std::make_error_code(std::errc::operation_canceled)));
    BOOST_TEST(standard_code_cancels(make_error_code(errc::cancelled)));
    BOOST_TEST(standard_code_cancels(error_code(boost::asio::error::operation_aborted)));
}

BOOST_AUTO_TEST_CASE(a_deadline_is_a_cancellation)
{
    BOOST_TEST(code_cancels(errc::timed_out));
    BOOST_TEST(code_cancels(errc::deadline));
    BOOST_TEST(standard_code_cancels(make_error_code(errc::timed_out)));
    BOOST_TEST(standard_code_cancels(make_error_code(errc::deadline)));
}

BOOST_AUTO_TEST_CASE(other_failures_are_none)
{
    BOOST_TEST(!cancels(std::runtime_error("cancelled")));
    BOOST_TEST(!cancels(42));
    BOOST_TEST(!cancels(tool_blocked("no")));
    BOOST_TEST(!code_cancels(errc::spawn_failed));
    BOOST_TEST(!code_cancels(boost::asio::error::eof));
    BOOST_TEST(!standard_code_cancels(std::make_error_code(std::errc::no_such_file_or_directory)));
    // of a connection, not of the call
    BOOST_TEST(!code_cancels(boost::asio::error::timed_out));
    BOOST_TEST(!standard_code_cancels(std::make_error_code(std::errc::timed_out)));
    BOOST_TEST(!is_cancellation(nullptr));
}

BOOST_AUTO_TEST_SUITE_END()
