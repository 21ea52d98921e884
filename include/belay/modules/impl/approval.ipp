#ifndef BELAY_MODULES_IMPL_APPROVAL_IPP
#define BELAY_MODULES_IMPL_APPROVAL_IPP

#include <belay/modules/approval.hpp>
#include <belay/modules/status_text.hpp>
#include <belay/process/detail/text.hpp>
#include <belay/process/utf8.hpp>

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <utility>

namespace belay::modules {
namespace detail {

// What is no tier counts as the worst one.
inline tool_tier read_tier(const boost::json::value* declared)
{
    const auto* name = declared != nullptr ? declared->if_string() : nullptr;
    if (name != nullptr && *name == "read") return tool_tier::read;
    if (name != nullptr && *name == "write") return tool_tier::write;
    return tool_tier::exec;
}

inline std::optional<approval_policy> policy_called(std::string_view name)
{
    const auto text = process::utf8_lenient(name);
    std::string word(process::detail::trim(text));
    for (char& c : word) {
        if ('A' <= c && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    if (word == "allow") return approval_policy::allow;
    if (word == "prompt") return approval_policy::prompt;
    if (word == "deny") return approval_policy::deny;
    return std::nullopt;
}

// The rung that a mode stands for; null if it is unknown.
inline const approval_rung* find_rung(std::string_view mode, const approval_ladder& ladder)
{
    const auto alias = ladder.aliases.find(mode);
    const std::string_view name = alias != ladder.aliases.end() ? alias->second : mode;
    const auto found = std::ranges::find(ladder.rungs, name, &approval_rung::name);
    return found != ladder.rungs.end() ? &*found : nullptr;
}

// The rung that is in force. A ladder without the one that it falls back to asks about everything.
inline const approval_rung& rung_in_force(const approval_settings& settings)
{
    static const approval_rung asks_about_everything;
    const auto& ladder = settings.ladder;
    const auto name = normalize_mode(effective_mode(settings), ladder);
    if (settings.plan_session && name == ladder.plan_session.name) return ladder.plan_session;
    const auto* rung = find_rung(name, ladder);
    return rung != nullptr ? *rung : asks_about_everything;
}

inline std::string refusal_of(const approval_rung& rung)
{
    if (!rung.refusal.empty()) return rung.refusal;
    return "The mode \"" + rung.name + "\" does not let this tool run.";
}

inline std::string warning_of_policy(std::string_view tool, const boost::json::value& value)
{
    return "tools.approval." + std::string(tool) + " has the unrecognized value " +
           serialize(value) + ", which is ignored. Valid values: allow, deny, prompt.";
}

inline void read_policies(const boost::json::value& configured, configured_approval& read)
{
    if (configured.is_null()) return;
    const auto* policies = configured.if_object();
    if (policies == nullptr) {
        read.warnings.push_back("tools.approval is " + serialize(configured) +
                                ", which is ignored: it must be an object of policies.");
        return;
    }
    for (const auto& [tool, value] : *policies) {
        const auto* text = value.if_string();
        const auto policy = text != nullptr ? policy_called(*text) : std::nullopt;
        if (policy) {
            read.settings.policies.insert_or_assign(tool, *policy);
        } else {
            read.warnings.push_back(warning_of_policy(tool, value));
        }
    }
}

inline void read_mode(const boost::json::value& configured, configured_approval& read)
{
    if (configured.is_null()) return;
    const auto* text = configured.if_string();
    read.settings.mode = text != nullptr ? std::string(*text) : read.settings.ladder.fallback;
    if (auto warning = validate_mode(configured, read.settings.ladder)) {
        read.warnings.push_back(*std::move(warning));
    }
}

}  // namespace detail

BELAY_DECL tool_approval read_tool_approval(const boost::json::value& declared)
{
    if (declared.is_null()) return {};
    const auto* object = declared.if_object();
    if (object == nullptr) return {.tier = detail::read_tier(&declared)};
    tool_approval read{.tier = detail::read_tier(object->if_contains("tier"))};
    if (const auto* reason = object->if_contains("reason");
        reason != nullptr && reason->is_string()) {
        read.reason = reason->get_string();
    }
    const auto* insists = object->if_contains("override");
    read.always_prompts = insists != nullptr && *insists == true;
    return read;
}

BELAY_DECL approval_ladder default_approval_ladder()
{
    using enum tool_tier;
    return {
        .rungs =
            {
                {.name = "plan",
                 .allows = read,
                 .prompts = read,
                 .refusal = "Plan autonomy: only tools that do no more than read may run. Choose "
                            "another tools.approvalMode to change anything."},
                {.name = "ask", .allows = read},
                {.name = "auto-edit", .allows = write},
                {.name = "yolo", .allows = exec, .heeds_tools = false},
            },
        .aliases = {{"always-ask", "ask"}, {"write", "auto-edit"}},
        .default_mode = "yolo",
        .fallback = "ask",
        .auto_approve = "yolo",
        .plan_session = {.name = "plan",
                         .allows = read,
                         .prompts = write,
                         .refusal = "Plan mode: while a plan is being made, nothing is executed."},
    };
}

BELAY_DECL configured_approval read_approval_settings(const boost::json::object& document,
                                                      approval_ladder ladder)
{
    configured_approval read;
    read.settings.ladder = std::move(ladder);
    const auto* tools = document.if_contains("tools");
    if (tools == nullptr || tools->is_null()) return read;
    const auto* members = tools->if_object();
    if (members == nullptr) {
        read.warnings.push_back("tools is " + serialize(*tools) +
                                ", which is ignored: it must be an object.");
        return read;
    }
    if (const auto* mode = members->if_contains("approvalMode")) detail::read_mode(*mode, read);
    if (const auto* some = members->if_contains("approval")) detail::read_policies(*some, read);
    return read;
}

BELAY_DECL std::string normalize_mode(std::optional<std::string_view> mode,
                                      const approval_ladder& ladder)
{
    if (!mode) return ladder.default_mode;
    const auto* rung = detail::find_rung(*mode, ladder);
    return rung != nullptr ? rung->name : ladder.fallback;
}

BELAY_DECL std::optional<std::string> validate_mode(const boost::json::value& configured,
                                                    const approval_ladder& ladder)
{
    if (configured.is_null()) return std::nullopt;
    const auto* text = configured.if_string();
    if (text != nullptr && detail::find_rung(*text, ladder) != nullptr) return std::nullopt;
    std::string valid;
    for (const auto& rung : ladder.rungs) valid += (valid.empty() ? "" : ", ") + rung.name;
    for (const auto& [alias, name] : ladder.aliases) valid += ", " + alias;
    return "tools.approvalMode has the unrecognized value " + serialize(configured) +
           "; falling back to \"" + ladder.fallback + "\". Valid values: " + valid + ".";
}

BELAY_DECL std::string effective_mode(const approval_settings& settings)
{
    if (settings.auto_approve) return settings.ladder.auto_approve;
    if (settings.plan_session) return settings.ladder.plan_session.name;
    return settings.mode.value_or(settings.ladder.default_mode);
}

BELAY_DECL approval_resolution resolve_approval(std::string_view tool,
                                                const tool_approval& declared,
                                                const approval_settings& settings)
{
    using enum approval_policy;
    const auto& rung = detail::rung_in_force(settings);
    const auto tier = declared.tier.value_or(tool_tier::exec);
    const auto found = settings.policies.find(tool);
    const auto policy =
        found != settings.policies.end() ? std::optional(found->second) : std::nullopt;
    const auto asked = settings.bypass ? allow : prompt;
    const bool beyond = tier > rung.prompts;

    if (rung.heeds_tools && declared.always_prompts) {
        if (policy == deny) return {deny, tier, true, {}};
        return {asked, tier, true, declared.reason};
    }
    if (policy && (policy == deny || !(beyond && rung.caps_policies))) {
        return {policy == prompt ? asked : *policy, tier, false, {}};
    }
    if (beyond) return {deny, tier, false, detail::refusal_of(rung)};
    if (rung.allows && tier <= *rung.allows) return {allow, tier, false, {}};
    return {asked, tier, false, declared.reason};
}

BELAY_DECL std::string format_prompt(const approval_prompt& prompt)
{
    // On one line, so that no name can pass for more of the prompt.
    auto text = "Allow tool: " + sanitize_status(prompt.tool);
    if (!prompt.declared && prompt.tool.starts_with("mcp__")) text += "\nOrigin: MCP server tool";
    if (!prompt.reason.empty()) text += "\nReason: " + process::utf8_lenient(prompt.reason);
    for (const auto& one : prompt.details) {
        if (!one.empty()) text += '\n' + one;
    }
    return text;
}

BELAY_DECL std::string truncate_prompt(std::string_view text, std::size_t limit)
{
    const auto whole = process::utf8_lenient(text);
    std::size_t kept = 0;  // bytes
    std::size_t left = limit;
    std::size_t elided = 0;
    for (std::string_view rest = whole; !rest.empty();) {
        const auto point = process::detail::first_code_point(rest);
        const std::size_t units = point.value < 0x10000 ? 1 : 2;
        if (elided == 0 && units <= left) {
            left -= units;
            kept += point.size;
        } else {
            elided += units;
        }
        rest.remove_prefix(point.size);
    }
    if (elided == 0) return whole;
    return whole.substr(0, kept) + "[\u2026" + std::to_string(elided) + "ch elided\u2026]";
}

}  // namespace belay::modules

#endif
