#ifndef BELAY_PROCESS_DETAIL_RUN_HANDLER_HPP
#define BELAY_PROCESS_DETAIL_RUN_HANDLER_HPP

// What an operation is given by its caller, with its type erased.

#include <belay/core/error.hpp>
#include <belay/process/exit_report.hpp>

#include <boost/asio/any_completion_handler.hpp>

namespace belay::process::detail {

struct spawn_request;
struct spawn_result;

using spawner = spawn_result (*)(const spawn_request&);
using run_handler = boost::asio::any_completion_handler<void(error_code, exit_report)>;

}  // namespace belay::process::detail

#endif
