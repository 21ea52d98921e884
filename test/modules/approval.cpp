#include <belay/modules/approval.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>
#include <ostream>
#include <string>
#include <vector>

using namespace belay::modules;

namespace belay::modules {

// For the messages of the tests.
std::ostream& operator<<(std::ostream& out, tool_tier tier)
{
    return out << (tier == tool_tier::read ? "read" : tier == tool_tier::write ? "write" : "exec");
}

std::ostream& operator<<(std::ostream& out, approval_policy policy)
{
    return out << (policy == approval_policy::allow    ? "allow"
                   : policy == approval_policy::prompt ? "prompt"
                                                       : "deny");
}

}  // namespace belay::modules

namespace {

using enum approval_policy;

constexpr auto reads = tool_tier::read;
constexpr auto writes = tool_tier::write;
constexpr auto executes = tool_tier::exec;

approval_settings in_mode(std::string mode)
{
    return {.mode = std::move(mode)};
}

approval_policy policy_for(tool_tier tier, const approval_settings& settings)
{
    return resolve_approval("demo", {.tier = tier}, settings).policy;
}

// What reads, writes and commands get in a mode.
void check_mode(const approval_settings& settings, approval_policy for_read,
                approval_policy for_write, approval_policy for_exec)
{
    BOOST_TEST(policy_for(reads, settings) == for_read);
    BOOST_TEST(policy_for(writes, settings) == for_write);
    BOOST_TEST(policy_for(executes, settings) == for_exec);
}

const tool_approval critical{
    .tier = executes, .reason = "it looks critical", .always_prompts = true};

configured_approval read_settings(const char* json)
{
    return read_approval_settings(boost::json::parse(json).as_object());
}

bool contains(const std::string& text, const std::string& part)
{
    return text.find(part) != text.npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(approval_suite)

// --- what a tool declares ----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_tier_is_declared_by_its_name)
{
    BOOST_TEST((read_tool_approval("read").tier == reads));
    BOOST_TEST((read_tool_approval("write").tier == writes));
    BOOST_TEST((read_tool_approval("exec").tier == executes));
}

BOOST_AUTO_TEST_CASE(what_is_no_tier_counts_as_exec)
{
    for (const auto* json : {R"("banana")", R"("Read")", R"(" read")", "true", "1", "[]", "{}",
                             R"({"tier": "banana"})", R"({"tier": 1})", R"({"reason": "why"})"}) {
        BOOST_TEST_CONTEXT(json)
        {
            BOOST_TEST((read_tool_approval(boost::json::parse(json)).tier == executes));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_tool_that_declares_nothing_counts_as_exec_and_is_known_to_declare_nothing)
{
    const auto nothing = read_tool_approval(nullptr);
    BOOST_TEST(!nothing.tier.has_value());
    const auto said = resolve_approval("demo", nothing, in_mode("auto-edit"));
    BOOST_TEST(said.tier == executes);
    BOOST_TEST(said.policy == prompt);
}

BOOST_AUTO_TEST_CASE(only_the_boolean_true_is_an_override_and_only_a_text_is_a_reason)
{
    const auto read = [](const char* json) { return read_tool_approval(boost::json::parse(json)); };
    const auto whole = read(R"({"tier": "write", "override": true, "reason": "why"})");
    BOOST_TEST((whole.tier == writes));
    BOOST_TEST(whole.always_prompts);
    BOOST_TEST(whole.reason == "why");
    BOOST_TEST(!read(R"({"tier": "write", "override": "true"})").always_prompts);
    BOOST_TEST(!read(R"({"tier": "write", "override": 1})").always_prompts);
    BOOST_TEST(!read(R"({"tier": "write", "override": false})").always_prompts);
    BOOST_TEST(read(R"({"tier": "write", "reason": 42})").reason == "");
    BOOST_TEST(read(R"({"tier": "write", "reason": null})").reason == "");
}

// --- the modes ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(each_mode_has_the_highest_tier_that_runs_unasked)
{
    check_mode(in_mode("plan"), allow, deny, deny);
    check_mode(in_mode("ask"), allow, prompt, prompt);
    check_mode(in_mode("auto-edit"), allow, allow, prompt);
    check_mode(in_mode("yolo"), allow, allow, allow);
}

BOOST_AUTO_TEST_CASE(without_a_mode_everything_runs_and_an_unknown_one_is_as_strict_as_ask)
{
    check_mode({}, allow, allow, allow);
    for (const auto* mode : {"", "Ask", "YOLO", "yolo ", " plan", "banana", "default"}) {
        BOOST_TEST_CONTEXT(mode)
        {
            check_mode(in_mode(mode), allow, prompt, prompt);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_mode_is_normalized_to_the_name_of_its_rung)
{
    BOOST_TEST(normalize_mode(std::nullopt) == "yolo");
    for (const auto* mode : {"plan", "ask", "auto-edit", "yolo"}) {
        BOOST_TEST(normalize_mode(mode) == mode);
    }
    BOOST_TEST(normalize_mode("always-ask") == "ask");
    BOOST_TEST(normalize_mode("write") == "auto-edit");
    BOOST_TEST(normalize_mode("Write") == "ask");
    BOOST_TEST(normalize_mode("") == "ask");
}

BOOST_AUTO_TEST_CASE(an_unknown_mode_is_warned_of_with_the_value_the_fallback_and_what_is_valid)
{
    for (const auto* valid : {"null", R"("plan")", R"("yolo")", R"("always-ask")", R"("write")"}) {
        BOOST_TEST(!validate_mode(boost::json::parse(valid)).has_value());
    }
    for (const auto* value : {R"("askk")", "42", R"("")", "{}", R"("YOLO")"}) {
        const auto warning = validate_mode(boost::json::parse(value)).value_or("");
        BOOST_TEST_CONTEXT(warning)
        {
            for (const std::string part : {"tools.approvalMode", "unrecognized", value, "\"ask\"",
                                           "plan, ask, auto-edit, yolo", "always-ask", "write"}) {
                BOOST_TEST(contains(warning, part), part);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_command_line_beats_a_plan_session_which_beats_the_configuration)
{
    BOOST_TEST(effective_mode({.mode = "ask", .auto_approve = true, .plan_session = true}) ==
               "yolo");
    BOOST_TEST(effective_mode({.mode = "ask", .plan_session = true}) == "plan");
    BOOST_TEST(effective_mode({.mode = "auto-edit"}) == "auto-edit");
    BOOST_TEST(effective_mode({.mode = "write"}) == "write");
    BOOST_TEST(effective_mode({}) == "yolo");

    check_mode({.mode = "ask", .auto_approve = true, .plan_session = true}, allow, allow, allow);
    check_mode({.mode = "yolo", .plan_session = true}, allow, prompt, deny);
}

BOOST_AUTO_TEST_CASE(a_plan_denies_with_a_reason_of_its_own)
{
    const auto configured = resolve_approval("demo", {.tier = writes}, in_mode("plan"));
    BOOST_TEST(configured.reason.starts_with("Plan autonomy: "));
    const auto active = resolve_approval("demo", {.tier = executes}, {.plan_session = true});
    BOOST_TEST(active.policy == deny);
    BOOST_TEST(active.reason.starts_with("Plan mode: "));
}

BOOST_AUTO_TEST_CASE(a_host_may_have_a_ladder_of_its_own)
{
    const approval_ladder ladder{
        .rungs = {{.name = "ask"},
                  {.name = "look", .allows = reads, .prompts = writes, .caps_policies = true},
                  {.name = "auto", .allows = executes}},
        .aliases = {{"write", "look"}},
        .default_mode = "auto",
        .fallback = "ask",
        .auto_approve = "auto",
        .plan_session = {.name = "look", .allows = reads, .prompts = reads},
    };
    check_mode({.ladder = ladder}, allow, allow, allow);
    check_mode({.mode = "ask", .ladder = ladder}, prompt, prompt, prompt);
    check_mode({.mode = "yolo", .ladder = ladder}, prompt, prompt, prompt);
    check_mode({.mode = "write", .ladder = ladder}, allow, prompt, deny);
    check_mode({.plan_session = true, .ladder = ladder}, allow, deny, deny);

    const auto beyond =
        resolve_approval("demo", {.tier = executes},
                         {.mode = "look", .policies = {{"demo", allow}}, .ladder = ladder});
    BOOST_TEST(beyond.policy == deny);
    BOOST_TEST(contains(beyond.reason, "\"look\""));
}

BOOST_AUTO_TEST_CASE(a_ladder_without_the_rung_that_it_falls_back_to_asks_about_everything)
{
    check_mode({.mode = "banana", .ladder = {.fallback = "nowhere"}}, prompt, prompt, prompt);
}

// --- policies, tools that insist, bypass -------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_policy_beats_the_mode_also_in_a_plan)
{
    for (const std::string mode : {"plan", "ask", "auto-edit", "yolo"}) {
        for (const auto policy : {allow, prompt, deny}) {
            const auto said = resolve_approval("demo", {.tier = executes, .reason = "why"},
                                               {.mode = mode, .policies = {{"demo", policy}}});
            BOOST_TEST_CONTEXT(mode)
            {
                BOOST_TEST(said.policy == policy);
                BOOST_TEST(said.reason == "");
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_policy_is_of_one_tool_whose_name_is_case_sensitive)
{
    const approval_settings settings{.mode = "yolo", .policies = {{"Demo", deny}}};
    BOOST_TEST(policy_for(reads, settings) == allow);
    BOOST_TEST(resolve_approval("Demo", {}, settings).policy == deny);
}

BOOST_AUTO_TEST_CASE(the_reason_of_a_tool_is_for_the_person_who_is_asked)
{
    const tool_approval declared{.tier = writes, .reason = "why"};
    BOOST_TEST(resolve_approval("demo", declared, in_mode("ask")).reason == "why");
    BOOST_TEST(resolve_approval("demo", declared, in_mode("auto-edit")).reason == "");
}

BOOST_AUTO_TEST_CASE(a_tool_that_insists_prompts_in_every_mode_but_yolo_unless_a_policy_denies)
{
    for (const std::string mode : {"plan", "ask", "auto-edit"}) {
        BOOST_TEST_CONTEXT(mode)
        {
            for (const approval_settings& settings :
                 {approval_settings{.mode = mode},
                  approval_settings{.mode = mode, .policies = {{"demo", allow}}},
                  approval_settings{.mode = mode, .policies = {{"demo", prompt}}}}) {
                const auto said = resolve_approval("demo", critical, settings);
                BOOST_TEST(said.policy == prompt);
                BOOST_TEST(said.always_prompts);
                BOOST_TEST(said.reason == critical.reason);
            }
            const auto denied =
                resolve_approval("demo", critical, {.mode = mode, .policies = {{"demo", deny}}});
            BOOST_TEST(denied.policy == deny);
            BOOST_TEST(denied.always_prompts);
            BOOST_TEST(denied.reason == "");
        }
    }
}

BOOST_AUTO_TEST_CASE(yolo_heeds_no_tool_but_policies)
{
    const auto said = resolve_approval("demo", critical, in_mode("yolo"));
    BOOST_TEST(said.policy == allow);
    BOOST_TEST(!said.always_prompts);
    BOOST_TEST(said.reason == "");

    const auto asked =
        resolve_approval("demo", critical, {.mode = "yolo", .policies = {{"demo", prompt}}});
    BOOST_TEST(asked.policy == prompt);
    BOOST_TEST(!asked.always_prompts);
    BOOST_TEST(asked.reason == "");
}

BOOST_AUTO_TEST_CASE(a_bypass_allows_what_would_prompt_and_nothing_that_is_denied)
{
    check_mode({.mode = "ask", .bypass = true}, allow, allow, allow);
    check_mode({.mode = "plan", .bypass = true}, allow, deny, deny);
    BOOST_TEST(policy_for(reads, {.mode = "ask", .policies = {{"demo", deny}}, .bypass = true}) ==
               deny);
    BOOST_TEST(policy_for(reads, {.mode = "ask", .policies = {{"demo", prompt}}, .bypass = true}) ==
               allow);

    const auto said = resolve_approval("demo", critical, {.mode = "ask", .bypass = true});
    BOOST_TEST(said.policy == allow);
    BOOST_TEST(said.always_prompts);
    BOOST_TEST(said.reason == critical.reason);
}

BOOST_AUTO_TEST_CASE(a_policy_of_deny_holds_on_every_way_to_yolo)
{
    for (const approval_settings& settings :
         {approval_settings{.mode = "yolo", .policies = {{"demo", deny}}},
          approval_settings{.policies = {{"demo", deny}}, .auto_approve = true},
          approval_settings{.policies = {{"demo", deny}}, .bypass = true}}) {
        BOOST_TEST(policy_for(reads, settings) == deny);
    }
}

// --- the configuration -------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(settings_are_read_from_a_document_with_members_of_others)
{
    const auto read = read_settings(R"({
        "theme": "dark",
        "tools": {"approvalMode": "write", "approval": {"bash": "prompt", "rm": "deny", "ls": "allow"},
                  "more": true}})");
    BOOST_TEST(read.warnings.empty());
    BOOST_TEST((read.settings.mode == "write"));
    BOOST_TEST(read.settings.policies.size() == 3U);
    BOOST_TEST(read.settings.policies.at("bash") == prompt);
    BOOST_TEST(read.settings.policies.at("rm") == deny);
    BOOST_TEST(read.settings.policies.at("ls") == allow);
}

BOOST_AUTO_TEST_CASE(what_is_absent_or_null_is_the_default)
{
    for (const auto* json : {"{}", R"({"tools": null})", R"({"tools": {}})",
                             R"({"tools": {"approvalMode": null, "approval": null}})"}) {
        const auto read = read_settings(json);
        BOOST_TEST(read.warnings.empty());
        BOOST_TEST(!read.settings.mode.has_value());
        BOOST_TEST(read.settings.policies.empty());
    }
}

BOOST_AUTO_TEST_CASE(a_policy_is_trimmed_and_case_folded)
{
    const auto read = read_settings(
        R"({"tools": {"approval": {"a": " ALLOW ", "b": "\tDeny\n", "c": "\u00a0prompt\ufeff"}}})");
    BOOST_TEST(read.warnings.empty());
    BOOST_TEST(read.settings.policies.at("a") == allow);
    BOOST_TEST(read.settings.policies.at("b") == deny);
    BOOST_TEST(read.settings.policies.at("c") == prompt);
}

BOOST_AUTO_TEST_CASE(what_is_no_policy_is_ignored_and_warned_of)
{
    const auto read = read_settings(R"({"tools": {"approval": {"bash": "dney", "ls": true}}})");
    BOOST_TEST(read.settings.policies.empty());
    BOOST_TEST_REQUIRE(read.warnings.size() == 2U);
    BOOST_TEST(contains(read.warnings[0], "tools.approval.bash"));
    BOOST_TEST(contains(read.warnings[0], "\"dney\""));
    BOOST_TEST(contains(read.warnings[1], "tools.approval.ls"));
    BOOST_TEST(contains(read.warnings[1], "true"));
}

BOOST_AUTO_TEST_CASE(settings_of_the_wrong_kind_are_strict_and_warned_of)
{
    const auto mode = read_settings(R"({"tools": {"approvalMode": 42}})");
    BOOST_TEST_REQUIRE(mode.warnings.size() == 1U);
    BOOST_TEST(contains(mode.warnings[0], "42"));
    check_mode(mode.settings, allow, prompt, prompt);

    const auto unknown = read_settings(R"({"tools": {"approvalMode": "askk"}})");
    BOOST_TEST_REQUIRE(unknown.warnings.size() == 1U);
    BOOST_TEST(contains(unknown.warnings[0], "\"askk\""));
    check_mode(unknown.settings, allow, prompt, prompt);

    const auto policies = read_settings(R"({"tools": {"approval": ["bash"]}})");
    BOOST_TEST_REQUIRE(policies.warnings.size() == 1U);
    BOOST_TEST(contains(policies.warnings[0], "tools.approval"));

    const auto tools = read_settings(R"({"tools": "yolo"})");
    BOOST_TEST_REQUIRE(tools.warnings.size() == 1U);
    BOOST_TEST(contains(tools.warnings[0], "\"yolo\""));
}

// --- the prompt --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_prompt_has_the_tool_its_reason_and_its_details_in_lines)
{
    BOOST_TEST(format_prompt({.tool = "bash"}) == "Allow tool: bash");
    BOOST_TEST(format_prompt({.tool = "bash", .reason = "why", .details = {"one", "", "two"}}) ==
               "Allow tool: bash\nReason: why\none\ntwo");
}

BOOST_AUTO_TEST_CASE(the_origin_is_shown_of_a_tool_of_an_mcp_server_that_declares_nothing)
{
    BOOST_TEST(format_prompt({.tool = "mcp__s__t", .declared = false, .reason = "why"}) ==
               "Allow tool: mcp__s__t\nOrigin: MCP server tool\nReason: why");
    BOOST_TEST(format_prompt({.tool = "a\x1b[2J\nReason: b\xff"}) ==
               "Allow tool: a Reason: b\xef\xbf\xbd");
    BOOST_TEST(format_prompt({.tool = "mcp__s__t"}) == "Allow tool: mcp__s__t");
    BOOST_TEST(format_prompt({.tool = "bash", .declared = false}) == "Allow tool: bash");
}

BOOST_AUTO_TEST_CASE(a_long_text_is_cut_and_says_how_much_is_missing)
{
    BOOST_TEST(truncate_prompt("abcde", 5) == "abcde");
    BOOST_TEST(truncate_prompt("abcdefgh", 5) == "abcde[\u20263ch elided\u2026]");
    BOOST_TEST(truncate_prompt("", 0) == "");
    BOOST_TEST(truncate_prompt("ab", 0) == "[\u20262ch elided\u2026]");
    BOOST_TEST(truncate_prompt(std::string(2000, 'x')) == std::string(2000, 'x'));
    BOOST_TEST(truncate_prompt(std::string(2001, 'x')) ==
               std::string(2000, 'x') + "[\u20261ch elided\u2026]");
}

BOOST_AUTO_TEST_CASE(a_text_is_counted_in_utf_16_units_and_cut_between_characters)
{
    // each of these faces is two units and four bytes, each of the letters one unit and two bytes
    BOOST_TEST(truncate_prompt("\U0001F642\U0001F642", 4) == "\U0001F642\U0001F642");
    BOOST_TEST(truncate_prompt("\U0001F642\U0001F642", 3) == "\U0001F642[\u20262ch elided\u2026]");
    BOOST_TEST(truncate_prompt("\U0001F642ab", 1) == "[\u20264ch elided\u2026]");
    BOOST_TEST(truncate_prompt("\u00E4\u00F6\u00FC", 2) == "\u00E4\u00F6[\u20261ch elided\u2026]");
}

BOOST_AUTO_TEST_CASE(the_ill_formed_parts_of_a_text_are_replaced)
{
    BOOST_TEST(truncate_prompt("a\xFFz", 2) == "a\uFFFD[\u20261ch elided\u2026]");
    BOOST_TEST(truncate_prompt("\xF0\x9F") == "\uFFFD");
}

BOOST_AUTO_TEST_SUITE_END()
