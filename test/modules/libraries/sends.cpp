// A module that sends a message while it is loaded.

#include <belay/modules/module.hpp>

namespace {

void sends(belay::modules::api& api)
{
    api.send_message("hello");
}

}  // namespace

BELAY_MODULE(sends)
