// A module whose std::string is laid out as before C++11.

#undef _GLIBCXX_USE_CXX11_ABI
#define _GLIBCXX_USE_CXX11_ABI 0

#include <belay/modules/module.hpp>

namespace {

void module(belay::modules::api&)
{
    __builtin_trap();
}

}  // namespace

BELAY_MODULE(module)
