#include <belay/core/chain.hpp>
#include <belay/hooks/executable.hpp>
#include <belay/hooks/protocol/claude.hpp>
#include <belay/hooks/protocol/vera.hpp>
#include <belay/hooks/run_tools.hpp>

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include <array>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

using namespace belay;
using namespace belay::hooks;
using belay::test::host;
using belay::test::kept_log;
namespace json = boost::json;

namespace {

using names = std::vector<std::string>;

pre_tool_use removal()
{
    pre_tool_use event;
    event.call = {.id = "call_1", .name = "bash", .input = {{"command", "rm treasure"}}};
    event.session_id = "sess_1";
    event.workspace = "/nest";
    return event;
}

// What a hook of this event gets on stdin; nothing: it does not run.
template <class E>
std::optional<std::string> payload(const E& event, std::string_view configured)
{
    const protocol_for<E>& protocol = claude();
    return protocol.payload(event, configured);
}

process::exit_report report(int exit, std::string out, std::string err = {})
{
    process::exit_report made;
    made.status = process::exit_status::exited(exit);
    made.out = std::move(out);
    made.err = std::move(err);
    return made;
}

// The alternative of an answer, if it can hold that one and does.
template <class T, class... A>
const T* alternative(const std::variant<A...>& answer)
{
    if constexpr ((std::is_same_v<T, A> || ...)) {
        return std::get_if<T>(&answer);
    } else {
        return nullptr;
    }
}

// What was made of it, in words.
template <class E>
std::string judged(std::string_view configured, const process::exit_report& report)
{
    const protocol_for<E>& protocol = claude();
    auto said = protocol.answer(E(), configured, report);
    if (!said) return "failure: " + said.error().message;
    if (const auto* stop = alternative<block>(*said)) return "block: " + stop->reason;
    if (const auto* again = alternative<turn_ending::continue_turn>(*said)) {
        return "continue: " + again->context;
    }
    if (const auto* start = alternative<session_start::mutate>(*said)) {
        return "context: " + start->context;
    }
    if (const auto* turn = alternative<pre_turn::mutate>(*said)) {
        BOOST_TEST((!turn->tools && !turn->model && !turn->reasoning_effort && !turn->display));
        return "context: " + turn->context.value();
    }
    return alternative<observe>(*said) ? "observe" : "something else";
}

// The same for each event, by its name in a configuration.
std::string judged(const std::string& event, const process::exit_report& report)
{
    using judge = std::string (*)(std::string_view, const process::exit_report&);
    static const std::map<std::string, judge> judges{
        {"PreToolUse", judged<pre_tool_use>},     {"SessionStart", judged<session_start>},
        {"UserPromptSubmit", judged<pre_turn>},   {"Stop", judged<turn_ending>},
        {"SubagentStop", judged<turn_ending>},    {"PreCompact", judged<pre_compact>},
        {"SessionEnd", judged<session_end>},      {"pre_tool_use", judged<pre_tool_use>},
        {"session_start", judged<session_start>}, {"pre_turn", judged<pre_turn>},
        {"turn_ending", judged<turn_ending>},     {"pre_compact", judged<pre_compact>},
        {"session_end", judged<session_end>}};
    return judges.at(event)(event, report);
}

std::string judged(const std::string& event, int exit, std::string out, std::string err = {})
{
    return judged(event, report(exit, std::move(out), std::move(err)));
}

const std::vector<std::string> all_events{"PreToolUse", "SessionStart", "UserPromptSubmit",
                                          "Stop",       "SubagentStop", "PreCompact",
                                          "SessionEnd"};

// Those whose stdout is looked at.
const std::vector<std::string> heard_events{"PreToolUse", "SessionStart", "UserPromptSubmit",
                                            "Stop", "SubagentStop"};

// An object with this in its hookSpecificOutput beside the name of the event.
std::string specific(const std::string& event, const std::string& more = {})
{
    return R"({"hookSpecificOutput":{"hookEventName":")" + event + '"' +
           (more.empty() ? "" : "," + more) + "}}";
}

std::string denial(const std::string& more)
{
    return specific("PreToolUse", R"("permissionDecision":"deny")" + more);
}

const std::string reasoned = R"(,"permissionDecisionReason":"Leave it.")";
const std::string invalid_json = "failure: Command hook returned invalid JSON";

}  // namespace

BOOST_AUTO_TEST_SUITE(claude_suite)

// --- Names --------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(it_is_one_of_the_protocols_that_an_entry_may_name)
{
    BOOST_TEST(claude().name() == "claude");
    const auto made = check({.phase = "SubagentStop", .argv = {"/bin/true"}, .protocol = "claude"});
    BOOST_REQUIRE(made.has_value());
    BOOST_TEST((made->speaks == &claude()));
    BOOST_TEST((made->when == phase::turn_ending));
    BOOST_TEST(made->configured == "SubagentStop");
}

BOOST_AUTO_TEST_CASE(seven_events_and_six_of_veras_names_mean_a_phase)
{
    const std::map<std::string_view, phase> known{
        {"PreToolUse", phase::pre_tool_use},     {"SessionStart", phase::session_start},
        {"UserPromptSubmit", phase::pre_turn},   {"Stop", phase::turn_ending},
        {"SubagentStop", phase::turn_ending},    {"PreCompact", phase::pre_compact},
        {"SessionEnd", phase::session_end},      {"pre_tool_use", phase::pre_tool_use},
        {"session_start", phase::session_start}, {"pre_turn", phase::pre_turn},
        {"turn_ending", phase::turn_ending},     {"pre_compact", phase::pre_compact},
        {"session_end", phase::session_end}};
    BOOST_TEST(claude().phases().size() == known.size());
    for (const auto& [name, means] : known) BOOST_TEST((claude().resolve(name) == means), name);
    for (const auto* name : {"post_tool_use", "subagent_finished", "turn_finished", "PostToolUse",
                             "Notification", "pretooluse", "STOP", ""}) {
        BOOST_TEST(!claude().resolve(name).has_value(), name);
    }
}

// --- Payloads -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(payloads_have_the_documents_fields_and_no_others)
{
    BOOST_TEST(*payload(removal(), "PreToolUse") ==
               R"({"session_id":"sess_1","hook_event_name":"PreToolUse","tool_name":"Bash",)"
               R"("tool_input":{"command":"rm treasure"},"tool_use_id":"call_1","cwd":"/nest"})");
    BOOST_TEST(*payload(session_start{.session_id = "s", .workspace = "/w"}, "SessionStart") ==
               R"({"session_id":"s","cwd":"/w","hook_event_name":"SessionStart",)"
               R"("source":"startup"})");
    BOOST_TEST(*payload(pre_turn{.session_id = "s",
                                 .workspace = "/w",
                                 .prompt = "go",
                                 .model = "m",
                                 .reasoning_effort = "high",
                                 .tools = {"bash"},
                                 .arrived_during_turn = true},
                        "UserPromptSubmit") ==
               R"({"session_id":"s","cwd":"/w","hook_event_name":"UserPromptSubmit",)"
               R"("prompt":"go"})");
    turn_ending ending{.session_id = "s", .workspace = "/w", .prompt = "go", .reply = "done"};
    BOOST_TEST(*payload(ending, "Stop") ==
               R"({"session_id":"s","cwd":"/w","hook_event_name":"Stop",)"
               R"("stop_hook_active":false,"last_assistant_message":"done"})");
    ending.spawned = true;
    ending.continuations = 1;
    BOOST_TEST(*payload(ending, "SubagentStop") ==
               R"({"session_id":"s","cwd":"/w","hook_event_name":"SubagentStop",)"
               R"("stop_hook_active":true,"last_assistant_message":"done","agent_id":"s"})");
    BOOST_TEST(
        *payload(pre_compact{.session_id = "s", .workspace = "/w", .tokens = 9, .capacity = 10},
                 "PreCompact") == R"({"session_id":"s","cwd":"/w","hook_event_name":"PreCompact",)"
                                  R"("trigger":"manual","custom_instructions":""})");
    BOOST_TEST(
        *payload(session_end{.session_id = "s", .workspace = "/w", .turns = 3}, "SessionEnd") ==
        R"({"session_id":"s","cwd":"/w","hook_event_name":"SessionEnd","reason":"other"})");
}

BOOST_AUTO_TEST_CASE(only_bash_has_another_name)
{
    auto event = removal();
    for (const auto* name : {"Bash", "bash2", "BASH", "read", "process", ""}) {
        event.call.name = name;
        BOOST_TEST(json::parse(*payload(event, "PreToolUse")).at("tool_name") == name);
    }
}

BOOST_AUTO_TEST_CASE(a_session_that_is_not_known_is_an_empty_text)
{
    auto event = removal();
    event.session_id.reset();
    BOOST_TEST(json::parse(*payload(event, "PreToolUse")).at("session_id") == "");
}

BOOST_AUTO_TEST_CASE(causes_have_the_names_of_this_protocol)
{
    using start = session_start::cause;
    for (const auto& [reason, source] : {std::pair(start::start, "startup"),
                                         {start::resume, "resume"},
                                         {start::compacted, "compact"}}) {
        BOOST_TEST(
            json::parse(*payload(session_start{.reason = reason}, "SessionStart")).at("source") ==
            source);
    }
    BOOST_TEST(
        json::parse(*payload(pre_compact{.reason = pre_compact::cause::automatic}, "PreCompact"))
            .at("trigger") == "auto");
    using end = session_end::cause;
    for (const auto reason : {end::detached, end::closed, end::idle, end::deleted, end::shutdown}) {
        BOOST_TEST(
            json::parse(*payload(session_end{.reason = reason}, "SessionEnd")).at("reason") ==
            "other");
    }
}

BOOST_AUTO_TEST_CASE(veras_names_mean_the_events_of_the_top_level)
{
    const auto event_of = [](const auto& event, std::string_view configured) {
        return json::parse(payload(event, configured).value()).at("hook_event_name");
    };
    BOOST_TEST(event_of(removal(), "pre_tool_use") == "PreToolUse");
    BOOST_TEST(event_of(session_start{}, "session_start") == "SessionStart");
    BOOST_TEST(event_of(pre_turn{}, "pre_turn") == "UserPromptSubmit");
    BOOST_TEST(event_of(turn_ending{}, "turn_ending") == "Stop");
    BOOST_TEST(event_of(pre_compact{}, "pre_compact") == "PreCompact");
    BOOST_TEST(event_of(session_end{}, "session_end") == "SessionEnd");
    // As which they are also answered.
    BOOST_TEST(judged("turn_ending", 0, specific("Stop")) == "observe");
    BOOST_TEST(judged("turn_ending", 0, specific("turn_ending")) ==
               "failure: Invalid Stop hookSpecificOutput");
    BOOST_TEST(judged("pre_turn", 0, specific("UserPromptSubmit", R"("additionalContext":"x")")) ==
               "context: x");
    BOOST_TEST(judged("pre_tool_use", 2, "", "no") == "block: no");
    BOOST_TEST(judged("session_end", 2, "") == "observe");
}

BOOST_AUTO_TEST_CASE(who_started_the_session_says_whether_an_event_is_for_the_hook)
{
    for (const auto* name : {"UserPromptSubmit", "pre_turn"}) {
        BOOST_TEST(payload(pre_turn{.spawned = false}, name).has_value());
        BOOST_TEST(!payload(pre_turn{.spawned = true}, name).has_value());
    }
    for (const auto* name : {"Stop", "turn_ending"}) {
        BOOST_TEST(payload(turn_ending{.spawned = false}, name).has_value());
        BOOST_TEST(!payload(turn_ending{.spawned = true}, name).has_value());
    }
    BOOST_TEST(!payload(turn_ending{.spawned = false}, "SubagentStop").has_value());
    BOOST_TEST(payload(turn_ending{.spawned = true}, "SubagentStop").has_value());
    for (const auto* name : {"PreCompact", "pre_compact"}) {
        BOOST_TEST(payload(pre_compact{.spawned = false}, name).has_value());
        BOOST_TEST(!payload(pre_compact{.spawned = true}, name).has_value());
    }
    for (const auto* name : {"SessionEnd", "session_end"}) {
        BOOST_TEST(payload(session_end{.spawned = false}, name).has_value());
        BOOST_TEST(!payload(session_end{.spawned = true}, name).has_value());
    }
}

// --- How a program ended ------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(exit_2_says_what_its_event_lets_it_say)
{
    const std::map<std::string, std::string> said{
        {"PreToolUse", "block: no"},       {"SessionStart", "observe"},
        {"UserPromptSubmit", "block: no"}, {"Stop", "continue: no"},
        {"SubagentStop", "continue: no"},  {"PreCompact", "observe"},
        {"SessionEnd", "observe"}};
    // stdout is not looked at: neither what it says nor whether it is text.
    for (const std::string out :
         {"", "plain", "{}", "\xFF", R"({"decision":"block"})", R"({"hookSpecificOutput":null})"}) {
        for (const auto& event : all_events) {
            BOOST_TEST(judged(event, 2, out, "\xEF\xBB\xBF \n\tno\xC2\xA0\r\n") == said.at(event),
                       event);
        }
    }
}

BOOST_AUTO_TEST_CASE(exit_2_without_a_reason_fails_where_one_is_used)
{
    const std::string missing = "failure: Command hook exited 2 without a reason on stderr";
    for (const std::string err : {"", " \n", "\xE2\x80\x83\xEF\xBB\xBF"}) {
        for (const auto* event : {"PreToolUse", "UserPromptSubmit", "Stop", "SubagentStop"}) {
            BOOST_TEST(judged(event, 2, "a reason on stdout", err) == missing);
        }
        for (const auto* event : {"SessionStart", "PreCompact", "SessionEnd"}) {
            BOOST_TEST(judged(event, 2, "", err) == "observe");
        }
    }
    const protocol_for<pre_tool_use>& protocol = claude();
    const auto said = protocol.answer(removal(), "PreToolUse", report(2, ""));
    BOOST_REQUIRE(!said);
    BOOST_TEST((said.error().code == errc::invalid_answer));
}

BOOST_AUTO_TEST_CASE(a_reason_on_stderr_is_read_leniently)
{
    BOOST_TEST(judged("PreToolUse", 2, "", "a\xFF\xF0\x9F\x8F b") ==
               "block: a\xEF\xBF\xBD\xEF\xBF\xBD b");
    // A character that the 64 KiB cut through.
    BOOST_TEST(judged("Stop", 2, "", std::string("h\xC3")) == "continue: h\xEF\xBF\xBD");
}

BOOST_AUTO_TEST_CASE(any_other_end_than_exit_0_is_a_failure_whatever_was_printed)
{
    for (const auto& event : all_events) {
        for (const int status : {1, 3, 127, 255}) {
            BOOST_TEST(judged(event, status, denial(reasoned), "no") ==
                       "failure: Command hook exited with status " + std::to_string(status));
        }
        process::exit_report killed;
        killed.status = process::exit_status::signalled(9);
        BOOST_TEST(judged(event, killed) == "failure: Command hook exited with status unknown");
        killed.status = process::exit_status::signalled(2);  // which is no exit status
        killed.err = "no";
        BOOST_TEST(judged(event, killed) == "failure: Command hook exited with status unknown");
    }
}

// --- Plain text ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(plain_text_is_context_where_there_is_any_and_else_ignored)
{
    for (const auto& event : all_events) {
        const bool context = event == "SessionStart" || event == "UserPromptSubmit";
        for (const std::string text : {"branch is main",
                                       "[]",
                                       "[1,{\"decision\":\"block\"}]",
                                       "null",
                                       "true",
                                       "-1.5e3",
                                       "\"a text in quotes\"",
                                       "{",
                                       "{broken",
                                       "{}{}",
                                       "{} trailing",
                                       "log\n{}",
                                       "{\"a\":}",
                                       "{\"a\":1,}",
                                       "{'a':1}",
                                       "{\"a\":01}",
                                       "{\"a\":\"\n\"}",
                                       "{\"a\":\"\\x\"}",
                                       "\"\\ud800\"",
                                       "[\"\\ud800\"]"}) {
            BOOST_TEST(judged(event, 0, " \n" + text + "\xE2\x80\xA9\n") ==
                           (context ? "context: " + text : "observe"),
                       event + ": " + text);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_stdout_that_is_empty_or_blank_observes)
{
    for (const auto& event : all_events) {
        for (const std::string out : {"", "\n", " \t\r\n", "\xEF\xBB\xBF", "\xC2\xA0"}) {
            BOOST_TEST(judged(event, 0, out, "stderr is ignored") == "observe");
        }
    }
}

// Departure 6.
BOOST_AUTO_TEST_CASE(a_stdout_that_is_looked_at_must_be_utf_8)
{
    const std::string out = "ab\xFF";
    for (const auto& event : heard_events) {
        BOOST_TEST(judged(event, 0, out) ==
                   "failure: Command hook output is not valid UTF-8 at byte 2");
        BOOST_TEST(judged(event, 0, denial(",\"x\":\"\xC3\"")).starts_with("failure: "));
    }
    BOOST_TEST(judged("PreCompact", 0, out) == "observe");
    BOOST_TEST(judged("SessionEnd", 0, out) == "observe");
}

// --- JSON ---------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_is_not_implemented_has_no_effect)
{
    for (const auto& event : all_events) {
        for (const std::string out :
             {"{}",
              R"({"continue":false,"stopReason":"x","suppressOutput":true,)"
              R"("systemMessage":"x","power":"block","reason":"x"})",
              R"({"decision":"approve","reason":"x"})", R"({"decision":null})",
              R"({"decision":["block"]})", R"({"decision":"Block","reason":"x"})",
              R"({"reason":1e999,"async":true})"}) {
            BOOST_TEST(judged(event, 0, out) == "observe", event + ": " + out);
        }
    }
    BOOST_TEST(judged("PreToolUse", 0, R"({"decision":"block","reason":"x"})") == "observe");
    BOOST_TEST(judged("SessionStart", 0, R"({"decision":"block","reason":"x"})") == "observe");
    BOOST_TEST(judged("PreToolUse", 0, R"({"permissionDecision":"deny"})") == "observe");
    BOOST_TEST(judged("PreToolUse", 0,
                      specific("PreToolUse", R"("additionalContext":5,)"
                                             R"("updatedInput":{"command":"ls"})")) == "observe");
    for (const auto* event : {"Stop", "SubagentStop"}) {
        BOOST_TEST(judged(event, 0, specific(event, R"("additionalContext":"x")")) == "observe");
    }
}

// Departure 5.
BOOST_AUTO_TEST_CASE(hook_specific_output_must_be_of_its_event_wherever_it_is_given)
{
    for (const auto& event : heard_events) {
        const auto wrong = "failure: Invalid " + event + " hookSpecificOutput";
        for (const std::string output :
             {"null", "[]", "\"deny\"", "1", "true", "{}", R"({"hookEventName":null})",
              R"({"hookEventName":["Stop"]})", R"({"hookEventName":"PostToolUse"})",
              R"({"hookEventName":"","permissionDecision":"allow"})"}) {
            const auto out = R"({"hookSpecificOutput":)" + output + '}';
            BOOST_TEST(judged(event, 0, out) == wrong, event + ": " + out);
        }
        for (const auto& other : all_events) {
            BOOST_TEST(judged(event, 0, specific(other)) == (other == event ? "observe" : wrong));
        }
    }
    const auto blocked = [](const std::string& name) {
        return R"({"decision":"block","reason":"no","hookSpecificOutput":{"hookEventName":")" +
               name + "\"}}";
    };
    for (const auto& [event, said] : {std::pair("UserPromptSubmit", "block: no"),
                                      {"Stop", "continue: no"},
                                      {"SubagentStop", "continue: no"}}) {
        BOOST_TEST(judged(event, 0, blocked(event)) == said);
        BOOST_TEST(judged(event, 0, blocked("PreToolUse")) ==
                   "failure: Invalid " + std::string(event) + " hookSpecificOutput");
    }
    BOOST_TEST(judged("PreCompact", 0, specific("Stop")) == "observe");
    BOOST_TEST(judged("SessionEnd", 0, specific("Stop")) == "observe");
}

BOOST_AUTO_TEST_CASE(a_permission_decision_allows_or_denies_with_a_reason)
{
    BOOST_TEST(judged("PreToolUse", 0, denial(reasoned)) == "block: Leave it.");
    BOOST_TEST(judged("PreToolUse", 0, "\xEF\xBB\xBF\n" + denial(reasoned) + "\n") ==
               "block: Leave it.");
    BOOST_TEST(judged("PreToolUse", 0, denial(R"(,"permissionDecisionReason":" ")")) == "block:  ");
    BOOST_TEST(judged("PreToolUse", 0,
                      specific("PreToolUse", R"("permissionDecision":"allow",)"
                                             R"("permissionDecisionReason":7)")) == "observe");
    for (const std::string more :
         {"", R"(,"permissionDecisionReason":"")", R"(,"permissionDecisionReason":null)",
          R"(,"permissionDecisionReason":["no"])"}) {
        BOOST_TEST(judged("PreToolUse", 0, denial(more)) == invalid_json);
    }
    for (const std::string decision :
         {"\"ask\"", "\"Deny\"", "\"\"", "null", "true", "{}", "[\"allow\"]"}) {
        BOOST_TEST(judged("PreToolUse", 0,
                          specific("PreToolUse", "\"permissionDecision\":" + decision +
                                                     reasoned)) == invalid_json,
                   decision);
    }
}

BOOST_AUTO_TEST_CASE(additional_context_is_a_text)
{
    for (const std::string event : {"SessionStart", "UserPromptSubmit"}) {
        const auto with = [&](const std::string& value) {
            return judged(event, 0, specific(event, "\"additionalContext\":" + value));
        };
        BOOST_TEST(with("\" x\\n\"") == "context:  x\n");
        BOOST_TEST(with("\"\"") == "observe");
        for (const auto* value : {"null", "5", "[]", "{\"a\":1}"}) {
            BOOST_TEST(with(value) == "failure: additionalContext must be a string");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_decision_to_block_needs_a_reason)
{
    for (const auto& [event, said] : {std::pair("UserPromptSubmit", "block: no"),
                                      {"Stop", "continue: no"},
                                      {"SubagentStop", "continue: no"}}) {
        BOOST_TEST(judged(event, 0, R"({"decision":"block","reason":"no"})") == said);
        for (const std::string more :
             {"", R"(,"reason":"")", R"(,"reason":null)", R"(,"reason":{"text":"no"})"}) {
            BOOST_TEST(judged(event, 0, R"({"decision":"block")" + more + '}') ==
                       "failure: Command hook decision block needs a reason");
        }
    }
    // With it, context is of no use, whatever it is.
    BOOST_TEST(judged("UserPromptSubmit", 0,
                      R"({"decision":"block","reason":"no","hookSpecificOutput":)"
                      R"({"hookEventName":"UserPromptSubmit","additionalContext":5}})") ==
               "block: no");
}

// --- A denial that cannot be read never lets a call run -----------------------------------------

BOOST_AUTO_TEST_CASE(an_object_that_cannot_be_read_is_a_failure_and_no_text)
{
    std::string deep = "1";
    for (int i = 0; i != 200; ++i) deep = '[' + deep + ']';
    const std::string unreadable[] = {
        denial(R"(,"permissionDecisionReason":"half a pair \ud83c")"),
        denial(R"(,"permissionDecisionReason":"the other \udff4 half")"),
        denial(R"(,"permissionDecisionReason":"\ud83cA","x":1)"),
        denial(reasoned + ",\"deep\":" + deep),
        denial(reasoned + ",\"number\":1e99999999999"),
    };
    for (const auto& event : heard_events) {
        for (const auto& out : unreadable) {
            BOOST_TEST(judged(event, 0, out) == invalid_json, event + ": " + out);
        }
    }
    const protocol_for<pre_tool_use>& protocol = claude();
    const auto said = protocol.answer(removal(), "PreToolUse", report(0, unreadable[0]));
    BOOST_REQUIRE(!said);
    BOOST_TEST((said.error().code == errc::not_json));
    BOOST_TEST(judged("PreCompact", 0, unreadable[0]) == "observe");
}

// Departure 17.
BOOST_AUTO_TEST_CASE(a_key_that_the_answer_uses_may_not_be_given_twice)
{
    struct {
        std::string event;
        std::string out;
        std::string where;
    } const answers[] = {
        {"PreToolUse", R"({"hookSpecificOutput":1,)" + denial(reasoned).substr(1),
         "hookSpecificOutput"},
        {"PreToolUse", denial(reasoned + R"(,"permissionDecision":"allow")"),
         "hookSpecificOutput.permissionDecision"},
        {"PreToolUse", denial(reasoned + R"(,"permission\u0044ecision":"allow")"),
         "hookSpecificOutput.permissionDecision"},
        {"PreToolUse", denial(reasoned + R"(,"permissionDecisionReason":"b")"),
         "hookSpecificOutput.permissionDecisionReason"},
        {"PreToolUse", denial(reasoned + R"(,"hookEventName":"PreToolUse")"),
         "hookSpecificOutput.hookEventName"},
        {"SessionStart", specific("SessionStart", R"("hookEventName":"SessionStart")"),
         "hookSpecificOutput.hookEventName"},
        {"SessionStart",
         specific("SessionStart", R"("additionalContext":"a","additionalContext":"b")"),
         "hookSpecificOutput.additionalContext"},
        {"UserPromptSubmit",
         specific("UserPromptSubmit", R"("additionalContext":"a","additionalContext":"b")"),
         "hookSpecificOutput.additionalContext"},
        {"UserPromptSubmit", R"({"decision":"block","reason":"a","decision":"approve"})",
         "decision"},
        {"UserPromptSubmit", R"({"decision":"block","reason":"a","reason":"b"})", "reason"},
        {"Stop", R"({"decision":"approve","decision":"block","reason":"a"})", "decision"},
        {"Stop", R"({"decision":"block","reason":"a","reason":"b"})", "reason"},
        {"Stop", R"({"hookSpecificOutput":null,)" + specific("Stop").substr(1),
         "hookSpecificOutput"},
        {"SubagentStop", R"({"decision":"block","reason":"a","reason":"a"})", "reason"},
        {"SubagentStop", specific("SubagentStop", R"("hookEventName":"SubagentStop")"),
         "hookSpecificOutput.hookEventName"},
    };
    for (const auto& one : answers) {
        BOOST_TEST(judged(one.event, 0, one.out) ==
                       "failure: Hook data at $." + one.where + " must not be given twice",
                   one.out);
    }
}

BOOST_AUTO_TEST_CASE(a_key_that_the_answer_does_not_use_may_be_given_twice)
{
    BOOST_TEST(judged("PreToolUse", 0, R"({"decision":"block","decision":1,"x":1,"x":2})") ==
               "observe");
    BOOST_TEST(judged("PreToolUse", 0,
                      specific("PreToolUse", R"("permissionDecision":"allow",)"
                                             R"("permissionDecisionReason":"a",)"
                                             R"("permissionDecisionReason":"b")")) == "observe");
    BOOST_TEST(judged("Stop", 0, R"({"reason":"a","reason":"b"})") == "observe");
    BOOST_TEST(judged("Stop", 0,
                      specific("Stop", R"("additionalContext":1,)"
                                       R"("additionalContext":2)")) == "observe");
    BOOST_TEST(judged("PreCompact", 0, R"({"decision":1,"decision":2})") == "observe");
    // A text in which keys are repeated is no object.
    BOOST_TEST(judged("UserPromptSubmit", 0, R"({"decision":1,"decision":2)") ==
               R"(context: {"decision":1,"decision":2)");
}

// --- In a conversation --------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_hook_that_is_skipped_starts_no_process_and_has_observed)
{
    host h;
    h.use(R"([
        {"phase":"UserPromptSubmit","protocol":"claude","argv":["prompt"]},
        {"phase":"pre_turn","protocol":"claude","argv":["prompt-too"]},
        {"phase":"Stop","protocol":"claude","argv":["stop"]},
        {"phase":"turn_ending","protocol":"claude","argv":["stop-too"]},
        {"phase":"SubagentStop","protocol":"claude","argv":["substop"]},
        {"phase":"PreCompact","protocol":"claude","argv":["compact"]},
        {"phase":"SessionEnd","protocol":"claude","argv":["end"]},
        {"phase":"SessionStart","protocol":"claude","argv":["start"]},
        {"phase":"PreToolUse","protocol":"claude","argv":["pre"]}])");
    // They would all be noticed.
    for (const auto* one : {"prompt", "prompt-too", "stop", "stop-too", "substop"}) {
        h.programs.exits[one] = 2;
        h.programs.complains[one] = std::string(one) + " objects";
    }
    for (const auto* one : {"compact", "end"}) h.programs.exits[one] = 1;

    auto top = h.open();
    auto agent = top.create_subagent({.id = "s-2"}).value();
    h.finish(agent.async_start(session_start::cause::start));
    BOOST_TEST((h.programs.names() == names{"start", "start"}));
    BOOST_TEST(!h.begin(agent, "scout").blocked.has_value());
    const tool_call call{"c1", "bash", {}};
    tool_host tools;
    tools.permit = [](const tool_call&) { return permission::grant(); };
    tools.run = [](const tool_call&) { return text_result("fine"); };
    h.finish(agent.async_run_tools({.calls = {call}}, tools));
    BOOST_TEST((h.programs.names() == names{"start", "start", "pre"}));
    h.programs.runs.clear();

    auto [ec, ended] = h.finish(agent.async_end_turn({.text = "done"}));
    BOOST_TEST((h.programs.names() == names{"substop"}));
    BOOST_REQUIRE(ended.continuation.has_value());
    BOOST_TEST(ended.continuation->context == "substop objects");
    BOOST_TEST(ended.continuation->source == "substop");
    BOOST_TEST((h.programs.runs[0].input.at("agent_id") == "s-2"));
    BOOST_TEST((h.programs.runs[0].input.at("session_id") == "s-2"));
    // A turn gets one continuation, also from a hook that does not look at stop_hook_active.
    BOOST_TEST(!std::get<1>(h.finish(agent.async_end_turn({.text = "done"}))).continuation);
    BOOST_TEST((h.programs.runs[1].input.at("stop_hook_active") == true));

    h.programs.runs.clear();
    BOOST_TEST(!agent.begin_compaction(pre_compact::cause::manual, 1, {}));
    h.drain();
    h.finish(agent.async_finish_compaction());
    agent.close(session_end::cause::closed);
    h.drain();
    BOOST_TEST((h.programs.names() == names{"start"}));
    BOOST_TEST(h.log.records.empty());

    h.programs.runs.clear();
    const auto blocked = h.begin(top, "go");
    BOOST_REQUIRE(blocked.blocked.has_value());
    BOOST_TEST(blocked.blocked_text() == "pre_turn hook blocked this turn: prompt objects");
    h.programs.exits["prompt"] = h.programs.exits["prompt-too"] = 0;
    h.begin(top, "go");
    const auto stopped = std::get<1>(h.finish(top.async_end_turn({.text = "done"})));
    BOOST_TEST(stopped.continuation->context == "stop objects");
    top.close(session_end::cause::closed);
    h.drain();
    BOOST_TEST((h.programs.names() == names{"prompt", "prompt", "prompt-too", "stop", "end"}));
    BOOST_TEST(h.log.of("session_end_hook_failed").size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_malformed_denial_blocks_the_call)
{
    host h;
    h.use(R"([{"phase":"PreToolUse","protocol":"claude","argv":["guard"]}])");
    auto s = h.open_in_turn();
    const std::pair<std::string, std::string> printed[] = {
        {denial(reasoned), "Leave it."},
        {denial(""), "pre_tool_use hook failed: Command hook returned invalid JSON"},
        {denial(R"(,"permissionDecisionReason":"\ud800")"),
         "pre_tool_use hook failed: Command hook returned invalid JSON"},
        {R"({"hookSpecificOutput":"deny"})",
         "pre_tool_use hook failed: Invalid PreToolUse hookSpecificOutput"},
        {denial(reasoned + R"(,"permissionDecision":"allow")"),
         "pre_tool_use hook failed: Hook data at $.hookSpecificOutput.permissionDecision must "
         "not be given twice"},
    };
    for (const auto& [out, text] : printed) {
        h.programs.prints["guard"] = out;
        bool ran = false;
        tool_host tools;
        tools.permit = [](const tool_call&) { return permission::grant(); };
        tools.run = [&](const tool_call&) {
            ran = true;
            return text_result("fine");
        };
        auto [ec, records] = h.finish(s.async_run_tools({.calls = {{"c1", "bash", {}}}}, tools));
        BOOST_REQUIRE(records.size() == 1u);
        BOOST_TEST(!ran, out);
        BOOST_TEST(records[0].result.is_error);
        BOOST_TEST(text_of(records[0].result.content) == text);
    }
}

BOOST_AUTO_TEST_CASE(the_first_64_kib_of_stderr_are_a_reason)
{
    host h;
    h.use(R"([{"phase":"UserPromptSubmit","protocol":"claude","argv":["guard"]}])");
    h.programs.exits["guard"] = 2;
    h.programs.complains["guard"] = std::string(70000, 'r');
    auto s = h.open();
    const auto said = h.begin(s, "go");
    BOOST_REQUIRE(said.blocked.has_value());
    BOOST_TEST((said.blocked->reason == std::string(65536, 'r')));
    BOOST_TEST(!said.failed.has_value());
}

BOOST_AUTO_TEST_CASE(context_has_the_bound_of_its_phase)
{
    host h;
    h.use(R"([{"phase":"SessionStart","protocol":"claude","argv":["start"]},
              {"phase":"UserPromptSubmit","protocol":"claude","argv":["prompt"]},
              {"phase":"Stop","protocol":"claude","argv":["stop"]}])");
    const std::string fits(131072, 't');
    // Plain text, and an additionalContext that takes six times as many bytes.
    std::string escaped;
    for (std::size_t i = 0; i != 131072; ++i) escaped += R"(\u0074)";
    for (const auto& text :
         {fits + "\n", specific("SessionStart", "\"additionalContext\":\"" + escaped + '"')}) {
        h.programs.prints["start"] = text;
        auto s = h.hooks.create_session({.id = "s-1"}).value();
        const auto said = std::get<1>(h.finish(s.async_start(session_start::cause::start)));
        BOOST_REQUIRE(said.contributions.size() == 1u);
        BOOST_TEST((said.contributions[0].context == fits));
    }
    h.programs.prints["start"] = fits + "t";
    h.open();
    BOOST_TEST(kept_log::text(h.log.of("session_start_hook_failed").at(0), "error") ==
               "session_start context exceeds 128 KiB");

    h.programs.prints["start"] = "";
    h.programs.prints["prompt"] = fits + "t";
    auto s = h.open();
    BOOST_TEST(h.begin(s, "go").blocked_text() ==
               "pre_turn hook failed: pre_turn context exceeds 128 KiB");
    h.programs.prints["prompt"] = "";
    h.begin(s, "go");
    h.programs.prints["stop"] = R"({"decision":"block","reason":")" + fits + "t\"}";
    const auto ended = std::get<1>(h.finish(s.async_end_turn({.text = "done"})));
    BOOST_REQUIRE(ended.failed.has_value());
    BOOST_TEST(ended.failed->message == "turn_ending context exceeds 128 KiB");
}

BOOST_AUTO_TEST_CASE(an_input_is_measured_as_this_protocol_writes_it)
{
    const protocol_for<pre_tool_use>& in_claude = claude();
    const protocol_for<pre_tool_use>& in_vera = vera();
    auto event = removal();
    event.session_id.reset();  // so that this protocol's payload is the longer one
    event.call.input["command"] = "";
    const auto empty = in_claude.payload(event, "PreToolUse")->size();
    event.call.input["command"] = std::string(process::input_limit + 1 - empty, 'x');
    BOOST_TEST(in_claude.payload(event, "PreToolUse")->size() == process::input_limit + 1);
    BOOST_TEST(in_vera.payload(event, "pre_tool_use")->size() <= process::input_limit);

    host h;
    h.use(R"([{"phase":"pre_tool_use","argv":["in-vera"]},
              {"phase":"PreToolUse","protocol":"claude","argv":["in-claude"]}])");
    std::optional<pre_tool_use::outcome> concluded;
    h.hooks.async_dispatch<pre_tool_use>(
        event, [&](error_code, pre_tool_use::outcome said) { concluded = std::move(said); });
    h.drain();
    BOOST_REQUIRE(concluded.has_value());
    BOOST_TEST((h.programs.names() == names{"in-vera"}));
    BOOST_REQUIRE(concluded->failed.has_value());
    BOOST_TEST((concluded->failed->code == errc::input_too_large));
    BOOST_TEST(concluded->failed->message == "Command hook input exceeded its byte bound");
}

BOOST_AUTO_TEST_CASE(both_protocols_go_together_in_list_order)
{
    host h;
    h.use(R"([{"phase":"pre_turn","argv":["one"]},
              {"phase":"UserPromptSubmit","protocol":"claude","argv":["two"]},
              {"phase":"pre_turn","argv":["three"]}])");
    h.programs.prints["one"] = R"({"power":"mutate","context":"1","tools":["read"]})";
    h.programs.prints["two"] = "2\n";
    h.programs.prints["three"] = R"({"power":"mutate","context":"3"})";
    auto s = h.open();
    const auto said = h.begin(s, "go");
    BOOST_REQUIRE(said.contexts.size() == 3u);
    BOOST_TEST(said.contexts[1].context == "2");
    BOOST_TEST(said.contexts[1].source == "two");
    BOOST_TEST((said.tools == names{"read"}));
}

BOOST_AUTO_TEST_CASE(what_an_extension_registers_fails_as_what_an_extension_registers)
{
    host h;
    const auto add = [&](std::string program) {
        return h.hooks
            .on_executable(
                {.phase = "PreToolUse", .argv = {"/opt/" + program}, .protocol = "claude"}, "acme")
            .has_value();
    };
    BOOST_REQUIRE(add("broken"));
    BOOST_REQUIRE(add("guard"));
    h.programs.exits["broken"] = 2;  // without a reason
    h.programs.prints["guard"] = denial(reasoned);
    std::optional<pre_tool_use::outcome> concluded;
    h.hooks.async_dispatch<pre_tool_use>(
        removal(), [&](error_code, pre_tool_use::outcome said) { concluded = std::move(said); });
    h.drain();
    BOOST_REQUIRE(concluded.has_value());
    BOOST_REQUIRE(concluded->ignored.size() == 1u);
    BOOST_TEST(std::get<block>(concluded->decision).reason == "Leave it.");
}

BOOST_AUTO_TEST_SUITE_END()
