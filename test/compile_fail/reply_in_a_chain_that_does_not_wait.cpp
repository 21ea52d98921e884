// error: belay: a handler that takes a reply answers later, and this chain does not wait; add it to an async_chain
// prints: gate
#include "event.hpp"

void f(belay::chain<gate>& handlers)
{
    handlers.add({}, [](const gate&, belay::reply<gate> answer) { answer(); });
}
