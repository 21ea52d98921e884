// error: belay: this event does not accept what the handler returns
// prints: tool_result
#include <belay/modules/module.hpp>

void f(belay::modules::api& api)
{
    api.on<belay::modules::tool_result>([](const belay::modules::tool_result&,
                                           belay::modules::handler_context) {
        return belay::block{"too late"};
    });
}
