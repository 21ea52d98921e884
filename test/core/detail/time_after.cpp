#include <belay/core/detail/time_after.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace std::chrono_literals;
using belay::detail::time_after;
using milliseconds = std::chrono::milliseconds;

BOOST_AUTO_TEST_SUITE(time_after_suite)

BOOST_AUTO_TEST_CASE(it_is_so_much_later_and_never_beyond_the_end_of_time)
{
    const std::chrono::steady_clock::time_point start(1h);
    const auto end = std::chrono::steady_clock::time_point::max();
    BOOST_TEST((time_after(start, 5ms) == start + 5ms));
    BOOST_TEST((time_after(start, 0ms) == start));
    BOOST_TEST((time_after(start, milliseconds::max()) == end));
    BOOST_TEST((time_after(end - 1ms, 2ms) == end));
}

BOOST_AUTO_TEST_CASE(a_negative_wait_is_none)
{
    const std::chrono::steady_clock::time_point start(1h);
    BOOST_TEST((time_after(start, -5ms) == start));
    BOOST_TEST((time_after(start, milliseconds::min()) == start));
}

BOOST_AUTO_TEST_SUITE_END()
