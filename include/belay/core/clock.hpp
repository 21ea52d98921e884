#ifndef BELAY_CORE_CLOCK_HPP
#define BELAY_CORE_CLOCK_HPP

// The time by which handlers are late.

#include <belay/config.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <memory>

namespace belay {

/// Where a chain reads the time and waits for it. Tests pass one that they turn by hand.
class clock {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// One wait at a time.
    class timer {
    public:
        virtual ~timer() = default;

        /// Calls `done` through its associated executor, never from here: when `when` has come, or
        /// with `operation_aborted` after `cancel()`. Destroys it uncalled if the executor dies.
        virtual void async_wait(
            time_point when,
            boost::asio::any_completion_handler<void(boost::system::error_code)> done) = 0;
        virtual void cancel() noexcept = 0;
    };

    virtual ~clock() = default;

    /// From any thread; must not call back.
    virtual time_point now() const noexcept = 0;

    /// Whether `when` is still to come: asked after each handler that answers at once, so a clock that
    /// knows without reading the exact time may say so.
    virtual bool before(time_point when) const noexcept { return now() < when; }

    virtual std::unique_ptr<timer> make_timer(const boost::asio::any_io_executor& executor) = 0;

    /// The steady clock, with Asio's timers.
    BELAY_DECL static clock& steady() noexcept;
};

}  // namespace belay

#if defined(BELAY_HEADER_ONLY)
#include <belay/core/impl/clock.ipp>
#endif

#endif
