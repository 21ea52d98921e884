// error: belay: this event only notifies, nothing can be said about it; let the handler return nothing
// prints: note
// prints: block
#include "event.hpp"

void f(belay::chain<note>& handlers)
{
    handlers.add({}, [](const note&) { return belay::block{"no"}; });
}
