#ifndef BELAY_CORE_DETAIL_HOST_CALL_OP_HPP
#define BELAY_CORE_DETAIL_HOST_CALL_OP_HPP

// One call of a function of the host, as an operation.

#include <belay/core/clock.hpp>
#include <belay/core/detail/time_after.hpp>
#include <belay/core/detail/waiting_handler.hpp>
#include <belay/core/host_function.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

namespace belay::detail {

// How long the host has, and what the operation ends with (beside an empty T) when that time is over
// or somebody has cancelled it: null for no error.
struct host_call_terms {
    std::optional<std::chrono::milliseconds> timeout{};
    std::exception_ptr if_cut{};
};

// Completes with the answer, with what the function threw, or as the terms say. The function, `Begin`,
// takes a host_reply<T>. It hears of its cancellation, and what it answers after that is dropped. It
// lives until its reply has been used.
template <class T, class Begin>
class host_call_op final : public host_call<T>,
                           public std::enable_shared_from_this<host_call_op<T, Begin>> {
public:
    using waiting = waiting_handler<T, std::exception_ptr>;

    host_call_op(const boost::asio::any_io_executor& executor, clock& time, host_call_terms terms,
                 std::shared_ptr<waiting> handler, Begin begin)
        : executor_(executor),
          time_(time),
          terms_(std::move(terms)),
          handler_(std::move(handler)),
          begin_(std::move(begin)),
          timer_(time.make_timer(executor))
    {}

    // On the executor.
    void start()
    {
        handler_->on_cancel([weak = this->weak_from_this()] {
            if (const auto self = weak.lock()) self->cut();
        });
        timer_->async_wait(until(), guard(this->shared_from_this()));
        std::exception_ptr thrown;
        try {
            begin_(host_reply<T>(this->shared_from_this()));
        } catch (...) {
            thrown = std::current_exception();
        }
        const std::lock_guard lock(mutex_);
        // A reply that it took down with it has failed, too, but says less.
        if (thrown) said_.emplace(std::in_place_index<1>, std::move(thrown));
        starting_ = false;
        send();
    }

    void answer(T what) noexcept override { settle(said(std::in_place_index<0>, std::move(what))); }

    void fail(std::exception_ptr why) noexcept override
    {
        settle(said(std::in_place_index<1>, std::move(why)));
    }

    boost::asio::any_io_executor executor() const noexcept override { return executor_; }
    boost::asio::cancellation_slot slot() noexcept override { return stop_.slot(); }

private:
    using said = std::variant<T, std::exception_ptr>;

    // The handler of the timer: ends the call in time, keeps the event loop at work, since the host
    // may answer from anywhere, and sees it die.
    struct guard {
        explicit guard(std::shared_ptr<host_call_op> op) noexcept : owner(std::move(op)) {}
        guard(guard&&) noexcept = default;
        ~guard()
        {
            if (owner) owner->drop();
        }
        void operator()(boost::system::error_code ec)
        {
            const auto op = std::move(owner);
            if (!ec) op->cut();
        }

        std::shared_ptr<host_call_op> owner;
    };

    clock::time_point until() const
    {
        return terms_.timeout ? time_after(time_.now(), *terms_.timeout) : clock::time_point::max();
    }

    void settle(said what) noexcept
    {
        const std::lock_guard lock(mutex_);
        if (said_) return;
        said_.emplace(std::move(what));
        send();
    }

    // Under the lock: the operation ends before its executor does.
    void send() noexcept
    {
        if (starting_ || over_ || !said_) return;
        over_ = true;
        boost::asio::post(executor_,
                          [self = this->shared_from_this(), what = std::move(*said_)]() mutable {
                              self->conclude(std::move(what));
                          });
    }

    void conclude(said what)
    {
        timer_.reset();
        const auto handler = std::exchange(handler_, nullptr);
        if (!handler) return;
        if (auto* answer = std::get_if<0>(&what)) {
            handler->complete(nullptr, std::move(*answer));
        } else {
            handler->complete(std::get<1>(std::move(what)), T());
        }
    }

    void cut()
    {
        const auto handler = std::exchange(handler_, nullptr);
        if (!handler) return;
        timer_.reset();
        handler->complete(terms_.if_cut, T());
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
            if (said_) return;  // what the slot was bound to may be gone
        }
        stop_.emit(boost::asio::cancellation_type::terminal);
    }

    // The event loop is being destroyed.
    void drop() noexcept
    {
        {
            const std::lock_guard lock(mutex_);
            over_ = true;
        }
        timer_.reset();
        if (const auto handler = std::exchange(handler_, nullptr)) handler->forget();
    }

    const boost::asio::any_io_executor executor_;
    clock& time_;
    const host_call_terms terms_;
    // Null once it has completed. Whoever keeps the reply may outlive the event loop, which what the
    // handler is bound to may not.
    std::shared_ptr<waiting> handler_;
    Begin begin_;
    std::unique_ptr<clock::timer> timer_;
    boost::asio::cancellation_signal stop_;

    std::mutex mutex_;
    bool starting_ = true;
    bool over_ = false;  // the answer is on its way, nobody wants it, or the event loop has gone
    std::optional<said> said_;
};

// In the initiating function. The executor runs one thing at a time.
template <class T, class Begin>
void call_host(const boost::asio::any_io_executor& executor, clock& time, host_call_terms terms,
               boost::asio::any_completion_handler<void(std::exception_ptr, T)> handler,
               Begin begin)
{
    using operation = host_call_op<T, Begin>;
    auto op = std::make_shared<operation>(executor, time, std::move(terms),
                                          operation::waiting::make(executor, std::move(handler)),
                                          std::move(begin));
    boost::asio::dispatch(executor, [op = std::move(op)] { op->start(); });
}

}  // namespace belay::detail

#endif
