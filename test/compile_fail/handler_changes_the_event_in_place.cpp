// error: belay: this handler takes its event by non-const reference; take const E&, and return an answer instead of changing the event
// prints: gate
#include "event.hpp"

void f(belay::chain<gate>& handlers)
{
    handlers.add({}, [](gate& event) { event.text.clear(); });
}
