#ifndef BELAY_CORE_DETAIL_CHAIN_FSM_HPP
#define BELAY_CORE_DETAIL_CHAIN_FSM_HPP

// What an async_chain does next. No clock, no timer, no handler: the caller says what time it is
// and what happened, and does what it is told.
//
//     finished()     no handler is asked any more; cancelled() says whether that is why
//     next(now)      for the next handler: call it and give up on it at until(), or no time is left
//                    for it, so it fails without being called
//     waited(time)   for so long that handler had to wait for its turn, which nothing is charged for
//     judge(when)    whether an answer of the running handler at `when` is too late, and why
//     settled(flow)  it has answered or failed, and the fold has said how to go on
//     cancel()       nothing more is called; the caller abandons the running handler

#include <belay/core/detail/time_after.hpp>
#include <belay/core/event.hpp>

#include <algorithm>
#include <chrono>
#include <optional>

namespace belay::detail {

class chain_fsm {
public:
    using time_point = std::chrono::steady_clock::time_point;

    enum class action : unsigned char { call, not_started };

    chain_fsm(deadline_rule rule, time_point start) noexcept : rule_(rule)
    {
        if (rule.of == deadline_rule::scope::shared) shared_ = time_after(start, rule.limit);
    }

    // `timeout` is that handler's own.
    action next(time_point now, std::optional<std::chrono::milliseconds> timeout) noexcept
    {
        if (now >= shared_) return action::not_started;
        const auto own = timeout ? time_after(now, *timeout) : time_point::max();
        const auto chain =
            rule_.of == deadline_rule::scope::per_handler ? time_after(now, rule_.limit) : shared_;
        until_ = std::min(own, chain);
        overdue_ = own < chain ? errc::timed_out : errc::deadline;
        return action::call;
    }

    void waited(time_point::duration time) noexcept
    {
        shared_ = later(shared_, time);
        until_ = later(until_, time);
    }

    bool finished() const noexcept { return cancelled_ || stopped_; }
    bool cancelled() const noexcept { return cancelled_; }

    // When the running handler is abandoned; max() for never.
    time_point until() const noexcept { return until_; }

    // Why an answer of the running handler at `when` is too late, or nothing if it is in time.
    std::optional<errc> judge(time_point when) const noexcept
    {
        return when >= until_ ? std::optional(overdue_) : std::nullopt;
    }

    void settled(flow then) noexcept { stopped_ = then == flow::stop; }

    void cancel() noexcept { cancelled_ = true; }

private:
    static time_point later(time_point when, time_point::duration by) noexcept
    {
        return by < time_point::max() - when ? when + by : time_point::max();
    }

    deadline_rule rule_;
    time_point shared_ = time_point::max();
    time_point until_ = time_point::max();
    errc overdue_ = errc::deadline;
    bool stopped_ = false;
    bool cancelled_ = false;
};

}  // namespace belay::detail

#endif
