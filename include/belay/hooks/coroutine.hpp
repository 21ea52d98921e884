#ifndef BELAY_HOOKS_COROUTINE_HPP
#define BELAY_HOOKS_COROUTINE_HPP

// Lets hooks and the functions of a host be coroutines: include it before they are made.
//
//     host.run = [](const tool_call& call) -> boost::asio::awaitable<tool_result> { ... };

#include <belay/core/coroutine.hpp>
#include <belay/hooks/host_function.hpp>

#endif
