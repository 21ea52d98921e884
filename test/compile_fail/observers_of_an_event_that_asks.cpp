// error: belay: only an event that notifies can have observers; let its fold be belay::notify_fold<E>, or use an async_chain
// prints: gate
#include "event.hpp"

#include <belay/core/observers.hpp>

void f(belay::observers<gate>& watchers)
{
    watchers.notify({});
}
