// error: belay: a coroutine answers later, and this chain does not wait; add the handler to an async_chain
// prints: gate
#include "event.hpp"

#include <belay/core/coroutine.hpp>

void f(belay::chain<gate>& handlers)
{
    handlers.add({}, [](const gate&) -> boost::asio::awaitable<void> { co_return; });
}
