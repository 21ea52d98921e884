#ifndef BELAY_HOOKS_DETAIL_BATCH_FSM_HPP
#define BELAY_HOOKS_DETAIL_BATCH_FSM_HPP

// In which order the calls of a batch go through hooks, permission and tool. No I/O: the caller
// says what happened, and does what it is told until it is told to wait.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>
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
        calls_.reserve(offered.size());
        for (const bool one : offered) calls_.push_back(one ? at::start : at::end);
        to_ask_ = start_from(0);
    }

    step next()
    {
        if (cancelled_) return {act::done, 0};
        if (to_ask_ != calls_.size() && free_chains_ != 0) {
            --free_chains_;
            ++chains_;
            const auto call = std::exchange(to_ask_, start_from(to_ask_ + 1));
            return {act::ask_hooks, call};
        }
        // No permission is asked before the hooks of all calls have ended.
        if (to_ask_ != calls_.size() || chains_ != 0) return {act::wait, 0};

        if (!permitted_.empty()) return {act::run_tool, take(permitted_)};
        if (!have_results_.empty()) return {act::tell_hooks, take(have_results_)};
        while (to_run_ != calls_.size() && calls_[to_run_] == at::end) ++to_run_;
        if (to_run_ != calls_.size() && free_tools_ != 0) {
            --free_tools_;
            ++tools_;
            const auto call = to_run_++;
            return {calls_[call] == at::passed ? act::ask_permission : act::tell_hooks, call};
        }
        const bool all_over = to_run_ == calls_.size() && tools_ == 0;
        return {all_over ? act::done : act::wait, 0};
    }

    void hooks_said(std::size_t call, verdict what) noexcept
    {
        ++free_chains_;
        --chains_;
        calls_[call] = what == verdict::proceed   ? at::passed
                       : what == verdict::replace ? at::replaced
                                                  : at::end;
    }

    void permission_said(std::size_t call, bool granted)
    {
        granted ? permitted_.push_back(call) : leave();
    }

    void tool_ended(std::size_t call) { have_results_.push_back(call); }

    void hooks_told() noexcept { leave(); }

    // Nothing else is to be done.
    void cancel() noexcept { cancelled_ = true; }

private:
    // A call by what its first hooks said.
    enum class at : unsigned char { start, passed, replaced, end };

    // The first call from `call` on whose hooks are to be asked.
    std::size_t start_from(std::size_t call) const noexcept
    {
        while (call != calls_.size() && calls_[call] != at::start) ++call;
        return call;
    }

    static std::size_t take(std::deque<std::size_t>& from)
    {
        const auto call = from.front();
        from.pop_front();
        return call;
    }

    void leave() noexcept
    {
        ++free_tools_;
        --tools_;
    }

    std::vector<at> calls_;
    std::size_t to_ask_ = 0;  // the first whose hooks have not been asked
    std::size_t to_run_ = 0;  // from here on nobody has asked for permission
    std::size_t chains_ = 0;  // whose first hooks are at work
    std::size_t free_chains_;
    std::size_t tools_ = 0;  // from their permission to the end of their hooks
    std::size_t free_tools_;
    std::deque<std::size_t> permitted_;
    std::deque<std::size_t> have_results_;
    bool cancelled_ = false;
};

}  // namespace belay::hooks::detail

#endif
