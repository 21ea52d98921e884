#ifndef BELAY_PROCESS_DETAIL_WORKER_HANDLER_HPP
#define BELAY_PROCESS_DETAIL_WORKER_HANDLER_HPP

// What a request is given by its caller, with its type erased.

#include <belay/core/error.hpp>
#include <belay/process/worker_types.hpp>

#include <boost/asio/any_completion_handler.hpp>

namespace belay::process::detail {

using worker_handler = boost::asio::any_completion_handler<void(error_code, worker_reply)>;

}  // namespace belay::process::detail

#endif
