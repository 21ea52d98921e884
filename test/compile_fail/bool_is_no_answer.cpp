// error: belay: this event does not accept what the handler returns; return nothing, one alternative of E::answer, a std::optional of one, or E::answer
// prints: gate
// prints: bool
#include "event.hpp"

void f(belay::chain<gate>& handlers)
{
    handlers.add({}, [](const gate&) { return false; });
}
