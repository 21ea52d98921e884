#ifndef BELAY_MODULES_AGENT_EVENTS_HPP
#define BELAY_MODULES_AGENT_EVENTS_HPP

// The agent at work: what the model sees, runs and turns, automatic compactions and retries (spec:
// Veyyon, "Agent/context events").

#include <belay/core/event.hpp>
#include <belay/modules/message.hpp>
#include <belay/modules/session_events.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace belay::modules {

/// Before each call of the model. Each handler sees the messages that the one before it left; what
/// they come to is for this one call, and the session keeps its own.
struct context {
    static constexpr std::string_view event_name = "context";

    struct result {
        static constexpr std::string_view name = "result";

        std::optional<boost::json::array> messages{};  ///< replaces them all
    };

    using answer = std::variant<observe, result>;
    struct fold;
    struct outcome;

    boost::json::array messages{};
};

/// What the model is to see.
struct context::outcome {
    bool replaced = false;          ///< whether anybody replaced the messages
    boost::json::array messages{};  ///< valid if so; else they are as they were
};

struct context::fold {
    flow accept(result&& said, const handler_info&, draft<context>& event)
    {
        if (said.messages) event.edit().messages = *std::move(said.messages);
        return flow::proceed;
    }

    flow fail(failure&&, const handler_info&, draft<context>&) { return flow::proceed; }

    outcome finish(draft<context>& event) &&
    {
        if (!event.edited()) return {};
        return {true, std::move(event.edit().messages)};
    }
};

/// Before a run of the agent: the person's prompt is known, the model has not been called.
struct before_agent_start {
    static constexpr std::string_view event_name = "before_agent_start";

    struct result {
        static constexpr std::string_view name = "result";

        std::optional<custom_message> message{};                  ///< put after the person's
        std::optional<std::vector<std::string>> system_prompt{};  ///< replaces it, for this run
    };

    using answer = std::variant<observe, result>;
    struct fold;
    struct outcome;

    std::string prompt{};  ///< with its templates expanded
    std::optional<boost::json::array> images{};
    std::vector<std::string> system_prompt{};  ///< as the handlers before have left it
};

/// What the modules add to a run.
struct before_agent_start::outcome {
    std::vector<custom_message> messages{};                   ///< in the order of the handlers
    std::optional<std::vector<std::string>> system_prompt{};  ///< if anybody replaced it
};

struct before_agent_start::fold {
    flow accept(result&& said, const handler_info&, draft<before_agent_start>& event)
    {
        if (said.message) concluded_.messages.push_back(*std::move(said.message));
        if (said.system_prompt) event.edit().system_prompt = *std::move(said.system_prompt);
        return flow::proceed;
    }

    flow fail(failure&&, const handler_info&, draft<before_agent_start>&) { return flow::proceed; }

    outcome finish(draft<before_agent_start>& event) &&
    {
        if (event.edited()) concluded_.system_prompt = std::move(event.edit().system_prompt);
        return std::move(concluded_);
    }

private:
    outcome concluded_;
};

/// A run begins: the agent works until it needs the person again.
struct agent_start {
    static constexpr std::string_view event_name = "agent_start";
    using answer = std::variant<observe>;
    using fold = notify_fold<agent_start>;
};

/// A run has ended.
struct agent_end {
    static constexpr std::string_view event_name = "agent_end";
    using answer = std::variant<observe>;
    using fold = notify_fold<agent_end>;

    boost::json::array messages{};  ///< all of the session, not only those of this run
};

/// A turn begins: one call of the model, and the tools that it asks for.
struct turn_start {
    static constexpr std::string_view event_name = "turn_start";
    using answer = std::variant<observe>;
    using fold = notify_fold<turn_start>;

    std::size_t turn_index = 0;  ///< from 0, in each run
    std::chrono::sys_time<std::chrono::milliseconds> timestamp{};
};

/// A turn has ended.
struct turn_end {
    static constexpr std::string_view event_name = "turn_end";
    using answer = std::variant<observe>;
    using fold = notify_fold<turn_end>;

    std::size_t turn_index = 0;
    boost::json::object message{};  ///< the model's
    boost::json::array tool_results{};
};

/// The host begins to compact by itself.
struct auto_compaction_start {
    static constexpr std::string_view event_name = "auto_compaction_start";
    using answer = std::variant<observe>;
    using fold = notify_fold<auto_compaction_start>;

    std::string reason{};  ///< threshold, overflow, idle or incomplete
    std::string action{};  ///< context-full, handoff or shake
};

/// That has ended.
struct auto_compaction_end {
    static constexpr std::string_view event_name = "auto_compaction_end";
    using answer = std::variant<observe>;
    using fold = notify_fold<auto_compaction_end>;

    std::string action{};
    std::optional<compaction_result> result{};
    bool aborted = false;
    bool will_retry = false;
    std::optional<std::string> error_message{};
    bool skipped = false;  ///< there was nothing to do
};

/// The host is about to call the model again, after an error.
struct auto_retry_start {
    static constexpr std::string_view event_name = "auto_retry_start";
    using answer = std::variant<observe>;
    using fold = notify_fold<auto_retry_start>;

    std::size_t attempt = 1;
    std::size_t max_attempts = 1;
    std::chrono::milliseconds delay{};
    std::string error_message{};
    std::optional<std::string> error_id{};
};

/// The host has stopped trying.
struct auto_retry_end {
    static constexpr std::string_view event_name = "auto_retry_end";
    using answer = std::variant<observe>;
    using fold = notify_fold<auto_retry_end>;

    bool success = false;
    std::size_t attempt = 1;
    std::optional<std::string> final_error{};
    std::optional<boost::json::array> recovered_errors{};
};

/// Rules of the host fired on what the model was writing.
struct ttsr_triggered {
    static constexpr std::string_view event_name = "ttsr_triggered";
    using answer = std::variant<observe>;
    using fold = notify_fold<ttsr_triggered>;

    boost::json::array rules{};  ///< objects with at least `name`, `path` and `content`
};

/// The model is reminded of what it has left to do.
struct todo_reminder {
    static constexpr std::string_view event_name = "todo_reminder";
    using answer = std::variant<observe>;
    using fold = notify_fold<todo_reminder>;

    boost::json::array todos{};  ///< objects with `content` and `status`
    std::size_t attempt = 1;
    std::size_t max_attempts = 1;
};

}  // namespace belay::modules

#endif
