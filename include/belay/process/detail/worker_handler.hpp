#ifndef BELAY_PROCESS_DETAIL_WORKER_HANDLER_HPP
#define BELAY_PROCESS_DETAIL_WORKER_HANDLER_HPP

// What a request is given by its caller, with its type erased.

#include <belay/core/error.hpp>
#include <belay/process/worker_types.hpp>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/prefer.hpp>

#include <concepts>
#include <utility>

namespace belay::process::detail {

struct worker_handler {
    /// With the reply by reference, since each layer of an any_completion_handler would move it.
    using function = boost::asio::any_completion_handler<void(error_code, worker_reply&&)>;

    template <class Handler>
    worker_handler(const boost::asio::any_io_executor& here, Handler&& handler)
        : elsewhere(executor_unless(here, boost::asio::get_associated_executor(handler, here))),
          call(std::forward<Handler>(handler))
    {}

    boost::asio::any_completion_executor elsewhere;  ///< its own, kept at work; empty: the worker's
    function call;

private:
    template <class Executor>
    static boost::asio::any_completion_executor executor_unless(
        const boost::asio::any_io_executor& here, const Executor& own)
    {
        if constexpr (std::constructible_from<boost::asio::any_io_executor, const Executor&>)
            if (boost::asio::any_io_executor(own) == here) return {};
        return boost::asio::prefer(boost::asio::any_completion_executor(own),
                                   boost::asio::execution::outstanding_work.tracked);
    }
};

}  // namespace belay::process::detail

#endif
