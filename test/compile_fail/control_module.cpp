#include <belay/modules/module.hpp>

void f(belay::modules::api& api)
{
    api.on<belay::modules::tool_call>(
        [](const belay::modules::tool_call&, belay::modules::handler_context) {
            return belay::block{"no"};
        });
    api.register_command("handoff", "", [](const belay::modules::command&,
                                           const belay::modules::command_context& here) {
        here.async_new_session({}, [](std::exception_ptr, belay::modules::session_change) {});
    });
}
