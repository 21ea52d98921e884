// A module whose factory throws, after it has registered something.

#include <belay/modules/module.hpp>

#include <stdexcept>

namespace {

void throws(belay::modules::api& api)
{
    api.on<belay::modules::turn_start>([](const belay::modules::turn_start&) {});
    throw std::runtime_error("init");
}

}  // namespace

BELAY_MODULE(throws)
