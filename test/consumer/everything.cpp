#include <belay/belay.hpp>

int main()
{
    return belay::make_error_code(belay::errc::cancelled).message().empty() ? 1 : 0;
}
