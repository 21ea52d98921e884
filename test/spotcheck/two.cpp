#include <belay/belay.hpp>
//
#include <belay/fwd.hpp>

const boost::system::error_category* category_in_two();

const boost::system::error_category* category_in_two()
{
    return &belay::error_category();
}
