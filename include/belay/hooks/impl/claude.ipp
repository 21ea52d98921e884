#ifndef BELAY_HOOKS_IMPL_CLAUDE_IPP
#define BELAY_HOOKS_IMPL_CLAUDE_IPP

#include <belay/hooks/detail/executable_output.hpp>
#include <belay/hooks/detail/json.hpp>
#include <belay/hooks/protocol/claude.hpp>
#include <belay/process/detail/text.hpp>
#include <belay/process/utf8.hpp>

#include <boost/json/object.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace belay::hooks {
namespace detail {

inline constexpr std::string_view subagent_stop = "SubagentStop";

inline constexpr std::array<phase_name, 13> claude_phases{{
    {"PreToolUse", phase::pre_tool_use},
    {"SessionStart", phase::session_start},
    {"UserPromptSubmit", phase::pre_turn},
    {"Stop", phase::turn_ending},
    {subagent_stop, phase::turn_ending},
    {"PreCompact", phase::pre_compact},
    {"SessionEnd", phase::session_end},
    {"pre_tool_use", phase::pre_tool_use},
    {"session_start", phase::session_start},
    {"pre_turn", phase::pre_turn},
    {"turn_ending", phase::turn_ending},
    {"pre_compact", phase::pre_compact},
    {"session_end", phase::session_end},
}};

// All others have the same name.
inline constexpr std::array<tool_name, 1> claude_tools{{{"Bash", "bash"}}};

/// What a hook said by exit status 0: a text, or a JSON object.
class claude_reply : public executable_output {
public:
    claude_reply(std::string_view event, const process::exit_report& report)
        : executable_output(report), event_(event)
    {
        // An object that cannot be read is no text: it may hold a decision.
        const auto fault = parse();
        if (fault && fault->beyond_limits && text().starts_with('{')) {
            fail({errc::not_json, std::string(invalid_json)});
        }
    }

    /// `hookSpecificOutput`, which must be of this event; empty if there is none.
    boost::json::object specific_output()
    {
        const auto rule = "Invalid " + std::string(event_) + " hookSpecificOutput";
        auto output = may<boost::json::object>("hookSpecificOutput", rule);
        if (!output) return {};
        if (must<std::string>(*output, "hookEventName", rule) != event_) refuse(rule);
        refuse_duplicates({{"hookSpecificOutput", "hookEventName"}});
        return *std::move(output);
    }

    /// Why `permissionDecision` denies, if it does; else it has to allow, which grants nothing.
    std::optional<std::string> denial()
    {
        auto output = specific_output();
        const auto decision = may<std::string>(output, "permissionDecision", invalid_json);
        refuse_duplicates({{"hookSpecificOutput", "permissionDecision"}});
        if (!decision || *decision == "allow") return std::nullopt;
        if (*decision != "deny") refuse(invalid_json);
        auto reason = must<std::string>(output, "permissionDecisionReason", invalid_json);
        if (reason.empty()) refuse(invalid_json);
        refuse_duplicates({{"hookSpecificOutput", "permissionDecisionReason"}});
        return reason;
    }

    /// Why the top-level `decision` blocks, if it does; no other decision means anything.
    std::optional<std::string> decision_to_block()
    {
        constexpr auto rule = "Command hook decision block needs a reason";
        refuse_duplicates({{"decision"}});
        if (!has("decision", "block")) return std::nullopt;
        auto reason = must<std::string>("reason", rule);
        if (reason.empty()) refuse(rule);
        refuse_duplicates({{"reason"}});
        return reason;
    }

    /// Plain text, or `additionalContext`; empty if there is neither.
    std::string context()
    {
        if (!is_object()) return std::string(text());
        auto output = specific_output();
        auto added =
            may<std::string>(output, "additionalContext", "additionalContext must be a string");
        refuse_duplicates({{"hookSpecificOutput", "additionalContext"}});
        return std::move(added).value_or(std::string());
    }

private:
    static constexpr std::string_view invalid_json = "Command hook returned invalid JSON";

    std::string_view event_;
};

class claude_protocol final : public protocol {
public:
    std::string_view name() const noexcept override { return "claude"; }

    std::span<const phase_name> phases() const noexcept override { return claude_phases; }

    std::span<const tool_name> tools() const noexcept override { return claude_tools; }

    std::optional<std::string> payload(const pre_tool_use& event, std::string_view) const override
    {
        json_writer json;
        json.open('{').member("session_id", event.session_id.value_or(std::string()));
        json.member("hook_event_name", "PreToolUse");
        std::string_view tool = event.call.name;
        for (const auto& [name, means] : claude_tools) {
            if (means == event.call.name) tool = name;
        }
        json.member("tool_name", tool);
        json.member("tool_input", event.call.input).member("tool_use_id", event.call.id);
        json.member("cwd", event.workspace);
        return end(std::move(json));
    }

    checked<pre_tool_use::answer> answer(const pre_tool_use&, std::string_view,
                                         const process::exit_report& report) const override
    {
        using answer = pre_tool_use::answer;
        if (exited_2(report)) return reason_on_stderr<answer, block>(report);
        claude_reply said("PreToolUse", report);
        if (auto reason = said.denial()) return said.give<answer>(block{*std::move(reason)});
        return said.give<answer>(observe{});
    }

    std::optional<std::string> payload(const session_start& event, std::string_view) const override
    {
        static constexpr std::array<std::string_view, 3> sources{"startup", "resume", "compact"};
        auto json = begin(event, "SessionStart");
        json.member("source", sources[static_cast<std::size_t>(event.reason)]);
        return end(std::move(json));
    }

    checked<session_start::answer> answer(const session_start&, std::string_view,
                                          const process::exit_report& report) const override
    {
        using answer = session_start::answer;
        if (exited_2(report)) return answer(observe{});
        claude_reply said("SessionStart", report);
        auto context = said.context();
        if (context.empty()) return said.give<answer>(observe{});
        return said.give<answer>(session_start::mutate{std::move(context)});
    }

    std::optional<std::string> payload(const pre_turn& event, std::string_view) const override
    {
        if (event.spawned) return std::nullopt;
        auto json = begin(event, "UserPromptSubmit");
        json.member("prompt", event.prompt);
        return end(std::move(json));
    }

    checked<pre_turn::answer> answer(const pre_turn&, std::string_view,
                                     const process::exit_report& report) const override
    {
        using answer = pre_turn::answer;
        if (exited_2(report)) return reason_on_stderr<answer, block>(report);
        claude_reply said("UserPromptSubmit", report);
        if (auto reason = said.decision_to_block()) {
            said.specific_output();
            return said.give<answer>(block{*std::move(reason)});
        }
        auto context = said.context();
        if (context.empty()) return said.give<answer>(observe{});
        return said.give<answer>(pre_turn::mutate{.context = std::move(context)});
    }

    std::optional<std::string> payload(const turn_ending& event,
                                       std::string_view configured) const override
    {
        const bool of_subagents = configured == subagent_stop;
        if (event.spawned != of_subagents) return std::nullopt;
        auto json = begin(event, of_subagents ? subagent_stop : "Stop");
        json.member("stop_hook_active", event.continuations != 0);
        json.member("last_assistant_message", event.reply);
        if (of_subagents) json.member("agent_id", event.session_id);
        return end(std::move(json));
    }

    checked<turn_ending::answer> answer(const turn_ending&, std::string_view configured,
                                        const process::exit_report& report) const override
    {
        using answer = turn_ending::answer;
        using again = turn_ending::continue_turn;
        if (exited_2(report)) return reason_on_stderr<answer, again>(report);
        claude_reply said(configured == subagent_stop ? subagent_stop : "Stop", report);
        said.specific_output();
        if (auto reason = said.decision_to_block())
            return said.give<answer>(again{*std::move(reason)});
        return said.give<answer>(observe{});
    }

    std::optional<std::string> payload(const pre_compact& event, std::string_view) const override
    {
        static constexpr std::array<std::string_view, 2> triggers{"manual", "auto"};
        if (event.spawned) return std::nullopt;
        auto json = begin(event, "PreCompact");
        json.member("trigger", triggers[static_cast<std::size_t>(event.reason)]);
        json.member("custom_instructions", "");
        return end(std::move(json));
    }

    checked<pre_compact::answer> answer(const pre_compact&, std::string_view,
                                        const process::exit_report& report) const override
    {
        return exited_2(report) ? pre_compact::answer(observe{}) : watched<pre_compact>(report);
    }

    std::optional<std::string> payload(const session_end& event, std::string_view) const override
    {
        if (event.spawned) return std::nullopt;
        auto json = begin(event, "SessionEnd");
        json.member("reason", "other");
        return end(std::move(json));
    }

    checked<session_end::answer> answer(const session_end&, std::string_view,
                                        const process::exit_report& report) const override
    {
        return exited_2(report) ? session_end::answer(observe{}) : watched<session_end>(report);
    }

    // The two phases that have no name here.
    std::optional<std::string> payload(const post_tool_use&, std::string_view) const override
    {
        return std::nullopt;
    }
    checked<post_tool_use::answer> answer(const post_tool_use&, std::string_view,
                                          const process::exit_report& report) const override
    {
        return watched<post_tool_use>(report);
    }
    std::optional<std::string> payload(const subagent_finished&, std::string_view) const override
    {
        return std::nullopt;
    }
    checked<subagent_finished::answer> answer(const subagent_finished&, std::string_view,
                                              const process::exit_report& report) const override
    {
        return watched<subagent_finished>(report);
    }

private:
    template <class E>
    static json_writer begin(const E& event, std::string_view name)
    {
        json_writer json;
        json.open('{').member("session_id", event.session_id).member("cwd", event.workspace);
        json.member("hook_event_name", name);
        return json;
    }

    static std::string end(json_writer&& json) { return std::move(json.close('}')).take(); }

    static bool exited_2(const process::exit_report& report) noexcept
    {
        return report.status == process::exit_status::exited(2);
    }

    // What a program says by exit status 2, with the reason that it gives on stderr.
    template <class Answer, class Power>
    static checked<Answer> reason_on_stderr(const process::exit_report& report)
    {
        const auto text = process::utf8_lenient(report.err);
        const auto reason = process::detail::trim(text);
        if (reason.empty()) {
            return diagnosis{errc::invalid_answer,
                             "Command hook exited 2 without a reason on stderr"};
        }
        return Answer(Power{std::string(reason)});
    }
};

}  // namespace detail

BELAY_DECL const protocol& claude() noexcept
{
    static const detail::claude_protocol instance;
    return instance;
}

}  // namespace belay::hooks

#endif
