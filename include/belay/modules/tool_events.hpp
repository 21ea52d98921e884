#ifndef BELAY_MODULES_TOOL_EVENTS_HPP
#define BELAY_MODULES_TOOL_EVENTS_HPP

// What happens around one tool call (spec: Veyyon, "Tool events", "Execution model and mutation
// semantics").
//
//     api.on<tool_call>([](const tool_call& event) -> std::optional<belay::block> {
//         if (event.tool_name == "bash") return belay::block{"no shell today"};
//         return std::nullopt;
//     });

#include <belay/core/event.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace belay::modules {

/// Before a tool runs, and after its approval. The first block ends it; a handler that fails blocks,
/// too, with a reason that names its module. Nobody can change the input.
struct tool_call {
    static constexpr std::string_view event_name = "tool_call";
    using answer =
        std::variant<observe, block>;  ///< an empty reason stands for one that names the module
    struct fold;
    struct outcome;

    /// The tool, for matchers.
    std::string_view subject() const noexcept { return tool_name; }

    std::string tool_name{};
    std::string tool_call_id{};
    boost::json::object input{};
};

/// What the modules concluded.
struct [[nodiscard("a gate that nobody heeds stops nothing")]] tool_call::outcome {
    bool allowed = false;
    std::string reason{};      ///< of a call that is not allowed: for the model and for people
    std::string decided_by{};  ///< the module that blocked it
};

struct tool_call::fold {
    flow accept(block&& said, const handler_info& who, draft<tool_call>&)
    {
        return stop(who, said.reason.empty() ? "Tool execution was blocked by extension " + who.name
                                             : std::move(said.reason));
    }

    flow fail(failure&& why, const handler_info& who, draft<tool_call>&)
    {
        // the message of one that is late begins with its name already
        return stop(who, why.code == errc::timed_out
                             ? "Extension " + why.message
                             : "Extension " + who.name + " failed: " + why.message);
    }

    outcome finish(draft<tool_call>&) &&
    {
        concluded_.allowed = concluded_.decided_by.empty() && concluded_.reason.empty();
        return std::move(concluded_);
    }

private:
    flow stop(const handler_info& who, std::string reason)
    {
        concluded_.reason = std::move(reason);
        concluded_.decided_by = who.name;
        return flow::stop;
    }

    outcome concluded_;
};

/// After a tool has run. A field that a handler returns replaces that field, and later handlers see
/// it: the last value of each field counts. A failing handler has no opinion.
struct tool_result {
    static constexpr std::string_view event_name = "tool_result";

    /// What a handler may replace. With no field set, nothing.
    struct result {
        static constexpr std::string_view name = "result";

        std::optional<boost::json::array> content{};
        std::optional<boost::json::value> details{};  ///< null: in the end, the tool's own
        std::optional<bool>
            is_error{};  ///< makes a failure of a success, or a success of a failure
    };

    using answer = std::variant<observe, result>;
    struct fold;
    struct outcome;

    /// The tool, for matchers.
    std::string_view subject() const noexcept { return tool_name; }

    std::string tool_name{};
    std::string tool_call_id{};
    boost::json::object input{};
    boost::json::array content{};  ///< blocks such as `{"type": "text", "text": ...}`
    boost::json::value details{};  ///< the tool's own; null if it has none
    bool is_error = false;
};

/// What the modules made of a result.
struct tool_result::outcome {
    bool overridden = false;  ///< whether anybody replaced anything; the rest is valid if so
    boost::json::array content{};
    boost::json::value details{};
    bool is_error = false;
};

struct tool_result::fold {
    flow accept(result&& said, const handler_info&, draft<tool_result>& event)
    {
        if (said.content) event.edit().content = *std::move(said.content);
        if (said.details) event.edit().details = *std::move(said.details);
        if (said.is_error) event.edit().is_error = *said.is_error;
        return flow::proceed;
    }

    flow fail(failure&&, const handler_info&, draft<tool_result>&) { return flow::proceed; }

    outcome finish(draft<tool_result>& event) &&
    {
        if (!event.edited()) return {};
        auto& now = event.edit();
        return {true, std::move(now.content), std::move(now.details), now.is_error};
    }
};

}  // namespace belay::modules

#endif
