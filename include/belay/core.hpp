#ifndef BELAY_CORE_HPP
#define BELAY_CORE_HPP

// The kernel: typed events, the answers of their handlers, and the chains that combine them.
// Needs the standard library and Boost.System's headers, and nothing to link.
//
// An event is what happened; it names its answer, what one handler may say about it, and its fold, the
// rule by which answers combine into the outcome. Begin with event.hpp, then chain.hpp.
//
// Handlers that answer later are in <belay/core/async_chain.hpp>, observers that nobody waits for
// in <belay/core/observers.hpp>, coroutines in <belay/core/coroutine.hpp>: these need Boost.Asio.

#include <belay/core/answer.hpp>
#include <belay/core/chain.hpp>
#include <belay/core/draft.hpp>
#include <belay/core/error.hpp>
#include <belay/core/event.hpp>
#include <belay/core/failure.hpp>
#include <belay/core/handler.hpp>
#include <belay/core/matcher.hpp>
#include <belay/core/static_chain.hpp>
#include <belay/core/trace.hpp>

#endif
