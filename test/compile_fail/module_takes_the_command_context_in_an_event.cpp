// error: a command_context is for slash commands
// prints: turn_end
#include <belay/modules/module.hpp>

void f(belay::modules::api& api)
{
    api.on<belay::modules::turn_end>(
        [](const belay::modules::turn_end&, const belay::modules::command_context&) {});
}
