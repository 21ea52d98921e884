#ifndef BELAY_CORE_DETAIL_POST_COMPLETION_HPP
#define BELAY_CORE_DETAIL_POST_COMPLETION_HPP

// How an operation completes.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace belay::detail {

// Through a post to the operation's executor, then on the handler's own, which `work` has kept at work.
template <class Work, class Handler, class... Result>
void post_completion(const boost::asio::any_io_executor& executor, Work work, Handler handler,
                     Result... result)
{
    const auto where = boost::asio::get_associated_executor(handler, executor);
    auto finished = [handler = std::move(handler), work = std::move(work),
                     ... result = std::move(result)]() mutable {
        // Here, on the handler's executor, since that is where cancellations are emitted.
        auto slot = boost::asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) slot.clear();
        work.reset();
        std::move(handler)(std::move(result)...);
    };
    boost::asio::post(executor, boost::asio::bind_executor(where, std::move(finished)));
}

}  // namespace belay::detail

#endif
