#ifndef BELAY_CORE_IMPL_CLOCK_IPP
#define BELAY_CORE_IMPL_CLOCK_IPP

#include <belay/core/clock.hpp>

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <ctime>

namespace belay {
namespace detail {

class steady_clock_timer final : public clock::timer {
public:
    explicit steady_clock_timer(const boost::asio::any_io_executor& executor) : timer_(executor) {}

    void async_wait(
        clock::time_point when,
        boost::asio::any_completion_handler<void(boost::system::error_code)> done) override
    {
        timer_.expires_at(when);
        timer_.async_wait(std::move(done));
    }

    void cancel() noexcept override
    {
        // The only error of the underlying call is one that cannot happen here.
        timer_.cancel();
    }

private:
    boost::asio::steady_timer timer_;
};

class steady final : public clock {
public:
    time_point now() const noexcept override { return std::chrono::steady_clock::now(); }

    bool before(time_point when) const noexcept override
    {
#if defined(CLOCK_MONOTONIC_COARSE)
        // The same clock, as it was at the last tick: a fourth of the price. A machine whose ticks are
        // late by a second has other troubles.
        constexpr std::chrono::seconds doubt{1};
        timespec tick;
        if (::clock_gettime(CLOCK_MONOTONIC_COARSE, &tick) == 0) {
            const auto past =
                std::chrono::seconds(tick.tv_sec) + std::chrono::nanoseconds(tick.tv_nsec);
            if (time_point(past) + doubt < when) return true;
        }
#endif
        return now() < when;
    }

    std::unique_ptr<timer> make_timer(const boost::asio::any_io_executor& executor) override
    {
        return std::make_unique<steady_clock_timer>(executor);
    }
};

}  // namespace detail

BELAY_DECL clock& clock::steady() noexcept
{
    static detail::steady instance;
    return instance;
}

}  // namespace belay

#endif
