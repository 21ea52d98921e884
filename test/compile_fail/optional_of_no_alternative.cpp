// error: belay: the std::optional that this handler returns does not hold an alternative of E::answer; let it hold exactly one of them
// prints: gate
// prints: patch
#include "event.hpp"

void f(belay::chain<gate>& handlers)
{
    handlers.add({}, [](const gate&) { return std::optional<patch>(); });
}
