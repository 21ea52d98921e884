// error: belay: this handler cannot be called with this event; let its parameter be const E&
// prints: turn_ending
#include <belay/hooks/session_types.hpp>

belay::hooks::session_options f()
{
    return {.before_turn_ends = [](const belay::hooks::pre_turn&) {}};
}
