#ifndef BELAY_TEST_COMMON_MANUAL_CLOCK_HPP
#define BELAY_TEST_COMMON_MANUAL_CLOCK_HPP

// A clock that stands still until a test turns it.

#include <belay/core/async_chain.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace belay::test {

/// Safe to turn from any thread. Must outlive its timers; waits that are pending when it is destroyed
/// are destroyed uncalled.
class manual_clock final : public clock {
public:
    manual_clock() = default;
    manual_clock(const manual_clock&) = delete;
    manual_clock& operator=(const manual_clock&) = delete;

    ~manual_clock() override
    {
        std::list<wait> dropped;  // destroyed after the lock
        const std::lock_guard lock(mutex_);
        for (auto* one : timers_) {
            if (one->pending_) dropped.push_back(*std::exchange(one->pending_, std::nullopt));
        }
    }

    time_point now() const noexcept override
    {
        const std::lock_guard lock(mutex_);
        return now_;
    }

    std::unique_ptr<timer> make_timer(const boost::asio::any_io_executor& executor) override
    {
        return std::make_unique<manual_timer>(*this, executor);
    }

    /// Turns the clock, and posts the waits that have come due, the earliest first.
    void advance(time_point::duration by)
    {
        std::list<wait> due;  // sorted by relinking: the handlers must not be assigned
        {
            const std::lock_guard lock(mutex_);
            now_ += by;
            for (auto* one : timers_) {
                if (!one->pending_ || one->pending_->when > now_) continue;
                due.push_back(*std::exchange(one->pending_, std::nullopt));
            }
        }
        due.sort([](const wait& a, const wait& b) { return a.when < b.when; });
        for (auto& one : due) one.complete({});
    }

    /// When the next wait is due, if one is pending (`time_point::max()`: one that never is).
    std::optional<time_point> next() const
    {
        const std::lock_guard lock(mutex_);
        std::optional<time_point> earliest;
        for (const auto* one : timers_) {
            if (one->pending_)
                earliest = std::min(earliest.value_or(time_point::max()), one->pending_->when);
        }
        return earliest;
    }

private:
    struct wait {
        time_point when;
        boost::asio::any_io_executor executor;
        boost::asio::any_completion_handler<void(boost::system::error_code)> done;

        void complete(boost::system::error_code ec)
        {
            const auto where = boost::asio::get_associated_executor(done, executor);
            auto work = boost::asio::make_work_guard(executor);
            boost::asio::post(executor, boost::asio::bind_executor(
                                            where, [done = std::move(done), ec, work]() mutable {
                                                std::move(done)(ec);
                                            }));
        }
    };

    class manual_timer final : public timer {
    public:
        manual_timer(manual_clock& owner, boost::asio::any_io_executor executor)
            : owner_(owner), executor_(std::move(executor))
        {
            const std::lock_guard lock(owner_.mutex_);
            owner_.timers_.push_back(this);
        }
        ~manual_timer() override
        {
            cancel();
            const std::lock_guard lock(owner_.mutex_);
            owner_.timers_.remove(this);
        }
        void async_wait(
            time_point when,
            boost::asio::any_completion_handler<void(boost::system::error_code)> done) override
        {
            wait started{when, executor_, std::move(done)};
            {
                const std::lock_guard lock(owner_.mutex_);
                if (when > owner_.now_) {
                    pending_.emplace(std::move(started));
                    return;
                }
            }
            started.complete({});
        }
        void cancel() noexcept override
        {
            std::optional<wait> stopped;
            {
                const std::lock_guard lock(owner_.mutex_);
                if (!pending_) return;
                stopped.emplace(std::move(*pending_));
                pending_.reset();
            }
            stopped->complete(boost::asio::error::operation_aborted);
        }

    private:
        friend class manual_clock;

        manual_clock& owner_;
        boost::asio::any_io_executor executor_;
        std::optional<wait> pending_;
    };

    mutable std::mutex mutex_;
    time_point now_ = time_point() + std::chrono::hours(1);
    std::list<manual_timer*> timers_;
};

}  // namespace belay::test

#endif
