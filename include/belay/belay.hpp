#ifndef BELAY_BELAY_HPP
#define BELAY_BELAY_HPP

// Everything public, except what pulls in more than it: coroutine handlers
// (<belay/core/coroutine.hpp>, <belay/hooks/coroutine.hpp>), the launcher for Boost.Process
// (<belay/process/boost_launcher.hpp>), and the status line, which needs ICU
// (<belay/modules/status_line.hpp>).

#include <belay/core.hpp>
#include <belay/core/async_chain.hpp>
#include <belay/core/observers.hpp>
#include <belay/hooks.hpp>
#include <belay/modules.hpp>
#include <belay/process.hpp>
#include <belay/version.hpp>

#endif
