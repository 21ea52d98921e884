// error: belay: this handler cannot be called with this event; let its parameter be const E&
// prints: gate
#include "event.hpp"

void f(belay::chain<gate>& handlers)
{
    handlers.add({}, [](const note&) {});
}
