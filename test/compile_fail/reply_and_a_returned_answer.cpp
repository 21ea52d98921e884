// error: belay: a handler that takes a reply answers through it; let it return nothing
// prints: gate
#include "event.hpp"

#include <belay/core/async_chain.hpp>

void f(belay::async_chain<gate>& handlers)
{
    handlers.add({}, [](const gate&, belay::reply<gate> answer) {
        answer();
        return belay::block{"no"};
    });
}
