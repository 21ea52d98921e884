#ifndef BELAY_HOOKS_IMPL_VERA_IPP
#define BELAY_HOOKS_IMPL_VERA_IPP

#include <belay/hooks/detail/executable_output.hpp>
#include <belay/hooks/detail/json.hpp>
#include <belay/hooks/protocol/vera.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::hooks {
namespace detail {

inline constexpr auto vera_phases = [] {
    std::array<phase_name, phase_count> names;
    for (std::size_t i = 0; i != phase_count; ++i) {
        names[i] = {all_phase_names[i], static_cast<phase>(i)};
    }
    return names;
}();

/// What an executable said: one JSON object with a power.
class vera_reply : public executable_output {
public:
    vera_reply(std::string_view phase, const process::exit_report& report)
        : executable_output(report, phase)
    {
        if (parse()) {
            fail({errc::not_json, "Command hook returned invalid JSON"});
        } else if (!is_object()) {
            refuse("result must be a plain object");
        }
    }

    /// Its power, which must be one of these.
    std::string_view power(std::initializer_list<std::string_view> powers)
    {
        const auto named = must<std::string_view>("power", "result power must be a string");
        if (std::ranges::find(powers, named) == powers.end()) {
            refuse("returned unsupported power: " + std::string(named));
        }
        refuse_infinite_numbers();
        refuse_duplicates({{"power"}});
        return failed() ? std::string_view() : named;
    }
};

class vera_protocol final : public protocol {
public:
    std::string_view name() const noexcept override { return "vera"; }

    std::span<const phase_name> phases() const noexcept override { return vera_phases; }

    std::optional<std::string> payload(const pre_tool_use& event, std::string_view) const override
    {
        auto json = begin<pre_tool_use>();
        write(json, event.call);
        json.member("sessionId", event.session_id).member("workspace", event.workspace);
        return end(std::move(json));
    }

    checked<pre_tool_use::answer> answer(const pre_tool_use&, std::string_view,
                                         const process::exit_report& report) const override
    {
        using answer = pre_tool_use::answer;
        vera_reply said(pre_tool_use::event_name, report);
        const auto power = said.power({"observe", "mutate", "block", "replace"});
        if (power == "mutate") {
            return said.give<answer>(pre_tool_use::mutate{said.must<boost::json::object>(
                                         "input", "mutate input must be a plain object")},
                                     {{"input"}});
        }
        if (power == "block") return said.give<answer>(reason(said), {{"reason"}});
        if (power == "replace") {
            auto result =
                said.must<boost::json::object>("result", "replacement must be a plain object");
            pre_tool_use::replace replace;
            replace.result.content = said.must<boost::json::array>(
                result, "content", "replacement content must be an array");
            replace.result.is_error =
                said.must<bool>(result, "isError", "replacement isError must be a boolean");
            return said.give<answer>(std::move(replace),
                                     {{"result", "content"}, {"result", "isError"}});
        }
        return said.give<answer>(observe{});
    }

    std::optional<std::string> payload(const post_tool_use& event, std::string_view) const override
    {
        auto json = begin<post_tool_use>();
        write(json, event.call);
        json.key("result").open('{');
        json.member("toolCallId", event.call.id).member("toolName", event.call.name);
        json.member("content", event.result.content).member("isError", event.result.is_error);
        json.close('}').member("durationMs", event.duration.count());
        json.member("sessionId", event.session_id).member("workspace", event.workspace);
        return end(std::move(json));
    }

    checked<post_tool_use::answer> answer(const post_tool_use&, std::string_view,
                                          const process::exit_report& report) const override
    {
        using answer = post_tool_use::answer;
        vera_reply said(post_tool_use::event_name, report);
        if (said.power({"observe", "mutate"}) == "mutate") {
            auto patch =
                said.must<boost::json::object>("patch", "mutate patch must be a plain object");
            post_tool_use::mutate mutate;
            mutate.content = said.may<boost::json::array>(patch, "content",
                                                          "mutate patch content must be an array");
            mutate.is_error =
                said.may<bool>(patch, "isError", "mutate patch isError must be a boolean");
            return said.give<answer>(std::move(mutate),
                                     {{"patch", "content"}, {"patch", "isError"}});
        }
        return said.give<answer>(observe{});
    }

    std::optional<std::string> payload(const session_start& event, std::string_view) const override
    {
        static constexpr std::array<std::string_view, 3> reasons{"start", "resume", "compacted"};
        auto json = begin<session_start>();
        json.member("sessionId", event.session_id).member("workspace", event.workspace);
        json.member("reason", reasons[static_cast<std::size_t>(event.reason)]);
        return end(std::move(json));
    }

    checked<session_start::answer> answer(const session_start&, std::string_view,
                                          const process::exit_report& report) const override
    {
        using answer = session_start::answer;
        vera_reply said(session_start::event_name, report);
        if (said.power({"observe", "mutate"}) == "mutate") {
            auto context = said.must<std::string>("context", "mutate context must be a string");
            return said.give<answer>(session_start::mutate{std::move(context)}, {{"context"}});
        }
        return said.give<answer>(observe{});
    }

    std::optional<std::string> payload(const pre_turn& event, std::string_view) const override
    {
        auto json = begin<pre_turn>();
        json.member("sessionId", event.session_id).member("workspace", event.workspace);
        json.member("prompt", event.prompt).member("model", event.model);
        json.member("reasoningEffort", event.reasoning_effort).member("tools", event.tools);
        json.member("arrivedDuringTurn", event.arrived_during_turn);
        json.member("spawned", event.spawned);
        return end(std::move(json));
    }

    checked<pre_turn::answer> answer(const pre_turn&, std::string_view,
                                     const process::exit_report& report) const override
    {
        using answer = pre_turn::answer;
        using texts = std::vector<std::string>;
        vera_reply said(pre_turn::event_name, report);
        const auto power = said.power({"observe", "block", "mutate"});
        if (power == "block") return said.give<answer>(reason(said), {{"reason"}});
        if (power == "mutate") {
            pre_turn::mutate mutate;
            mutate.context = said.may<std::string>("context", "context must be a string");
            mutate.tools =
                said.may<texts>("tools", "mutate tools must be an array of non-empty strings");
            mutate.model =
                said.may<std::string>("model", "mutate model must be a non-empty string");
            mutate.reasoning_effort = said.may<std::string>(
                "reasoningEffort", "mutate reasoningEffort must be a non-empty string");
            mutate.display = display(said);
            return said.give<answer>(
                std::move(mutate),
                {{"context"}, {"tools"}, {"model"}, {"reasoningEffort"}, {"display"}});
        }
        return said.give<answer>(observe{});
    }

    std::optional<std::string> payload(const turn_ending& event, std::string_view) const override
    {
        auto json = begin<turn_ending>();
        json.member("sessionId", event.session_id).member("workspace", event.workspace);
        json.member("prompt", event.prompt).member("reply", event.reply);
        json.member("spawned", event.spawned).member("continuations", event.continuations);
        return end(std::move(json));
    }

    checked<turn_ending::answer> answer(const turn_ending&, std::string_view,
                                        const process::exit_report& report) const override
    {
        using answer = turn_ending::answer;
        vera_reply said(turn_ending::event_name, report);
        if (said.power({"observe", "continue"}) == "continue") {
            turn_ending::continue_turn again;
            again.context = said.must<std::string>("context", "context must be a string");
            again.display = display(said);
            return said.give<answer>(std::move(again), {{"context"}, {"display"}});
        }
        return said.give<answer>(observe{});
    }

    std::optional<std::string> payload(const pre_compact& event, std::string_view) const override
    {
        static constexpr std::array<std::string_view, 2> reasons{"manual", "automatic"};
        auto json = begin<pre_compact>();
        json.member("sessionId", event.session_id).member("workspace", event.workspace);
        json.member("reason", reasons[static_cast<std::size_t>(event.reason)]);
        json.member("tokens", event.tokens).member("capacity", event.capacity);
        json.member("spawned", event.spawned);
        return end(std::move(json));
    }

    checked<pre_compact::answer> answer(const pre_compact&, std::string_view,
                                        const process::exit_report& report) const override
    {
        return watched<pre_compact>(report);
    }

    std::optional<std::string> payload(const session_end& event, std::string_view) const override
    {
        static constexpr std::array<std::string_view, 5> reasons{"detached", "closed", "idle",
                                                                 "deleted", "shutdown"};
        auto json = begin<session_end>();
        json.member("sessionId", event.session_id).member("workspace", event.workspace);
        json.member("reason", reasons[static_cast<std::size_t>(event.reason)]);
        json.member("turns", event.turns).member("spawned", event.spawned);
        return end(std::move(json));
    }

    checked<session_end::answer> answer(const session_end&, std::string_view,
                                        const process::exit_report& report) const override
    {
        return watched<session_end>(report);
    }

    std::optional<std::string> payload(const subagent_finished& event,
                                       std::string_view) const override
    {
        static constexpr std::array<std::string_view, 2> outcomes{"completed", "error"};
        auto json = begin<subagent_finished>();
        json.member("parentSessionId", event.parent_session_id);
        json.member("subagentId", event.subagent_id).member("workspace", event.workspace);
        json.member("background", event.background);
        json.member("outcome", outcomes[static_cast<std::size_t>(event.outcome)]);
        json.member("text", event.text);
        return end(std::move(json));
    }

    checked<subagent_finished::answer> answer(const subagent_finished&, std::string_view,
                                              const process::exit_report& report) const override
    {
        return watched<subagent_finished>(report);
    }

private:
    template <class E>
    static json_writer begin()
    {
        json_writer json;
        json.open('{').member("type", E::event_name);
        return json;
    }

    static std::string end(json_writer&& json) { return std::move(json.close('}')).take(); }

    static void write(json_writer& json, const tool_call& call)
    {
        json.key("toolCall").open('{').member("id", call.id).member("name", call.name);
        json.member("input", call.input).close('}');
    }

    static block reason(vera_reply& said)
    {
        return {said.must<std::string>("reason", "block reason must be a non-empty string")};
    }

    static std::optional<std::string> display(vera_reply& said)
    {
        return said.may<std::string>("display",
                                     "display must be one line of at most 200 characters");
    }
};

}  // namespace detail

BELAY_DECL const protocol& vera() noexcept
{
    static const detail::vera_protocol instance;
    return instance;
}

}  // namespace belay::hooks

#endif
