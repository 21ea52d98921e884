#ifndef BELAY_PROCESS_IMPL_RUN_IPP
#define BELAY_PROCESS_IMPL_RUN_IPP

#include <belay/process/detail/run_op.hpp>
#include <belay/process/run.hpp>

#include <memory>

namespace belay::process::detail {

BELAY_DECL void start_run(boost::asio::any_io_executor executor, invocation what, std::string input,
                          run_handler handler, spawner spawn)
{
    std::make_shared<run_op>(std::move(executor), std::move(what), std::move(input),
                             std::move(handler), spawn)
        ->begin();
}

}  // namespace belay::process::detail

#endif
