// The forward declarations come first here, and last in two.cpp: both must agree with the definitions.
#include <belay/fwd.hpp>
//
#include <belay/belay.hpp>

#include <cstdio>

const boost::system::error_category* category_in_two();

int main()
{
    if (&belay::error_category() != category_in_two()) {
        std::puts("the two translation units do not share their definitions");
        return 1;
    }
}
