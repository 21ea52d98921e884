#ifndef BELAY_CORE_DETAIL_WAITING_HANDLER_HPP
#define BELAY_CORE_DETAIL_WAITING_HANDLER_HPP

// An operation's handler: how it waits, and hears of cancellation.

#include <belay/core/detail/post_completion.hpp>
#include <belay/core/error.hpp>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace belay::detail {

// A completion handler that is waiting for its outcome. Its executor is kept at work. All members
// but `make` are called on the executor that it was made with, which runs one thing at a time.
template <class Outcome, class Error = error_code>
class waiting_handler {
public:
    using handler_type = boost::asio::any_completion_handler<void(Error, Outcome)>;

    // In the initiating function: only there may the cancellation slot be touched.
    static std::shared_ptr<waiting_handler> make(const boost::asio::any_io_executor& executor,
                                                 handler_type handler)
    {
        const auto made = std::make_shared<waiting_handler>(executor, std::move(handler));
        auto slot = boost::asio::get_associated_cancellation_slot(*made->handler_);
        if (slot.is_connected()) {
            slot.assign([weak = std::weak_ptr(made)](boost::asio::cancellation_type) {
                // Posted, so that it comes after the beginning of the operation.
                if (const auto it = weak.lock()) {
                    boost::asio::post(it->executor_, [it] {
                        if (it->pending() && it->on_cancel_) it->on_cancel_();
                    });
                }
            });
        }
        return made;
    }

    waiting_handler(const boost::asio::any_io_executor& executor, handler_type handler)
        : executor_(executor),
          handler_(std::move(handler)),
          work_(boost::asio::get_associated_executor(*handler_, executor_))
    {}

    // What a cancellation does while the handler is waiting. It must not own the handler.
    void on_cancel(std::function<void()> f) { on_cancel_ = std::move(f); }

    bool pending() const noexcept { return handler_.has_value(); }

    void complete(Error why, Outcome outcome)
    {
        auto handler = *std::move(handler_);
        handler_.reset();
        post_completion(executor_, std::move(work_), std::move(handler), std::move(why),
                        std::move(outcome));
    }

    // Destroys it uncalled: the event loop is being destroyed.
    void forget() noexcept
    {
        work_.reset();
        handler_.reset();
    }

private:
    boost::asio::any_io_executor executor_;
    std::optional<handler_type> handler_;
    std::function<void()> on_cancel_;
    boost::asio::executor_work_guard<boost::asio::any_completion_executor> work_;
};

template <class Outcome>
using waiting_ptr = std::shared_ptr<waiting_handler<Outcome>>;

}  // namespace belay::detail

#endif
