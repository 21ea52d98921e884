// error: belay: this event does not accept what the handler returns; return nothing, one alternative of E::answer, a std::optional of one, or E::answer
// prints: gate
// prints: patch
#include "event.hpp"

#include <belay/core/coroutine.hpp>

void f(belay::async_chain<gate>& handlers)
{
    handlers.add({}, [](const gate&) -> boost::asio::awaitable<patch> { co_return patch{}; });
}
