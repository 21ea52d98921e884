// error: belay: this handler returns the answer of another event; return E::answer, or one of its alternatives
// prints: gate
#include "event.hpp"

void f(belay::chain<gate>& handlers)
{
    handlers.add({}, [](const gate&) { return std::variant<belay::observe, patch>(); });
}
