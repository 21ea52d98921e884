#ifndef BELAY_PROCESS_IMPL_WORKER_FSM_IPP
#define BELAY_PROCESS_IMPL_WORKER_FSM_IPP

#include <belay/process/detail/worker_fsm.hpp>

#include <algorithm>
#include <utility>

namespace belay::process::detail {

BELAY_DECL worker_fsm::worker_fsm(const rules& by) : rules_(by)
{
    rules_.in_flight = std::max<std::size_t>(rules_.in_flight, 1);
    rules_.recycle_after = std::max<std::size_t>(rules_.recycle_after, 1);
}

BELAY_DECL const worker_step& worker_fsm::request(ticket which, std::optional<milliseconds> timeout,
                                                  time_point now)
{
    step_.clear();
    if (closed_)
        step_.complete.push_back({which, errc::closed});
    else if (timeout && *timeout <= milliseconds::zero())
        step_.complete.push_back({which, errc::timed_out});
    else if (state_ == state::none && !has_time_for_pause(timeout, now))
        step_.complete.push_back({which, errc::unavailable});
    else {
        waiting_.push_back({.which = which, .timeout = timeout});
        go_on(now, now);
    }
    return step_;
}

BELAY_DECL const worker_step& worker_fsm::cancel(ticket which, time_point now)
{
    step_.clear();
    const auto has_ticket = [which](const request_state& one) { return one.which == which; };
    if (const auto it = std::ranges::find_if(waiting_, has_ticket); it != waiting_.end()) {
        waiting_.erase(it);
        if (waiting_.empty()) busy_since_.reset();
    } else if (const auto sent = std::ranges::find_if(in_flight_, has_ticket);
               sent != in_flight_.end() && !sent->abandoned) {
        sent->abandoned = true;
        if (!sent->timeout) sent->deadline = belay::detail::time_after(now, rules_.grace);
    } else {
        return step_;
    }
    step_.complete.push_back({which, errc::cancelled});
    go_on(now, now);
    return step_;
}

BELAY_DECL const worker_step& worker_fsm::shut_down()
{
    step_.clear();
    closed_ = true;
    fail_in_flight(errc::closed);
    for (const request_state& one : waiting_) step_.complete.push_back({one.which, errc::closed});
    waiting_.clear();
    if (state_ != state::none) step_.end = worker_end::retire;
    state_ = state::none;
    idle_since_.reset();
    return step_;
}

BELAY_DECL const worker_step& worker_fsm::launched(time_point now)
{
    step_.clear();
    state_ = state::running;
    sent_ = 0;
    busy_since_.reset();
    go_on(now, launch_started_);
    return step_;
}

/// All that wait have the same reason to fail; what comes later tries again.
BELAY_DECL const worker_step& worker_fsm::launch_failed(errc why, time_point now)
{
    step_.clear();
    state_ = state::none;
    if (why == errc::busy) {
        if (!busy_since_) busy_since_ = launch_started_;
        if (now < *busy_since_ + busy_window) {
            not_before_ = now + busy_pause;
            return step_;
        }
    }
    busy_since_.reset();
    for (const request_state& one : waiting_) step_.complete.push_back({one.which, why});
    waiting_.clear();
    return step_;
}

BELAY_DECL const worker_step& worker_fsm::answered(std::uint64_t id, time_point now)
{
    step_.clear();
    const auto it = std::ranges::find(in_flight_, id, &request_state::id);
    if (!it->abandoned) step_.complete.push_back({it->which, error_code()});
    if (it == in_flight_.begin())
        in_flight_.pop_front();  // most often, and cheaper
    else
        in_flight_.erase(it);
    failures_ = 0;
    go_on(now, now);
    return step_;
}

BELAY_DECL const worker_step& worker_fsm::misbehaved(errc why, time_point now)
{
    step_.clear();
    step_.end = worker_end::terminate;
    state_ = state::none;
    fail_in_flight(why);
    count_failure(now);
    go_on(now, now);
    return step_;
}

BELAY_DECL const worker_step& worker_fsm::hung_up(time_point now)
{
    step_.clear();
    if (state_ != state::running) return step_;
    state_ = state::leaving;
    step_.end = worker_end::hang_up;
    go_on(now, now);
    return step_;
}

BELAY_DECL const worker_step& worker_fsm::exited(error_code how, time_point now)
{
    step_.clear();
    state_ = state::none;
    take_back(how, [](const request_state& one) { return one.again; });
    count_failure(now);
    go_on(now, now);
    return step_;
}

BELAY_DECL const worker_step& worker_fsm::time_passed(time_point now)
{
    step_.clear();
    const auto is_late = [now](const request_state& one) { return one.deadline <= now; };
    if (std::ranges::any_of(in_flight_, is_late)) {
        step_.end = worker_end::terminate;
        state_ = state::none;
        take_back(errc::timed_out, is_late);
        count_failure(now);
    } else if (idle_since_ && rules_.idle_timeout &&
               belay::detail::time_after(*idle_since_, *rules_.idle_timeout) <= now) {
        step_.end = worker_end::retire;
        state_ = state::none;
    }
    go_on(now, now);
    return step_;
}

BELAY_DECL std::optional<worker_fsm::time_point> worker_fsm::next_wake() const
{
    time_point when = time_point::max();
    for (const request_state& one : in_flight_) when = std::min(when, one.deadline);
    if (state_ == state::none && !waiting_.empty()) when = std::min(when, not_before_);
    if (idle_since_ && rules_.idle_timeout)
        when = std::min(when, belay::detail::time_after(*idle_since_, *rules_.idle_timeout));
    return when == time_point::max() ? std::nullopt : std::optional(when);
}

BELAY_DECL bool worker_fsm::is_in_flight(std::uint64_t id) const noexcept
{
    return std::ranges::find(in_flight_, id, &request_state::id) != in_flight_.end();
}

/// Gives the child what it can take, or starts one, or lets go of one that has done its share.
/// `turn`: since when those that are sent now have had their turn.
BELAY_DECL void worker_fsm::go_on(time_point now, time_point turn)
{
    const bool is_last = state_ == state::leaving || (state_ == state::running && is_spent());
    if (is_last && in_flight_.empty()) {
        if (state_ == state::leaving) count_failure(now);
        step_.end = worker_end::retire;
        state_ = state::none;
    }
    if (state_ == state::none && !waiting_.empty() && not_before_ <= now) {
        state_ = state::launching;
        launch_started_ = now;
        step_.launch = true;
    }
    while (state_ == state::running && !waiting_.empty() && has_room_for(waiting_.front())) {
        request_state& one = in_flight_.emplace_back(waiting_.front());
        waiting_.pop_front();
        one.id = ++sent_;
        if (one.timeout) one.deadline = belay::detail::time_after(turn, *one.timeout);
        step_.send.push_back({one.which, one.id});
    }
    const bool idle = state_ == state::running && in_flight_.empty();
    if (!idle)
        idle_since_.reset();
    else if (!idle_since_)
        idle_since_ = now;
}

BELAY_DECL void worker_fsm::fail_in_flight(error_code why)
{
    for (const request_state& one : in_flight_)
        if (!one.abandoned) step_.complete.push_back({one.which, why});
    in_flight_.clear();
}

/// From a child that is gone: what has failed is completed, the rest comes to wait in its order.
template <class HasFailed>
void worker_fsm::take_back(error_code why, HasFailed has_failed)
{
    for (const request_state& one : in_flight_) {
        if (one.abandoned) continue;
        if (has_failed(one))
            step_.complete.push_back({one.which, why});
        else
            step_.wait_again.push_back(one.which);
    }
    for (auto one = in_flight_.rbegin(); one != in_flight_.rend(); ++one)
        if (!one->abandoned && !has_failed(*one))
            waiting_.push_front({.which = one->which, .timeout = one->timeout, .again = true});
    in_flight_.clear();
}

/// The first fresh child is started at once, then each a longer time after the start of the last. Those
/// that have less time than that are refused.
BELAY_DECL void worker_fsm::count_failure(time_point now)
{
    ++failures_;
    milliseconds pause = failures_ > 1 ? rules_.first_pause : milliseconds::zero();
    for (unsigned i = 2; i < failures_ && pause < rules_.longest_pause; ++i) pause *= 2;
    not_before_ = belay::detail::time_after(launch_started_, std::min(pause, rules_.longest_pause));
    std::erase_if(waiting_, [&](const request_state& one) {
        if (has_time_for_pause(one.timeout, now)) return false;
        std::erase(step_.wait_again, one.which);
        step_.complete.push_back({one.which, errc::unavailable});
        return true;
    });
}

/// The pause for a busy program is short, and all have time for it.
BELAY_DECL bool worker_fsm::has_time_for_pause(std::optional<milliseconds> timeout,
                                               time_point now) const noexcept
{
    return busy_since_ || !timeout ||
           not_before_ <= belay::detail::time_after(now, std::min(*timeout, longest_wait));
}

BELAY_DECL bool worker_fsm::has_room_for(const request_state& one) const noexcept
{
    if (is_spent()) return false;
    if (in_flight_.empty()) return true;
    return in_flight_.size() < rules_.in_flight && !one.again && !in_flight_.front().again;
}

}  // namespace belay::process::detail

#endif
