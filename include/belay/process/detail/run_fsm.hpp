#ifndef BELAY_PROCESS_DETAIL_RUN_FSM_HPP
#define BELAY_PROCESS_DETAIL_RUN_FSM_HPP

// What a run does next. Events in, steps out: no descriptor, no child, no clock of its own.

#include <belay/config.hpp>
#include <belay/core/error.hpp>

#include <chrono>
#include <optional>

namespace belay::process::detail {

enum class group_signal : unsigned char { none, terminate, kill };

/// What the operation has to do now, in this order. Nothing set: nothing to do but wait.
struct run_step {
    bool launch = false;                       ///< start the child
    bool pause = false;                        ///< call `start_again` after `busy_pause`
    bool watch = false;                        ///< wait for its exit, move its input and output
    group_signal signal = group_signal::none;  ///< to the whole group
    bool reap = false;                      ///< take its status; the pid is forgotten from here on
    std::optional<error_code> report = {};  ///< complete with this
    bool arm_grace = false;                 ///< call `grace_over` after the grace
    bool release = false;                   ///< all is over: close everything
};

/// One run. The three facts that it keeps in order: it reports exactly once; a group is signalled
/// only while its leader has not been reaped; a child that was started is reaped.
class run_fsm {
public:
    using time_point = std::chrono::steady_clock::time_point;

    /// How long, and how often, a program that is open for writing is tried again.
    static constexpr std::chrono::milliseconds busy_window{100};
    static constexpr std::chrono::milliseconds busy_pause{5};

    /// `deadline`: none is `time_point::max()`. Not `graceful`: SIGKILL comes first.
    run_fsm(time_point now, time_point deadline, bool graceful) noexcept
        : deadline_(deadline), busy_until_(now + busy_window), graceful_(graceful)
    {}

    /// The invocation was looked at; `refusal` is what is wrong with it.
    BELAY_DECL run_step start(error_code refusal, time_point now);

    BELAY_DECL run_step start_again(time_point now);

    BELAY_DECL run_step launched(time_point now);

    BELAY_DECL run_step launch_failed(errc why, time_point now);

    BELAY_DECL run_step over_limit();

    /// Neither stdout nor stderr is held by anybody any more.
    BELAY_DECL run_step pipes_closed();

    /// The child is a zombie of ours (or `lost`: of nobody), and what it had written was read.
    BELAY_DECL run_step exited(time_point now, bool over_limit, bool lost);

    BELAY_DECL run_step deadline_passed();

    BELAY_DECL run_step grace_over();

    BELAY_DECL run_step cancel();

    /// SIGKILL found the child alive.
    bool hard_kill() const noexcept { return hard_kill_; }

private:
    enum class state : unsigned char { idle, launching, running, ending, over };

    bool late(time_point now) const noexcept { return now >= deadline_; }

    BELAY_DECL run_step give_up(error_code why);
    BELAY_DECL run_step end_group(errc why);
    BELAY_DECL run_step settle(run_step so_far);

    time_point deadline_;
    time_point busy_until_;
    bool graceful_;
    state state_ = state::idle;
    bool exited_ = false;
    bool pipes_closed_ = false;
    bool killed_ = false;
    bool hard_kill_ = false;
};

}  // namespace belay::process::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/process/impl/run_fsm.ipp>
#endif

#endif
