#ifndef BELAY_PROCESS_IMPL_WORKER_IPP
#define BELAY_PROCESS_IMPL_WORKER_IPP

#include <belay/process/detail/worker_op.hpp>
#include <belay/process/worker.hpp>

namespace belay::process {

BELAY_DECL worker::worker(executor_type executor, worker_options options, clock& time)
    : executor_(std::move(executor)),
      op_(std::make_shared<detail::worker_op>(executor_, std::move(options), time))
{}

BELAY_DECL worker::~worker()
{
    shut_down();
}

BELAY_DECL void worker::shut_down()
{
    if (op_) op_->shut_down();
}

namespace detail {

BELAY_DECL void start_request(const std::shared_ptr<worker_op>& to, std::string&& event,
                              std::optional<std::chrono::milliseconds> timeout,
                              turn_listener&& turn, worker_handler&& handler)
{
    to->request(std::move(event), timeout, std::move(turn), std::move(handler));
}

}  // namespace detail
}  // namespace belay::process

#endif
