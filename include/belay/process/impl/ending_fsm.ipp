#ifndef BELAY_PROCESS_IMPL_ENDING_FSM_IPP
#define BELAY_PROCESS_IMPL_ENDING_FSM_IPP

#include <belay/process/detail/ending_fsm.hpp>

namespace belay::process::detail {

BELAY_DECL ending_step ending_fsm::hang_up()
{
    if (state_ != state::running) return {};
    if (!graceful_) return terminate();
    state_ = state::leaving;
    return {.hang_up = true, .arm_grace = true};
}

BELAY_DECL ending_step ending_fsm::terminate()
{
    if (state_ != state::running && state_ != state::leaving) return {};
    state_ = graceful_ ? state::terminated : state::killed;
    return {.hang_up = true,
            .signal = graceful_ ? group_signal::terminate : group_signal::kill,
            .arm_grace = graceful_};
}

BELAY_DECL ending_step ending_fsm::grace_over()
{
    if (state_ == state::leaving) return terminate();
    if (state_ != state::terminated) return {};
    state_ = state::killed;
    return settle({.signal = group_signal::kill});
}

BELAY_DECL ending_step ending_fsm::exited()
{
    exited_ = true;
    if (state_ != state::running && state_ != state::leaving) return settle({});
    state_ = state::over;
    return {.reap = true};
}

BELAY_DECL ending_step ending_fsm::pipes_closed()
{
    pipes_closed_ = true;
    return settle({});
}

/// A leader that has exited keeps the group's number from being used again until it is reaped. So it
/// stays a zombie while others may still be at their last words, as in `run_fsm`.
BELAY_DECL ending_step ending_fsm::settle(ending_step so_far)
{
    const bool quiet = (state_ == state::terminated && pipes_closed_) || state_ == state::killed;
    if (!exited_ || !quiet) return so_far;
    state_ = state::over;
    so_far.signal = group_signal::kill;
    so_far.arm_grace = false;
    so_far.reap = true;
    return so_far;
}

}  // namespace belay::process::detail

#endif
