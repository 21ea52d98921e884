#ifndef BELAY_PROCESS_IMPL_RUN_FSM_IPP
#define BELAY_PROCESS_IMPL_RUN_FSM_IPP

#include <belay/process/detail/run_fsm.hpp>

namespace belay::process::detail {

BELAY_DECL run_step run_fsm::start(error_code refusal, time_point now)
{
    if (state_ != state::idle) return {};
    state_ = state::launching;
    if (refusal) return give_up(refusal);
    return start_again(now);
}

BELAY_DECL run_step run_fsm::start_again(time_point now)
{
    if (state_ != state::launching) return {};
    if (late(now)) return give_up(errc::timed_out);
    return {.launch = true};
}

BELAY_DECL run_step run_fsm::launched(time_point now)
{
    state_ = state::running;
    run_step step = late(now) ? end_group(errc::timed_out) : run_step{};
    step.watch = true;
    return step;
}

BELAY_DECL run_step run_fsm::launch_failed(errc why, time_point now)
{
    if (late(now)) return give_up(errc::timed_out);
    if (why == errc::busy && now < busy_until_) return {.pause = true};
    return give_up(why);
}

BELAY_DECL run_step run_fsm::over_limit()
{
    return state_ == state::running ? end_group(errc::output_too_large) : run_step{};
}

BELAY_DECL run_step run_fsm::pipes_closed()
{
    pipes_closed_ = true;
    return settle({});
}

BELAY_DECL run_step run_fsm::exited(time_point now, bool over_limit, bool lost)
{
    exited_ = true;
    if (state_ == state::running && over_limit) return settle(end_group(errc::output_too_large));
    if (state_ == state::running && late(now)) return settle(end_group(errc::timed_out));
    if (state_ == state::running) {
        state_ = state::over;
        return {.reap = true,
                .report = lost ? error_code(errc::status_lost) : error_code(),
                .release = true};
    }
    return settle({});
}

BELAY_DECL run_step run_fsm::deadline_passed()
{
    if (state_ == state::launching) return give_up(errc::timed_out);
    return state_ == state::running ? end_group(errc::timed_out) : run_step{};
}

BELAY_DECL run_step run_fsm::grace_over()
{
    if (state_ != state::ending || killed_) return {};
    killed_ = true;
    hard_kill_ = !exited_;
    return settle({.signal = group_signal::kill});
}

BELAY_DECL run_step run_fsm::cancel()
{
    if (state_ == state::idle || state_ == state::launching) return give_up(errc::cancelled);
    return state_ == state::running ? end_group(errc::cancelled) : run_step{};
}

/// There is no child.
BELAY_DECL run_step run_fsm::give_up(error_code why)
{
    state_ = state::over;
    return {.report = why, .release = true};
}

BELAY_DECL run_step run_fsm::end_group(errc why)
{
    state_ = state::ending;
    if (graceful_)
        return {.signal = group_signal::terminate, .report = error_code(why), .arm_grace = true};
    killed_ = true;
    hard_kill_ = !exited_;
    return {.signal = group_signal::kill, .report = error_code(why)};
}

/// A leader that has exited keeps the group's number from being used again until it is reaped. So
/// it stays a zombie while others may still be at their last words, which is as long as the grace
/// lasts and somebody holds a pipe.
BELAY_DECL run_step run_fsm::settle(run_step so_far)
{
    if (state_ != state::ending || !exited_ || !(pipes_closed_ || killed_)) return so_far;
    state_ = state::over;
    so_far.signal = group_signal::kill;
    so_far.arm_grace = false;
    so_far.reap = true;
    so_far.release = true;
    return so_far;
}

}  // namespace belay::process::detail

#endif
