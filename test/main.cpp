// The one place of a test executable that holds Boost.Test's main.
#define BOOST_TEST_MODULE belay
#include <boost/test/unit_test.hpp>
