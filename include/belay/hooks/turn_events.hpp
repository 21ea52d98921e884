#ifndef BELAY_HOOKS_TURN_EVENTS_HPP
#define BELAY_HOOKS_TURN_EVENTS_HPP

// The phases of a turn: pre_turn, turn_ending and turn_finished.

#include <belay/core/event.hpp>
#include <belay/hooks/text_rules.hpp>

#include <algorithm>
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
    std::string blocked_text() const
    {
        if (failed) return "pre_turn hook failed: " + failed->message;
        return blocked ? "pre_turn hook blocked this turn: " + blocked->reason : std::string();
    }
};

struct pre_turn::fold {
    std::string_view invalid(const block& said, const handler_info&) const
    {
        return said.reason.empty() ? "pre_turn block reason must be a non-empty string" : "";
    }

    std::string_view invalid(const mutate& said, const handler_info&) const
    {
        const auto empty = [](const std::string& text) { return text.empty(); };
        if (said.context && said.context->size() > context_limit) {
            return "pre_turn context exceeds 128 KiB";
        }
        if (said.tools && std::ranges::any_of(*said.tools, empty)) {
            return "pre_turn mutate tools must be an array of non-empty strings";
        }
        if (said.model && said.model->empty()) {
            return "pre_turn mutate model must be a non-empty string";
        }
        if (said.reasoning_effort && said.reasoning_effort->empty()) {
            return "pre_turn mutate reasoningEffort must be a non-empty string";
        }
        if (said.display && !is_display_line(*said.display)) {
            return "pre_turn display must be one line of at most 200 characters";
        }
        return "";
    }

    flow accept(block&& said, const handler_info& hook, draft<pre_turn>& event)
    {
        return end(std::move(said), hook, event);
    }

    flow accept(mutate&& said, const handler_info& hook, draft<pre_turn>& event)
    {
        concluded_.mutated = true;
        bool changed = false;
        if (said.tools) {
            // Only narrower: a name that is not offered is dropped.
            const auto& offered = event.view().tools;
            std::erase_if(*said.tools, [&](const std::string& name) {
                return std::ranges::find(offered, name) == offered.end();
            });
            event.edit().tools = *std::move(said.tools);
            narrowed_ = changed = true;
        }
        if (event.view().first_of_turn && !event.view().arrived_during_turn) {
            changed = changed || said.model || said.reasoning_effort;
            if (said.model) event.edit().model = *(concluded_.model = std::move(said.model));
            if (said.reasoning_effort) {
                event.edit().reasoning_effort = concluded_.reasoning_effort =
                    std::move(said.reasoning_effort);
            }
        }
        if (changed) concluded_.changed_by.push_back(hook.name);
        if (said.context && !said.context->empty()) {
            concluded_.contexts.push_back({hook.name, *std::move(said.context),
                                           std::move(said.display).value_or(std::string())});
        }
        return flow::proceed;
    }

    flow fail(failure&& why, const handler_info& hook, draft<pre_turn>& event)
    {
        if (hook.from == origin::extension) {
            concluded_.ignored.push_back(std::move(why));
            return flow::proceed;
        }
        end(block{why.message}, hook, event);
        concluded_.failed = std::move(why);
        return flow::stop;
    }

    outcome finish(draft<pre_turn>& event) &&
    {
        if (narrowed_) concluded_.tools = std::move(event.edit().tools);
        return std::move(concluded_);
    }

private:
    // Whatever was added or changed before is dropped.
    flow end(block&& why, const handler_info& hook, draft<pre_turn>& event)
    {
        event.reset();
        narrowed_ = false;
        concluded_ = outcome{.blocked = std::move(why),
                             .decided_by = hook.name,
                             .ignored = std::move(concluded_.ignored)};
        return flow::stop;
    }

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
    std::string_view invalid(const continue_turn& said, const handler_info&) const
    {
        if (said.context.empty()) return "turn_ending continue context must not be empty";
        if (said.context.size() > context_limit) return "turn_ending context exceeds 128 KiB";
        if (said.display && !is_display_line(*said.display)) {
            return "turn_ending display must be one line of at most 200 characters";
        }
        return "";
    }

    flow accept(continue_turn&& said, const handler_info& hook, draft<turn_ending>& event)
    {
        // A turn gets one continuation: afterwards this is ignored, and stops nobody.
        if (event.view().continuations != 0) return flow::proceed;
        concluded_.continuation = {hook.name, std::move(said.context),
                                   std::move(said.display).value_or(std::string())};
        return flow::stop;
    }

    flow fail(failure&& why, const handler_info& hook, draft<turn_ending>&)
    {
        if (hook.from == origin::extension) {
            concluded_.ignored.push_back(std::move(why));
            return flow::proceed;
        }
        concluded_.failed = std::move(why);
        return flow::stop;
    }

    outcome finish(draft<turn_ending>&) && { return std::move(concluded_); }

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

#endif
