// error: belay: this event has no subject
// prints: gate
#include "event.hpp"

void f()
{
    belay::chain<gate> handlers;
    handlers.add({}, belay::exact("bash"), [](const gate&) {});
}
