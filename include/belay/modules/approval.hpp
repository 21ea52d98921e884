#ifndef BELAY_MODULES_APPROVAL_HPP
#define BELAY_MODULES_APPROVAL_HPP

// Whether a tool may run: decided before any module hears of the call, and by no module (spec: Veyyon,
// "1) Approval"). Data in, data out; `tool_wrapper` does what it says.
//
//     auto read = read_approval_settings(config);  // tools.approvalMode, tools.approval.<tool>
//     for (auto& one : read.warnings) std::cerr << one << '\n';
//     auto said = resolve_approval("bash", {.tier = tool_tier::exec}, read.settings);
//     if (said.policy == approval_policy::prompt) ...

#include <belay/config.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::modules {

/// The worst that a call may do. Each includes those before it.
enum class tool_tier : unsigned char { read, write, exec };

/// What is to be done with a call.
enum class approval_policy : unsigned char { allow, prompt, deny };

/// What a tool says of itself.
struct tool_approval {
    std::optional<tool_tier> tier{};  ///< a tool that declares none counts as exec
    std::string reason{};             ///< for the person who is asked; may be empty
    bool always_prompts = false;      ///< even if the mode or a policy allows it
};

/// What a tool declares, as JSON: a tier, or `{"tier": ..., "reason": ..., "override": ...}`. Null is
/// no declaration. A tier that is missing or unknown, like anything malformed, is exec; a reason that
/// is no string, and an override that is not the boolean true, are none.
[[nodiscard]] BELAY_DECL tool_approval read_tool_approval(const boost::json::value& declared);

/// What runs unasked in a mode, and what does not run at all.
struct approval_rung {
    std::string name{};
    std::optional<tool_tier> allows{};    ///< the highest tier that runs unasked; absent: none does
    tool_tier prompts = tool_tier::exec;  ///< the highest that a person may allow; beyond, denied
    bool heeds_tools = true;              ///< whether `tool_approval::always_prompts` counts
    bool caps_policies = false;           ///< whether a policy cannot allow what the mode denies
    std::string refusal{};                ///< what a call beyond `prompts` is told
};

/// The modes there are. The document names none, so a host may have its own.
struct approval_ladder {
    std::vector<approval_rung> rungs{};  ///< in the order in which they are listed
    std::map<std::string, std::string, std::less<>> aliases{};  ///< other names of rungs
    std::string default_mode{};                                 ///< when none is configured
    std::string fallback{};                                     ///< for a mode that is unknown
    std::string auto_approve{};                                 ///< when the command line says so

    /// While a plan session is active, in the place of the rung of its name.
    approval_rung plan_session{};
};

/// `plan` (reads run, the rest is denied; in a plan session, writes prompt), `ask` (reads run),
/// `auto-edit` (writes, too), and `yolo` (all run, and tools are not heeded), which is the default.
/// `always-ask` is `ask`, and `write` is `auto-edit`; what is unknown is `ask`.
[[nodiscard]] BELAY_DECL approval_ladder default_approval_ladder();

/// What is configured, and what the command line and the session say.
struct approval_settings {
    std::optional<std::string> mode{};  ///< `tools.approvalMode`, as it is written there
    std::map<std::string, approval_policy, std::less<>> policies{};  ///< `tools.approval.<tool>`
    bool auto_approve = false;  ///< the command line approves: see `effective_mode`
    bool plan_session = false;  ///< a plan is being made: see `effective_mode`
    bool bypass = false;        ///< for this session nobody is asked; what is denied stays denied
    approval_ladder ladder = default_approval_ladder();
};

/// Settings, and what was wrong with them: sentences for people.
struct configured_approval {
    approval_settings settings{};
    std::vector<std::string> warnings{};
};

/// Reads `{"tools": {"approvalMode": ..., "approval": {TOOL: POLICY, ...}}}`; other members are
/// somebody else's. An unknown mode counts as the fallback of the ladder, and an unknown policy as
/// none; both are warned of. Policies may have white space around them, and capital letters.
[[nodiscard]] BELAY_DECL configured_approval read_approval_settings(
    const boost::json::object& document, approval_ladder ladder = default_approval_ladder());

/// The name of the rung that a configured mode stands for, exactly as it is written. None is the
/// default; one that is unknown is the fallback, which is strict.
[[nodiscard]] BELAY_DECL std::string normalize_mode(
    std::optional<std::string_view> mode,
    const approval_ladder& ladder = default_approval_ladder());

/// A warning about what is configured as `tools.approvalMode`, which names the value, what counts
/// instead, and what would be valid. None about null.
[[nodiscard]] BELAY_DECL std::optional<std::string> validate_mode(
    const boost::json::value& configured,
    const approval_ladder& ladder = default_approval_ladder());

/// The mode that is in force: that of the command line, else that of a plan session, else the one that
/// is configured, as it is written there.
[[nodiscard]] BELAY_DECL std::string effective_mode(const approval_settings& settings);

/// What is to be done with a call, and why.
struct approval_resolution {
    approval_policy policy = approval_policy::deny;
    tool_tier tier = tool_tier::exec;
    bool always_prompts = false;  ///< the tool insisted, and was heeded
    std::string reason{};  ///< of the tool, if it prompts; of the mode, if that denies; else empty
};

/// What is to be done with a call of `tool`, in the mode that is in force.
///
/// A tool that always prompts, where it is heeded, is denied by a policy of deny, and else prompts.
/// Otherwise a policy counts; then the mode denies, allows or prompts by tier. A bypass turns what
/// would prompt into what is allowed.
[[nodiscard]] BELAY_DECL approval_resolution resolve_approval(std::string_view tool,
                                                              const tool_approval& declared,
                                                              const approval_settings& settings);

/// What a person is asked.
struct approval_prompt {
    std::string tool{};
    bool declared = true;  ///< whether the tool declares a tier
    std::string reason{};
    std::vector<std::string> details{};  ///< empty ones are left out
};

/// The text of a prompt, in lines: `Allow tool: `, for a tool of an MCP server that declares nothing
/// its origin, `Reason: `, and the details.
[[nodiscard]] BELAY_DECL std::string format_prompt(const approval_prompt& prompt);

/// At most `limit` UTF-16 units of a text in UTF-8, never a part of a character, and then how many were
/// left out: `[…42ch elided…]`. Ill-formed parts become U+FFFD.
[[nodiscard]] BELAY_DECL std::string truncate_prompt(std::string_view text,
                                                     std::size_t limit = 2000);

}  // namespace belay::modules

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/impl/approval.ipp>
#endif

#endif
