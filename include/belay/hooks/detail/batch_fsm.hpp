#ifndef BELAY_HOOKS_DETAIL_BATCH_FSM_HPP
#define BELAY_HOOKS_DETAIL_BATCH_FSM_HPP

// In which order the calls of a batch go through hooks, permission and tool. No I/O: the caller
// says what happened, and does what it is told until it is told to wait.

#include <algorithm>
#include <cstddef>
#include <vector>

namespace belay::hooks::detail {

class batch_fsm {
public:
    enum class act : unsigned char { ask_hooks, ask_permission, run_tool, tell_hooks, wait, done };

    struct step {
        act what;
        std::size_t call;  // unless it is wait or done
    };

    // What the hooks before a call said.
    enum class verdict : unsigned char { proceed, refuse, replace };

    // A call that is not offered is over from the start.
    batch_fsm(const std::vector<bool>& offered, std::size_t chains_at_once,
              std::size_t tools_at_once)
        : free_chains_(std::max<std::size_t>(chains_at_once, 1)),
          free_tools_(std::max<std::size_t>(tools_at_once, 1))
    {
        for (const bool one : offered) calls_.push_back(one ? at::start : at::end);
    }

    step next()
    {
        if (cancelled_) return {act::done, 0};
        if (any(at::start) && free_chains_ != 0) {
            --free_chains_;
            return go(at::start, at::hooks_before, act::ask_hooks);
        }
        // No permission is asked before the hooks of all calls have ended.
        if (any(at::start) || any(at::hooks_before)) return {act::wait, 0};

        if (any(at::permitted)) return go(at::permitted, at::tool, act::run_tool);
        if (any(at::has_result)) return go(at::has_result, at::hooks_after, act::tell_hooks);
        const auto ready = std::ranges::find_if(
            calls_, [](at one) { return one == at::passed || one == at::replaced; });
        if (ready != calls_.end() && free_tools_ != 0) {
            --free_tools_;
            return *ready == at::passed ? go(at::passed, at::permission, act::ask_permission)
                                        : go(at::replaced, at::hooks_after, act::tell_hooks);
        }
        const bool all_over = std::ranges::all_of(calls_, [](at one) { return one == at::end; });
        return {all_over ? act::done : act::wait, 0};
    }

    void hooks_said(std::size_t call, verdict what) noexcept
    {
        ++free_chains_;
        calls_[call] = what == verdict::proceed   ? at::passed
                       : what == verdict::replace ? at::replaced
                                                  : at::end;
    }

    void permission_said(std::size_t call, bool granted) noexcept
    {
        calls_[call] = granted ? at::permitted : at::end;
        if (!granted) ++free_tools_;
    }

    void tool_ended(std::size_t call) noexcept { calls_[call] = at::has_result; }

    void hooks_told(std::size_t call) noexcept
    {
        ++free_tools_;
        calls_[call] = at::end;
    }

    // Nothing else is to be done.
    void cancel() noexcept { cancelled_ = true; }

private:
    enum class at : unsigned char {
        start,
        hooks_before,
        passed,
        replaced,
        permission,
        permitted,
        tool,
        has_result,
        hooks_after,
        end,
    };

    bool any(at where) const noexcept { return std::ranges::find(calls_, where) != calls_.end(); }

    // The first call that is there.
    step go(at from, at to, act what) noexcept
    {
        const auto one = std::ranges::find(calls_, from);
        *one = to;
        return {what, static_cast<std::size_t>(one - calls_.begin())};
    }

    std::vector<at> calls_;
    std::size_t free_chains_;
    std::size_t free_tools_;  // a call holds one from its permission to the end of its hooks
    bool cancelled_ = false;
};

}  // namespace belay::hooks::detail

#endif
