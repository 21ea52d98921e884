// error: belay: this handler cannot be called with this event; let its parameter be const E&
// prints: gate
#include "event.hpp"

void f()
{
    auto handlers = belay::make_static_chain<gate>([](const gate&) {}, [](const note&) {});
    handlers.dispatch({});
}
