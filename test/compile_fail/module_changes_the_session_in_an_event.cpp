// error: async_new_session
// prints: handler_context
#include <belay/modules/module.hpp>

void f(belay::modules::api& api)
{
    api.on<belay::modules::turn_end>(
        [](const belay::modules::turn_end&, const belay::modules::handler_context& here) {
            here.async_new_session({}, [](std::exception_ptr, belay::modules::session_change) {});
        });
}
