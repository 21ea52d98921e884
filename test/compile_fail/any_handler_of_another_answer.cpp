// error: belay: this event does not accept what the handler returns; return nothing, one alternative of E::answer, a std::optional of one, or E::answer
// prints: gate
// prints: bool
#include <belay/core/any_handler.hpp>

#include "event.hpp"

belay::any_handler<gate> f()
{
    return [](const gate&) { return false; };
}
