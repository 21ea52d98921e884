#ifndef BELAY_CORE_IMPL_CLOCK_IPP
#define BELAY_CORE_IMPL_CLOCK_IPP

#include <belay/core/clock.hpp>

#include <boost/asio/steady_timer.hpp>

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
