#ifndef BELAY_PROCESS_HPP
#define BELAY_PROCESS_HPP

// Running programs. <belay/process/boost_launcher.hpp> is not included on purpose: it brings
// Boost.Process.

#include <belay/process/exit_report.hpp>
#include <belay/process/invocation.hpp>
#include <belay/process/run.hpp>
#include <belay/process/serve.hpp>
#include <belay/process/utf8.hpp>
#include <belay/process/worker.hpp>

#endif
