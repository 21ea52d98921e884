// error: nodiscard
// prints: async_dispatch
#pragma GCC diagnostic error "-Wunused-result"
#include <belay/core/async_chain.hpp>

#include "event.hpp"

// Without a completion token it is made, and never started.
void f(belay::async_chain<gate>& chain)
{
    chain.async_dispatch(gate{});
}
