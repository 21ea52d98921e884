#ifndef BELAY_HOOKS_TOOL_EVENTS_HPP
#define BELAY_HOOKS_TOOL_EVENTS_HPP

// The phases around a tool call: pre_tool_use and post_tool_use.

#include <belay/config.hpp>
#include <belay/core/event.hpp>
#include <belay/hooks/tool.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace belay::hooks {

/// The model asks for a tool, and the tool has not run (spec: Vera, "Before a tool call"). Its
/// hooks run for all calls of a reply before any tool runs.
struct pre_tool_use {
    static constexpr std::string_view event_name = "pre_tool_use";
    static constexpr auto deadline = shared_deadline(std::chrono::seconds(60));  // of one call

    /// Run the tool on another input. It replaces the whole input; later hooks see it.
    struct mutate {
        static constexpr std::string_view name = "mutate";
        boost::json::object input{};
    };

    /// Do not run the tool: this is its result. There is no permission check, and post_tool_use
    /// runs with a duration of 0.
    struct replace {
        static constexpr std::string_view name = "replace";
        tool_result result{};  ///< text items only
    };

    using answer = std::variant<observe, mutate, block, replace>;
    struct outcome;
    struct fold;

    tool_call call{};
    std::optional<std::string> session_id{};
    std::string workspace{};

    /// For matchers: the tool's name.
    std::string_view subject() const { return call.name; }
};

struct [[nodiscard("a gate that nobody heeds stops nothing")]] pre_tool_use::outcome {
    /// `observe`: on to the permission check, which no hook can grant. `block`: its reason is the
    /// text of the error result. `replace`: its result stands.
    std::variant<observe, block, replace> decision = block{"pre_tool_use hooks have not decided"};

    std::optional<boost::json::object> input{};  ///< the effective input, if a hook changed it
    std::vector<std::string> changed_by{};       ///< the hooks that changed it, in order
    std::string decided_by{};                    ///< the hook that blocked, replaced or failed
    std::optional<failure> failed{};             ///< the failure that blocked the call
    std::vector<failure> ignored{};              ///< of extensions
};

struct pre_tool_use::fold {
    BELAY_DECL std::string_view invalid(const block& said, const handler_info&) const;
    BELAY_DECL std::string_view invalid(const replace& said, const handler_info&) const;
    BELAY_DECL flow accept(mutate&& said, const handler_info& hook, draft<pre_tool_use>& event);
    // A change that was made before stays with a call that is blocked or replaced.
    BELAY_DECL flow accept(block&& said, const handler_info& hook, draft<pre_tool_use>&);
    BELAY_DECL flow accept(replace&& said, const handler_info& hook, draft<pre_tool_use>&);
    BELAY_DECL flow fail(failure&& why, const handler_info& hook, draft<pre_tool_use>& event);
    BELAY_DECL outcome finish(draft<pre_tool_use>& event) &&;

private:
    template <class Decision>
    flow decide(Decision&& decision, const handler_info& hook)
    {
        concluded_.decision = std::forward<Decision>(decision);
        concluded_.decided_by = hook.name;
        return flow::stop;
    }

    outcome concluded_{.decision = observe{}};
};

/// A tool has run, or a hook has replaced it (spec: Vera, "After a tool call"). Not for calls that
/// were blocked, denied or not offered.
struct post_tool_use {
    static constexpr std::string_view event_name = "post_tool_use";
    static constexpr auto deadline = shared_deadline(std::chrono::seconds(5));  // of one call

    /// Patch the result. What is absent stays as it is; later hooks see the patched result.
    struct mutate {
        static constexpr std::string_view name = "mutate";
        std::optional<boost::json::array> content{};  ///< replaces all content; text items only
        std::optional<bool> is_error{};
    };

    using answer = std::variant<observe, mutate>;
    struct outcome;
    struct fold;

    tool_call call{};  ///< with its effective input
    tool_result result{};
    std::chrono::duration<double, std::milli> duration{};  ///< 0 for a replaced call
    std::optional<std::string> session_id{};
    std::string workspace{};

    /// For matchers: the tool's name.
    std::string_view subject() const { return call.name; }
};

struct post_tool_use::outcome {
    std::optional<tool_result> result{};    ///< the effective result, if a hook changed it
    std::vector<std::string> patched_by{};  ///< the hooks whose patches are in it, in order
    std::optional<failure> failed{};        ///< the failure that dropped all patches
    std::vector<failure> ignored{};         ///< of extensions
};

struct post_tool_use::fold {
    BELAY_DECL std::string_view invalid(const mutate& said, const handler_info&) const;
    BELAY_DECL flow accept(mutate&& said, const handler_info& hook, draft<post_tool_use>& event);
    BELAY_DECL flow fail(failure&& why, const handler_info& hook, draft<post_tool_use>& event);
    BELAY_DECL outcome finish(draft<post_tool_use>& event) &&;

private:
    outcome concluded_;
};

}  // namespace belay::hooks

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/tool_events.ipp>
#endif

#endif
