#ifndef BELAY_HOOKS_TURN_EVENTS_HPP
#define BELAY_HOOKS_TURN_EVENTS_HPP

// The phases of a turn: pre_turn, turn_ending and turn_finished.

#include <belay/config.hpp>
#include <belay/core/event.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace belay::hooks {

/// Text that a hook adds to the conversation, as a message of its own that is not shown.
struct added_context {
    std::string source{};  ///< the hook's name, which the transcript shows
    std::string context{};
    std::string display{};  ///< shown in place of the default row; empty: the default row
};

/// A prompt is about to be worked on: the first of its turn, or one that joins a running turn
/// (spec: Vera, "Before a turn").
struct pre_turn {
    static constexpr std::string_view event_name = "pre_turn";
    static constexpr auto deadline = shared_deadline(std::chrono::seconds(60));  // of one prompt

    /// Change the turn. What is absent stays as it is.
    struct mutate {
        static constexpr std::string_view name = "mutate";
        std::optional<std::string> context{};             ///< at most 128 KiB; empty adds nothing
        std::optional<std::vector<std::string>> tools{};  ///< those to keep of the offered ones
        std::optional<std::string> model{};
        std::optional<std::string> reasoning_effort{};
        std::optional<std::string> display{};  ///< one line, at most 200 characters
    };

    using answer = std::variant<observe, block, mutate>;
    struct outcome;
    struct fold;

    std::string session_id{};
    std::string workspace{};
    std::string prompt{};
    std::string model{};
    std::optional<std::string> reasoning_effort{};
    std::vector<std::string> tools{};  ///< the names that are offered
    bool arrived_during_turn = false;  ///< it joins a running turn
    bool spawned = false;              ///< another agent started the session

    /// Not in the payload: the first prompt of its turn. Only then can hooks change the model and
    /// the reasoning effort; elsewhere these are ignored.
    bool first_of_turn = true;
};

struct pre_turn::outcome {
    /// Why the turn ends before the model is called, if it does.
    std::optional<block> blocked = block{"pre_turn hooks have not decided"};

    bool mutated = false;  ///< a hook said mutate, if only to change nothing
    std::optional<std::vector<std::string>> tools{};  ///< what is offered, if a hook narrowed it
    std::optional<std::string> model{};               ///< if a hook changed it
    std::optional<std::string> reasoning_effort{};    ///< if a hook changed it
    std::vector<std::string> changed_by{};  ///< the hooks that changed these three, in order
    std::vector<added_context> contexts{};  ///< in hook order
    std::string decided_by{};               ///< the hook that blocked or failed
    std::optional<failure> failed{};        ///< the failure that blocked the prompt
    std::vector<failure> ignored{};         ///< of extensions

    /// What stands in the conversation in place of a reply, if the turn was blocked.
    BELAY_DECL std::string blocked_text() const;
};

struct pre_turn::fold {
    BELAY_DECL std::string_view invalid(const block& said, const handler_info&) const;
    BELAY_DECL std::string_view invalid(const mutate& said, const handler_info&) const;
    BELAY_DECL flow accept(block&& said, const handler_info& hook, draft<pre_turn>& event);
    BELAY_DECL flow accept(mutate&& said, const handler_info& hook, draft<pre_turn>& event);
    BELAY_DECL flow fail(failure&& why, const handler_info& hook, draft<pre_turn>& event);
    BELAY_DECL outcome finish(draft<pre_turn>& event) &&;

private:
    // Whatever was added or changed before is dropped.
    BELAY_DECL flow end(block&& why, const handler_info& hook, draft<pre_turn>& event);
    outcome concluded_{.blocked = std::nullopt};
    bool narrowed_ = false;
};

/// The model has given a final reply without tool calls, and the turn is about to end (spec: Vera,
/// "When a turn ends"). Not after an error, an abort or a reply that was cut off.
struct turn_ending {
    static constexpr std::string_view event_name = "turn_ending";
    static constexpr auto deadline = shared_deadline(std::chrono::seconds(60));  // of one reply

    /// Send the model back for one more pass. Only the first one of a turn counts.
    struct continue_turn {
        static constexpr std::string_view name = "continue";
        std::string context{};                 ///< not empty, at most 128 KiB
        std::optional<std::string> display{};  ///< one line, at most 200 characters
    };

    using answer = std::variant<observe, continue_turn>;
    struct outcome;
    struct fold;

    std::string session_id{};
    std::string workspace{};
    std::string prompt{};  ///< all prompts of the turn, with a blank line between them
    std::string reply{};
    bool spawned = false;
    unsigned continuations = 0;  ///< how often the turn was continued already: 0 or 1
};

struct turn_ending::outcome {
    std::optional<added_context> continuation{};  ///< why the turn goes on, if it does
    std::optional<failure> failed{};              ///< the failure that let the turn end
    std::vector<failure> ignored{};               ///< of extensions
};

struct turn_ending::fold {
    BELAY_DECL std::string_view invalid(const continue_turn& said, const handler_info&) const;
    BELAY_DECL flow accept(continue_turn&& said, const handler_info& hook,
                           draft<turn_ending>& event);
    BELAY_DECL flow fail(failure&& why, const handler_info& hook, draft<turn_ending>&);
    BELAY_DECL outcome finish(draft<turn_ending>&) &&;

private:
    outcome concluded_;
};

/// A turn has ended. For functions only: no executable can be registered for it.
struct turn_finished {
    static constexpr std::string_view event_name = "turn_finished";
    using answer = std::variant<observe>;
    using fold = notify_fold<turn_finished>;

    enum class result : unsigned char { completed, error, aborted };

    std::string session_id{};
    std::string workspace{};
    result outcome = result::completed;
    std::uint64_t turns = 0;  ///< prompts of people so far, without those that joined a turn
    bool spawned = false;
    std::string prompt{};
    std::string reply{};  ///< the turn's replies, with a blank line between them
};

}  // namespace belay::hooks

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/turn_events.ipp>
#endif

#endif
