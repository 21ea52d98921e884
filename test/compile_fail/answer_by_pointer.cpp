// error: belay: this handler returns a reference or a pointer; return the answer by value
// prints: gate
#include "event.hpp"

void f(belay::chain<gate>& handlers, belay::block& kept)
{
    handlers.add({}, [&kept](const gate&) { return &kept; });
}
