#ifndef BELAY_HOOKS_DETAIL_SESSION_FSM_HPP
#define BELAY_HOOKS_DETAIL_SESSION_FSM_HPP

// The rules of a conversation that span its phases: what may come after what, and what each event
// says. No hooks and no I/O.

#include <belay/core/error.hpp>
#include <belay/hooks/session_events.hpp>
#include <belay/hooks/session_types.hpp>
#include <belay/hooks/tool.hpp>
#include <belay/hooks/turn_events.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::hooks::detail {

inline std::string joined_by_blank_lines(const std::vector<std::string>& texts)
{
    std::string all;
    for (const auto& one : texts) {
        if (!all.empty()) all += "\n\n";
        all += one;
    }
    return all;
}

// Not inside session_fsm: clang 14 cannot then make one without arguments.
struct running_turn {
    std::vector<std::string> prompts;
    std::vector<std::string> replies;
    unsigned continuations = 0;
};

class session_fsm {
public:
    using ended = std::optional<turn_finished>;  // the turn that has ended just now

    explicit session_fsm(session_options who) : who_(std::move(who)) {}

    const session_options& who() const noexcept { return who_; }
    const turn_settings& settings() const noexcept { return settings_; }
    std::uint64_t turns() const noexcept { return turns_; }
    bool turn_running() const noexcept { return turn_.has_value(); }
    bool is_closed() const noexcept { return closed_; }

    // --- Start ---------------------------------------------------------------------------------

    error_code begin_start() noexcept
    {
        if (closed_) return errc::closed;
        if (started_ || busy_ != work::none) return errc::in_progress;
        busy_ = work::start;
        return {};
    }

    // Also of the start after a compaction.
    void end_start() noexcept
    {
        busy_ = work::none;
        started_ = true;
    }

    session_start start_event(session_start::cause reason) const
    {
        return {who_.id, who_.workspace, reason};
    }

    // --- Turn ----------------------------------------------------------------------------------

    error_code begin_turn(std::optional<std::string> prompt, turn_settings settings)
    {
        if (const auto ec = not_ready()) return ec;
        if (turn_) return errc::in_progress;
        turn_.emplace();
        settings_ = std::move(settings);
        if (prompt) {
            busy_ = work::prompt;
            ++turns_;
            turn_->prompts.push_back(*std::move(prompt));
        }
        return {};
    }

    error_code add_prompt(std::string prompt, arrival how)
    {
        if (const auto ec = not_ready_for_turn()) return ec;
        busy_ = work::prompt;
        if (how == arrival::queued) ++turns_;
        turn_->prompts.push_back(std::move(prompt));
        return {};
    }

    // Of the prompt that was added last.
    pre_turn prompt_event(bool first, bool arrived_during_turn) const
    {
        return {.session_id = who_.id,
                .workspace = who_.workspace,
                .prompt = turn_->prompts.back(),
                .model = settings_.model,
                .reasoning_effort = settings_.reasoning_effort,
                .tools = settings_.tools,
                .arrived_during_turn = arrived_during_turn,
                .spawned = who_.spawned,
                .first_of_turn = first};
    }

    ended end_prompt(const pre_turn::outcome& said)
    {
        busy_ = work::none;
        if (said.blocked) return finish(turn_finished::result::error);
        if (said.tools) settings_.tools = *said.tools;
        if (said.model) settings_.model = *said.model;
        if (said.reasoning_effort) settings_.reasoning_effort = *said.reasoning_effort;
        return std::nullopt;
    }

    error_code begin_tools(const std::string& text)
    {
        if (const auto ec = not_ready_for_turn()) return ec;
        busy_ = work::tools;
        keep_reply(text);
        return {};
    }

    void end_tools() noexcept { busy_ = work::none; }

    bool offers(const std::string& tool) const noexcept
    {
        return std::ranges::find(settings_.tools, tool) != settings_.tools.end();
    }

    error_code begin_ending(const model_reply& reply)
    {
        if (const auto ec = not_ready_for_turn()) return ec;
        busy_ = work::ending;
        keep_reply(reply.text);
        return {};
    }

    // Whether the hooks are asked about a reply at all.
    static bool is_final(const model_reply& reply) noexcept
    {
        return reply.stop == stop_reason::end && reply.calls.empty();
    }

    turn_ending ending_event(const std::string& reply) const
    {
        return {.session_id = who_.id,
                .workspace = who_.workspace,
                .prompt = joined_by_blank_lines(turn_->prompts),
                .reply = reply,
                .spawned = who_.spawned,
                .continuations = turn_->continuations};
    }

    ended end_ending(const turn_ending::outcome& said)
    {
        busy_ = work::none;
        if (!said.continuation) return finish(turn_finished::result::completed);
        ++turn_->continuations;
        return std::nullopt;
    }

    turn_finished end_without_hooks(stop_reason why)
    {
        busy_ = work::none;
        if (why == stop_reason::aborted) return abort();
        return finish(why == stop_reason::error ? turn_finished::result::error
                                                : turn_finished::result::completed);
    }

    // --- Compaction ----------------------------------------------------------------------------

    error_code begin_compaction() noexcept
    {
        if (const auto ec = not_ready()) return ec;
        busy_ = work::compaction;
        return {};
    }

    // It has failed, or its session_start hooks begin.
    error_code end_compaction(bool success) noexcept
    {
        if (closed_) return errc::closed;
        if (busy_ != work::compaction) return errc::not_begun;
        busy_ = success ? work::restart : work::none;
        return {};
    }

    // --- The end -------------------------------------------------------------------------------

    // The running operation is given up; with it the turn, if it belonged to one. A compaction is
    // still to be finished: the conversation does not go on without its session_start hooks.
    ended give_up(turn_finished::result how)
    {
        const bool of_turn = busy_ == work::prompt || busy_ == work::tools || busy_ == work::ending;
        free();
        if (!of_turn) return std::nullopt;
        return how == turn_finished::result::aborted ? abort() : finish(how);
    }

    // The turn is given up, and whatever is running.
    ended stop()
    {
        free();
        return turn_ ? ended(abort()) : std::nullopt;
    }

    bool close() noexcept { return !std::exchange(closed_, true); }

    session_end end_event(session_end::cause reason) const
    {
        return {who_.id, who_.workspace, reason, turns_, who_.spawned};
    }

    // Whether a subagent has a result to hand back.
    error_code may_hand_back() const noexcept
    {
        if (closed_) return errc::closed;
        if (turn_) return errc::in_progress;
        return no_result_;
    }

    // Another one takes another turn.
    void handed_back() noexcept { no_result_ = errc::not_begun; }

private:
    enum class work : unsigned char { none, start, prompt, tools, ending, compaction, restart };

    void free() noexcept
    {
        const bool compacting = busy_ == work::compaction || busy_ == work::restart;
        busy_ = compacting ? work::compaction : work::none;
    }

    error_code not_ready() const noexcept
    {
        if (closed_) return errc::closed;
        if (busy_ != work::none) return errc::in_progress;
        if (!started_) return errc::not_begun;
        return {};
    }

    error_code not_ready_for_turn() const noexcept
    {
        if (const auto ec = not_ready()) return ec;
        return turn_ ? error_code() : error_code(errc::not_begun);
    }

    void keep_reply(const std::string& text)
    {
        if (!text.empty()) turn_->replies.push_back(text);
    }

    turn_finished abort()
    {
        auto over = finish(turn_finished::result::aborted);
        no_result_ = errc::cancelled;
        return over;
    }

    turn_finished finish(turn_finished::result how)
    {
        const auto over = *std::exchange(turn_, std::nullopt);
        no_result_ = {};
        return {.session_id = who_.id,
                .workspace = who_.workspace,
                .outcome = how,
                .turns = turns_,
                .spawned = who_.spawned,
                .prompt = joined_by_blank_lines(over.prompts),
                .reply = joined_by_blank_lines(over.replies)};
    }

    session_options who_;
    turn_settings settings_;
    std::optional<running_turn> turn_;
    std::uint64_t turns_ = 0;
    work busy_ = work::none;
    bool started_ = false;
    bool closed_ = false;
    error_code no_result_ = errc::not_begun;  // between turns: why there is none to hand back
};

}  // namespace belay::hooks::detail

#endif
