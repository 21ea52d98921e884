#ifndef BELAY_HOOKS_DETAIL_COMPLETE_HPP
#define BELAY_HOOKS_DETAIL_COMPLETE_HPP

// How the operations of a session complete. Only bodies include this.

#include <belay/core/error.hpp>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <optional>
#include <utility>

namespace belay::hooks::detail {

// A completion handler that is waiting for its outcome. Its executor is kept at work, and its
// cancellation slot calls `on_cancel` until it is completed.
template <class Outcome>
class waiting_handler {
public:
    using handler_type = boost::asio::any_completion_handler<void(error_code, Outcome)>;

    waiting_handler(const boost::asio::any_io_executor& executor, handler_type handler)
        : executor_(executor),
          handler_(std::move(handler)),
          work_(boost::asio::get_associated_executor(*handler_, executor_))
    {}

    template <class F>
    void on_cancel(F f)
    {
        auto slot = boost::asio::get_associated_cancellation_slot(*handler_);
        if (!slot.is_connected()) return;
        slot.assign([f = std::move(f)](boost::asio::cancellation_type) { f(); });
    }

    bool pending() const noexcept { return handler_.has_value(); }

    // Through a post to the session's executor, then on the handler's own.
    void complete(error_code ec, Outcome outcome)
    {
        auto handler = *std::move(handler_);
        handler_.reset();
        auto slot = boost::asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) slot.clear();
        const auto where = boost::asio::get_associated_executor(handler, executor_);
        auto finished = [handler = std::move(handler), ec, outcome = std::move(outcome),
                         work = std::move(work_)]() mutable {
            work.reset();
            std::move(handler)(ec, std::move(outcome));
        };
        boost::asio::post(executor_, boost::asio::bind_executor(where, std::move(finished)));
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
    boost::asio::executor_work_guard<boost::asio::any_completion_executor> work_;
};

}  // namespace belay::hooks::detail

#endif
