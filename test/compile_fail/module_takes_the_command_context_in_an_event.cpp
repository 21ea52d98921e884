// error: belay: this handler cannot be called with this event; let its parameter be const E&
// prints: turn_end
#include <belay/modules/module.hpp>

void f(belay::modules::api& api)
{
    api.on<belay::modules::turn_end>(
        [](const belay::modules::turn_end&, const belay::modules::command_context&) {});
}
