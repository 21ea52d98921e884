#ifndef BELAY_PROCESS_DETAIL_ENDING_FSM_HPP
#define BELAY_PROCESS_DETAIL_ENDING_FSM_HPP

// How a child that lives on is ended: its stdin is closed, then SIGTERM, then SIGKILL, each a grace after
// the one before. Events in, steps out.

#include <belay/config.hpp>
#include <belay/process/detail/run_fsm.hpp>

namespace belay::process::detail {

/// What is to be done now, in this order.
struct ending_step {
    bool hang_up = false;                      ///< close its stdin
    group_signal signal = group_signal::none;  ///< to the whole group
    bool arm_grace = false;                    ///< call `grace_over` after the grace
    bool reap = false;                         ///< take its status, and close everything
};

/// A group is signalled only while its leader has not been reaped. A child that exits without having
/// been signalled leaves its group alone.
class ending_fsm {
public:
    /// Not `graceful`: SIGKILL comes first.
    explicit ending_fsm(bool graceful) noexcept : graceful_(graceful) {}

    /// Asks it to leave.
    BELAY_DECL ending_step hang_up();

    /// Makes it leave.
    BELAY_DECL ending_step terminate();

    BELAY_DECL ending_step grace_over();

    /// The child is a zombie, of ours or of nobody.
    BELAY_DECL ending_step exited();

    /// Neither stdout nor stderr is held by anybody any more.
    BELAY_DECL ending_step pipes_closed();

private:
    enum class state : unsigned char { running, leaving, terminated, killed, over };

    BELAY_DECL ending_step settle(ending_step so_far);

    bool graceful_;
    state state_ = state::running;
    bool exited_ = false;
    bool pipes_closed_ = false;
};

}  // namespace belay::process::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/process/impl/ending_fsm.ipp>
#endif

#endif
