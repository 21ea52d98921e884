// error: belay: this event only notifies, nothing can be said about it; let the handler return nothing
// prints: session_start
#include <belay/modules/module.hpp>

void f(belay::modules::api& api)
{
    api.on<belay::modules::session_start>(
        [](const belay::modules::session_start&) { return belay::block{"no"}; });
}
