// error: belay: a slash command cannot be called like this; let its parameters be const command&
#include <belay/modules/module.hpp>

#include <string>

void f(belay::modules::api& api)
{
    api.register_command("x", "", [](const std::string&, belay::modules::command_context) {});
}
