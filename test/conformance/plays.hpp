#ifndef BELAY_TEST_CONFORMANCE_PLAYS_HPP
#define BELAY_TEST_CONFORMANCE_PLAYS_HPP

// What is done for a vector, phase by phase, and what is seen of it.

#include <belay/core/error.hpp>
#include <belay/core/failure.hpp>
#include <belay/hooks/command_hooks.hpp>
#include <belay/hooks/config.hpp>
#include <belay/hooks/executable.hpp>
#include <belay/hooks/phase.hpp>
#include <belay/hooks/protocol.hpp>
#include <belay/hooks/protocol/claude.hpp>
#include <belay/hooks/registry.hpp>
#include <belay/hooks/run_tools.hpp>
#include <belay/hooks/session.hpp>
#include <belay/hooks/tool.hpp>
#include <belay/hooks/transcript.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "host.hpp"
#include "stage.hpp"
#include "vectors.hpp"
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace conformance {

// --- What was seen ------------------------------------------------------------------------------

/// What a vector led to, in the vectors' own words.
struct outcome {
    std::string status = "ok";
    std::vector<std::string> messages{};   ///< of failures and refusals
    bool messages_name_the_entry = false;  ///< they hold the bare message, and more
    json::object decision{};
    json::object effect{};
};

inline void add_failure(outcome& seen, const belay::failure& why)
{
    seen.messages.push_back(why.message);
}

/// The status of a chain whose failures are judged by who failed.
template <class Outcome>
void judge(outcome& seen, const Outcome& concluded)
{
    if (concluded.failed) {
        seen.status = "failed";
        add_failure(seen, *concluded.failed);
    } else if (!concluded.ignored.empty() && seen.status == "ok") {
        seen.status = "ignored";
    }
    for (const auto& why : concluded.ignored) add_failure(seen, why);
}

/// The status where failures are only written down.
inline void judge_logged(outcome& seen, const stage& on)
{
    for (const auto& record : on.records) {
        seen.status = "logged";
        const auto* error = record.if_contains("error");
        if (error && error->is_string()) seen.messages.emplace_back(view(error->get_string()));
    }
}

inline json::object described(const hooks::tool_call& call)
{
    return {{"id", call.id}, {"name", call.name}, {"input", call.input}};
}

inline json::object described(const hooks::added_context& added)
{
    json::object made{{"source", added.source}, {"context", added.context}};
    if (!added.display.empty()) made.emplace("display", added.display);
    return made;
}

inline json::object described(const hooks::tool_result& result)
{
    return {{"content", result.content}, {"isError", result.is_error}};
}

// --- What is given ------------------------------------------------------------------------------

inline std::string words_of(std::string_view text)
{
    std::string words;
    for (const char c : text) {
        const bool upper = c >= 'A' && c <= 'Z';
        const bool letter = upper || (c >= 'a' && c <= 'z');
        words += letter ? static_cast<char>(upper ? c - 'A' + 'a' : c) : ' ';
    }
    return words;
}

inline bool has(std::string_view words, std::initializer_list<std::string_view> any)
{
    return std::any_of(any.begin(), any.end(), [&](std::string_view one) {
        return words.find(one) != std::string_view::npos;
    });
}

inline session_mode read_mode(reader& given)
{
    const auto said = given.find_text("session_mode");
    if (!said) return {};
    const auto words = words_of(*said);
    const session_mode mode{.bare = has(words, {"bare", "prompt only", "promptonly"}),
                            .subagent = has(words, {"subagent"}),
                            .background = has(words, {"background"})};
    if (!mode.bare && !mode.subagent &&
        !has(words, {"normal", "default", "full", "hosted", "interactive"})) {
        throw malformed("given.session_mode: the runner does not know \"" + *said + "\"");
    }
    return mode;
}

inline hooks::stop_reason read_stop(const std::string& said)
{
    const auto words = words_of(said);
    if (has(words, {"tool"})) return hooks::stop_reason::tool_use;
    if (has(words, {"length", "max"})) return hooks::stop_reason::length;
    if (has(words, {"error", "fail"})) return hooks::stop_reason::error;
    if (has(words, {"abort", "cancel", "esc"})) return hooks::stop_reason::aborted;
    if (has(words, {"stop", "end"})) return hooks::stop_reason::end;
    throw malformed("given.stop_reason: the runner does not know \"" + said + "\"");
}

inline json::object object_of(const json::value& value, const std::string& path)
{
    if (!value.is_object()) throw malformed(path + ": must be an object");
    return value.get_object();
}

inline hooks::tool_call read_call(const json::value& value, const std::string& path)
{
    reader call(value, path);
    hooks::tool_call made{call.text("id"), call.text("name"),
                          object_of(call.get("input"), call.path_of("input"))};
    call.finish();
    return made;
}

/// What is common to all payloads.
struct common_payload {
    std::string session_id;
    std::string workspace;
};

inline common_payload read_common(reader& payload, std::string_view phase)
{
    if (payload.text("type") != phase) {
        throw malformed("given.payload.type: must be " + std::string(phase) +
                        ", as is the vector's phase");
    }
    return {payload.text("sessionId"), payload.text("workspace")};
}

// --- Tool calls ---------------------------------------------------------------------------------

/// What a host sees while it runs a batch.
struct batch {
    std::vector<std::string> permission_checked{};
    std::vector<std::string> tool_ran{};
    std::set<std::string> post_ran{};
    std::optional<json::object> permission_input{};
    std::optional<json::object> tool_input{};
    std::vector<hooks::call_record> records{};
};

/// Runs a batch; `tool` makes the result of a call.
inline batch run_batch(host& where, conversation& talk, const std::vector<hooks::tool_call>& calls,
                       const std::function<hooks::tool_result(const hooks::tool_call&)>& tool,
                       bool one_by_one)
{
    auto& on = where.on;
    batch seen;
    const auto witness = where.registry.on<hooks::post_tool_use>(
        [&seen](const hooks::post_tool_use& event) { seen.post_ran.insert(event.call.id); },
        std::string(stage::witness));

    hooks::tool_host tools;
    if (one_by_one) tools.chains_at_once = tools.tools_at_once = 1;
    tools.permit = [&seen](const hooks::tool_call& call) {
        seen.permission_checked.push_back(call.id);
        seen.permission_input = call.input;
        return hooks::permission::grant();
    };
    tools.run = [&](const hooks::tool_call& call) {
        seen.tool_ran.push_back(call.id);
        seen.tool_input = call.input;
        auto result = tool(call);  // which may be what the vector begins with
        if (on.armed()) on.order.push_back("run " + call.id);
        return result;
    };
    seen.records = talk.run_tools({.calls = calls, .stop = hooks::stop_reason::tool_use}, tools);
    where.registry.remove(witness);

    if (seen.records.size() != calls.size()) {
        on.faults.push_back("there are not as many records as calls");
    }
    for (std::size_t i = 0; i != std::min(calls.size(), seen.records.size()); ++i) {
        const auto& call = seen.records[i].call;
        if (call.id != calls[i].id || call.name != calls[i].name) {
            on.faults.push_back("record " + std::to_string(i) + " is not of the call " +
                                calls[i].id);
        }
    }
    for (const auto& [index, payloads] : on.told) {
        for (const auto& payload : payloads) {
            const auto document = json::parse(payload);
            if (stage::phase_of(document) == "post_tool_use")
                seen.post_ran.insert(stage::call_id(document));
        }
    }
    // whatever the vector says: no tool starts before every hook before it has ended, and no hook
    // after it before the tool has
    const auto first = std::find_if(on.order.begin(), on.order.end(), [](const std::string& what) {
        return what.starts_with("run ");
    });
    if (std::any_of(first, on.order.end(),
                    [](const std::string& what) { return what.starts_with("pre"); })) {
        on.faults.push_back("a tool ran before the pre_tool_use hooks of all calls had ended");
    }
    for (const auto& id : seen.tool_ran) {
        const auto ran = std::find(on.order.begin(), on.order.end(), "run " + id);
        if (std::find(on.order.begin(), ran, "post " + id) != ran) {
            on.faults.push_back("a post_tool_use hook ran before the tool of the call " + id);
        }
    }
    return seen;
}

inline json::object described_before(const hooks::call_record& record)
{
    json::object made{{"toolCall", described(record.call)}};
    if (!record.before) return made;
    const auto& before = *record.before;
    if (const auto* block = std::get_if<belay::block>(&before.decision)) {
        made.emplace("power", "block");
        if (!before.failed) made.emplace("reason", block->reason);
    } else if (const auto* replace = std::get_if<hooks::pre_tool_use::replace>(&before.decision)) {
        made.emplace("power", "replace");
        made.emplace("result", described(replace->result));
    } else if (before.input) {
        made.emplace("power", "mutate");
        made.emplace("input", *before.input);
    } else {
        made.emplace("power", "observe");
    }
    return made;
}

inline json::object described_result(const hooks::call_record& record)
{
    json::object made{{"toolCallId", record.call.id}, {"toolName", record.call.name}};
    for (auto& member : described(record.result)) made.emplace(member.key(), member.value());
    return made;
}

/// What a host sees of a single call.
inline void describe_call(outcome& seen, const batch& ran, conversation& talk)
{
    const auto& record = ran.records.at(0);
    seen.effect["tool_result"] = {{"text", hooks::text_of(record.result.content)},
                                  {"isError", record.result.is_error},
                                  {"content", record.result.content}};
    seen.effect["permission_checked"] = !ran.permission_checked.empty();
    seen.effect["permission_input"] =
        ran.permission_input ? json::value(*ran.permission_input) : json::value();
    seen.effect["tool_ran"] = !ran.tool_ran.empty();
    seen.effect["tool_input"] = ran.tool_input ? json::value(*ran.tool_input) : json::value();
    seen.effect["post_tool_use_ran"] = !ran.post_ran.empty();
    seen.effect["stored_input"] = record.call.input;
    seen.effect["turn_continues"] = talk.session().turn_running();
}

inline outcome play_calls(host& where, reader& given, bool strict_order)
{
    auto& on = where.on;
    outcome seen;
    std::vector<hooks::tool_call> calls;
    const auto& listed = given.get("tool_calls");
    if (!listed.is_array()) throw malformed("given.tool_calls: must be an array");
    for (const auto& one : listed.get_array()) {
        calls.push_back(read_call(one, "given.tool_calls[" + std::to_string(calls.size()) + "]"));
    }
    hooks::turn_settings settings;
    if (given.has("offered_tools")) {
        settings.tools = given.texts("offered_tools");
    } else {
        for (const auto& call : calls) settings.tools.push_back(call.name);
    }
    conversation talk(where, read_mode(given), given.find_text("sessionId").value_or("s-41"),
                      given.find_text("workspace").value_or("/proj"));
    given.finish();

    talk.start(hooks::session_start::cause::start);
    talk.begin_turn(std::nullopt, std::move(settings));
    on.arm();
    const auto ran = run_batch(
        where, talk, calls,
        [](const hooks::tool_call& call) { return hooks::text_result("ran " + call.id); },
        strict_order);

    json::array results;
    std::map<hooks::call_fate, std::vector<std::string>> fates;
    for (const auto& record : ran.records) {
        if (record.before) judge(seen, *record.before);
        if (record.after) judge(seen, *record.after);
        fates[record.fate].push_back(record.call.id);
        results.push_back({{"id", record.call.id},
                           {"text", hooks::text_of(record.result.content)},
                           {"isError", record.result.is_error}});
    }
    auto blocked = fates[hooks::call_fate::blocked];
    const auto& failed = fates[hooks::call_fate::hook_failed];
    blocked.insert(blocked.end(), failed.begin(), failed.end());
    std::vector<std::string> unseen;
    for (const auto& call : calls) {
        const auto sent = std::find(on.order.begin(), on.order.end(), "pre " + call.id);
        if (sent == on.order.end()) unseen.push_back(call.id);
    }
    seen.effect["order"] = texts(on.order);
    seen.effect["not_offered"] = texts(fates[hooks::call_fate::not_offered]);
    seen.effect["pre_tool_use_not_run_for"] = texts(unseen);
    seen.effect["blocked"] = texts(blocked);
    seen.effect["denied"] = texts(fates[hooks::call_fate::denied]);
    seen.effect["replaced"] = texts(fates[hooks::call_fate::replaced]);
    seen.effect["ran"] = texts(ran.tool_ran);
    seen.effect["permission_checked_for"] = texts(ran.permission_checked);
    seen.effect["tool_results"] = std::move(results);
    seen.effect["turn_continues"] = talk.session().turn_running();
    on.run_dry();
    return seen;
}

/// A call outside any session: nobody knows its session's ID.
template <class E>
outcome play_without_session(host& where, reader& given, reader& payload)
{
    outcome seen;
    E event;
    if (payload.text("type") != E::event_name) {
        throw malformed("given.payload.type: must be " + std::string(E::event_name) +
                        ", as is the vector's phase");
    }
    event.call = read_call(payload.get("toolCall"), "given.payload.toolCall");
    event.workspace = payload.text("workspace");
    payload.finish();
    given.finish();
    where.on.arm();
    std::optional<typename E::outcome> concluded;
    where.registry.async_dispatch<E>(event, [&](belay::error_code ec, typename E::outcome said) {
        if (!ec) concluded = std::move(said);
    });
    where.on.run_until([&] { return concluded.has_value(); });
    judge(seen, *concluded);
    hooks::call_record record;
    record.call = event.call;
    if (concluded->input) record.call.input = *concluded->input;
    record.before = std::move(concluded);
    seen.decision = described_before(record);
    where.on.run_dry();
    return seen;
}

inline outcome play_pre_tool_use(host& where, reader& given)
{
    outcome seen;
    reader payload(given.get("payload"), "given.payload");
    if (!payload.has("sessionId"))
        return play_without_session<hooks::pre_tool_use>(where, given, payload);
    const auto common = read_common(payload, "pre_tool_use");
    const auto call = read_call(payload.get("toolCall"), "given.payload.toolCall");
    payload.finish();
    conversation talk(where, read_mode(given), common.session_id, common.workspace);
    given.finish();

    talk.start(hooks::session_start::cause::start);
    talk.begin_turn(std::nullopt, {.tools = {call.name}});
    where.on.arm();
    const auto ran = run_batch(
        where, talk, {call}, [](const hooks::tool_call&) { return hooks::text_result("ran"); },
        false);
    const auto& record = ran.records.at(0);
    if (record.before) judge(seen, *record.before);
    if (record.after) judge(seen, *record.after);
    seen.decision = described_before(record);
    describe_call(seen, ran, talk);
    where.on.run_dry();
    return seen;
}

inline outcome play_post_tool_use(host& where, reader& given)
{
    auto& on = where.on;
    outcome seen;
    reader payload(given.get("payload"), "given.payload");
    const auto common = read_common(payload, "post_tool_use");
    const auto call = read_call(payload.get("toolCall"), "given.payload.toolCall");
    reader result(payload.get("result"), "given.payload.result");
    if (result.text("toolCallId") != call.id || result.text("toolName") != call.name) {
        throw malformed("given.payload.result: is not of the call");
    }
    hooks::tool_result tool_result;
    const auto& content = result.get("content");
    if (!content.is_array()) throw malformed("given.payload.result.content: must be an array");
    tool_result.content = content.get_array();
    tool_result.is_error = result.find_bool("isError").value_or(false);
    result.finish();
    const auto& lasted = payload.get("durationMs");
    if (!lasted.is_number() || lasted.to_number<double>() < 0 || lasted.to_number<double>() > 1e9) {
        throw malformed("given.payload.durationMs: must be a number of milliseconds");
    }
    const std::chrono::duration<double, std::milli> duration(lasted.to_number<double>());
    payload.finish();
    conversation talk(where, read_mode(given), common.session_id, common.workspace);
    given.finish();

    talk.start(hooks::session_start::cause::start);
    talk.begin_turn(std::nullopt, {.tools = {call.name}});
    const auto ran = run_batch(
        where, talk, {call},
        [&](const hooks::tool_call&) {
            on.clock.advance(
                std::chrono::duration_cast<belay::clock::time_point::duration>(duration));
            on.arm();
            return tool_result;
        },
        false);
    const auto& record = ran.records.at(0);
    if (record.after) judge(seen, *record.after);
    seen.decision["result"] = described_result(record);
    seen.decision["power"] = record.after && record.after->result ? "mutate" : "observe";
    describe_call(seen, ran, talk);
    on.run_dry();
    return seen;
}

// --- The beginning of a conversation ------------------------------------------------------------

inline void describe_start(outcome& seen, host& where, conversation& talk,
                           const hooks::session_start::outcome& concluded)
{
    json::array contributions;
    for (const auto& one : concluded.contributions) {
        contributions.push_back({{"index", one.position}, {"context", one.context}});
    }
    seen.decision["contributions"] = std::move(contributions);
    const auto message = concluded.message();
    seen.effect["message"] = message.empty() ? json::value() : json::value(json::string(message));
    if (!concluded.failures.empty()) seen.status = "logged";
    for (const auto& why : concluded.failures) add_failure(seen, why);
    if (concluded.failures.size() != where.on.records.size()) {
        where.on.faults.push_back("not every failure at the start of the session was logged");
    }
    where.on.disarm();
    if (!talk.session().turn_running()) talk.begin_turn(std::nullopt, {});
    seen.effect["session_continues"] = talk.session().turn_running();
}

inline outcome play_session_start(host& where, reader& given)
{
    using cause = hooks::session_start::cause;
    outcome seen;
    reader payload(given.get("payload"), "given.payload");
    const auto common = read_common(payload, "session_start");
    const auto reason = payload.choice<cause>("reason", {"start", "resume", "compacted"});
    payload.finish();
    conversation talk(where, read_mode(given), common.session_id, common.workspace);
    given.finish();

    hooks::session_start::outcome concluded;
    if (reason == cause::compacted) {
        talk.start(cause::start);
        talk.begin_compaction(hooks::pre_compact::cause::manual, 90000, std::nullopt);
        where.on.run_dry();
        where.on.arm();
        concluded = talk.finish_compaction();
    } else {
        where.on.arm();
        concluded = talk.start(reason);
    }
    describe_start(seen, where, talk, concluded);
    where.on.run_dry();
    return seen;
}

// --- Turns --------------------------------------------------------------------------------------

inline outcome play_pre_turn(host& where, reader& given)
{
    outcome seen;
    reader payload(given.get("payload"), "given.payload");
    const auto common = read_common(payload, "pre_turn");
    const auto prompt = payload.text("prompt");
    const hooks::turn_settings settings{.model = payload.text("model"),
                                        .reasoning_effort = payload.find_text("reasoningEffort"),
                                        .tools = payload.texts("tools")};
    const bool joins = payload.find_bool("arrivedDuringTurn").value_or(false);
    const bool spawned = payload.find_bool("spawned").value_or(false);
    payload.finish();
    conversation talk(where, read_mode(given), common.session_id, common.workspace, spawned);
    given.finish();

    std::vector<std::string> transcript;
    int model_calls = 0;
    talk.start(hooks::session_start::cause::start);
    if (joins) {
        // it is taken up after the tool calls of the running turn
        talk.begin_turn("begin", settings);
        run_batch(
            where, talk,
            {{"earlier", settings.tools.empty() ? "none" : settings.tools.front(), {}}},
            [](const hooks::tool_call&) { return hooks::text_result("ran"); }, false);
    }
    where.on.arm();
    transcript.push_back(prompt);
    const auto concluded = joins ? talk.join(prompt) : talk.begin_turn(prompt, settings);
    judge(seen, concluded);

    json::array contexts;
    std::vector<std::string> rows;
    for (const auto& added : concluded.contexts) {
        contexts.push_back(described(added));
        rows.push_back(hooks::added_context_row(added).line());
        transcript.push_back(added.context);
    }
    if (concluded.blocked) {
        transcript.push_back(concluded.blocked_text());
    } else {
        ++model_calls;
    }
    seen.decision["contexts"] = std::move(contexts);
    if (concluded.blocked) {
        seen.decision["power"] = "block";
        if (!concluded.failed) seen.decision["reason"] = concluded.blocked->reason;
    } else {
        const auto& now = talk.session().settings();
        seen.decision["power"] = concluded.mutated ? "mutate" : "observe";
        seen.decision["tools"] = texts(now.tools);
        seen.decision["model"] = now.model;
        if (now.reasoning_effort) seen.decision["reasoningEffort"] = *now.reasoning_effort;
    }
    seen.effect["assistant_error"] =
        concluded.blocked ? json::value(json::string(concluded.blocked_text())) : json::value();
    seen.effect["model_called"] = model_calls != 0;
    seen.effect["model_calls"] = model_calls;
    seen.effect["turn_ends"] = !talk.session().turn_running();
    seen.effect["prompt_kept"] = transcript.front() == prompt;
    seen.effect["rows"] = texts(rows);
    where.on.disarm();
    where.on.run_dry();
    return seen;
}

/// Ends a turn with a reply, and goes on as far as the hooks want it.
inline void play_ending(outcome& seen, host& where, conversation& talk,
                        const hooks::model_reply& reply, int model_calls, const int& turns_finished)
{
    auto& on = where.on;
    std::vector<std::string> transcript{reply.text};
    std::vector<std::string> rows;
    on.arm();
    const auto concluded = talk.end_turn(reply);
    judge(seen, concluded);
    on.disarm();
    if (concluded.continuation) {
        transcript.push_back(concluded.continuation->context);
        rows.push_back(hooks::continued_turn_row(*concluded.continuation).line());
        seen.decision["continuation"] = described(*concluded.continuation);
    } else {
        seen.decision["continuation"] = nullptr;
    }
    seen.effect["turn_ends"] = !talk.session().turn_running();
    seen.effect["continuation_used"] = concluded.continuation.has_value();
    seen.effect["reply_kept"] = transcript.front() == reply.text;
    seen.effect["rows"] = texts(rows);
    if (concluded.continuation) {
        ++model_calls;
        talk.end_turn({.text = "now it is"});
    }
    on.run_dry();
    seen.effect["model_calls"] = model_calls;
    seen.effect["turn_finished_calls"] = turns_finished;
}

inline outcome play_turn_ending(host& where, reader& given)
{
    outcome seen;
    std::string prompt = "go on";
    common_payload common{"s-41", "/proj"};
    hooks::model_reply reply{.text = "done"};
    std::int64_t continuations = 0;
    bool spawned = false;
    if (given.has("payload")) {
        reader payload(given.get("payload"), "given.payload");
        common = read_common(payload, "turn_ending");
        prompt = payload.text("prompt");
        reply.text = payload.text("reply");
        spawned = payload.find_bool("spawned").value_or(false);
        continuations = payload.find_integer("continuations", 0, 1).value_or(0);
        payload.finish();
    } else {
        common.session_id = given.find_text("sessionId").value_or(common.session_id);
        common.workspace = given.find_text("workspace").value_or(common.workspace);
    }
    if (const auto stop = given.find_text("stop_reason")) {
        reply.stop = read_stop(*stop);
    } else if (!given.has("payload")) {
        throw malformed("given: has neither payload nor stop_reason nor lifecycle");
    }
    conversation talk(where, read_mode(given), common.session_id, common.workspace, spawned);
    given.finish();

    int turns_finished = 0;
    where.registry.on<hooks::turn_finished>([&](const hooks::turn_finished&) { ++turns_finished; },
                                            std::string(stage::witness));
    talk.start(hooks::session_start::cause::start);
    talk.begin_turn(prompt, {.tools = {"read"}});
    int model_calls = 1;
    if (continuations != 0) {
        const auto helper = where.registry.on<hooks::turn_ending>(
            [](const hooks::turn_ending&) {
                return hooks::turn_ending::continue_turn{.context = "not yet"};
            },
            std::string(stage::witness));
        if (!talk.end_turn({.text = "a first reply"}).continuation && !talk.session().bare()) {
            throw std::runtime_error("the turn was not continued the first time");
        }
        where.registry.remove(helper);
        ++model_calls;
    }
    if (reply.stop != hooks::stop_reason::tool_use) {
        play_ending(seen, where, talk, reply, model_calls, turns_finished);
        return seen;
    }
    where.on.arm();
    run_batch(
        where, talk, {{"call_1", "read", {}}},
        [](const hooks::tool_call&) { return hooks::text_result("ran"); }, false);
    seen.decision["continuation"] = nullptr;
    seen.effect["turn_ends"] = !talk.session().turn_running();
    where.on.disarm();
    where.on.run_dry();
    return seen;
}

inline outcome play_turn_finished(host& where, reader& given)
{
    outcome seen;
    reader payload(given.get("payload"), "given.payload");
    const auto common = read_common(payload, "turn_finished");
    const auto result =
        payload.choice<hooks::turn_finished::result>("outcome", {"completed", "error", "aborted"});
    const auto turns = payload.find_integer("turns", 1, 1000).value_or(1);
    const bool spawned = payload.find_bool("spawned").value_or(false);
    const auto prompt = payload.text("prompt");
    hooks::model_reply reply{.text = payload.text("reply")};
    payload.finish();
    conversation talk(where, read_mode(given), common.session_id, common.workspace, spawned);
    given.finish();

    talk.start(hooks::session_start::cause::start);
    talk.pass_turns(static_cast<std::uint64_t>(turns - 1));
    where.on.run_dry();
    talk.begin_turn(prompt, {});
    if (result == hooks::turn_finished::result::error) reply.stop = hooks::stop_reason::error;
    if (result == hooks::turn_finished::result::aborted) reply.stop = hooks::stop_reason::aborted;
    where.on.arm();
    talk.end_turn(reply);
    where.on.run_dry();
    judge_logged(seen, where.on);
    return seen;
}

// --- Phases that only observe -------------------------------------------------------------------

inline outcome play_pre_compact(host& where, reader& given)
{
    outcome seen;
    reader payload(given.get("payload"), "given.payload");
    const auto common = read_common(payload, "pre_compact");
    const auto reason =
        payload.choice<hooks::pre_compact::cause>("reason", {"manual", "automatic"});
    constexpr auto most = std::int64_t(1) << 53U;
    const auto tokens = payload.find_integer("tokens", 0, most);
    const auto capacity = payload.find_integer("capacity", 0, most);
    const bool spawned = payload.find_bool("spawned").value_or(false);
    payload.finish();
    conversation talk(where, read_mode(given), common.session_id, common.workspace, spawned);
    given.finish();
    if (!tokens) throw malformed("given.payload.tokens: is missing");

    talk.start(hooks::session_start::cause::start);
    where.on.arm();
    talk.begin_compaction(
        reason, static_cast<std::uint64_t>(*tokens),
        capacity ? std::optional(static_cast<std::uint64_t>(*capacity)) : std::nullopt);
    where.on.run_dry();
    judge_logged(seen, where.on);
    where.on.disarm();
    talk.finish_compaction();
    return seen;
}

inline outcome play_session_end(host& where, reader& given)
{
    outcome seen;
    reader payload(given.get("payload"), "given.payload");
    const auto common = read_common(payload, "session_end");
    const auto reason = payload.choice<hooks::session_end::cause>(
        "reason", {"detached", "closed", "idle", "deleted", "shutdown"});
    const auto turns = payload.find_integer("turns", 0, 1000).value_or(0);
    const bool spawned = payload.find_bool("spawned").value_or(false);
    payload.finish();
    conversation talk(where, read_mode(given), common.session_id, common.workspace, spawned);
    given.finish();

    talk.start(hooks::session_start::cause::start);
    talk.pass_turns(static_cast<std::uint64_t>(turns));
    where.on.run_dry();
    where.on.arm();
    talk.session().close(reason);
    where.on.run_dry();
    judge_logged(seen, where.on);
    return seen;
}

inline outcome play_subagent_finished(host& where, reader& given)
{
    using result = hooks::subagent_finished::result;
    outcome seen;
    reader payload(given.get("payload"), "given.payload");
    if (payload.text("type") != "subagent_finished") {
        throw malformed("given.payload.type: must be subagent_finished, as is the vector's phase");
    }
    const auto parent_id = payload.text("parentSessionId");
    const auto subagent_id = payload.text("subagentId");
    const auto workspace = payload.text("workspace");
    const bool background = payload.find_bool("background").value_or(false);
    const auto said = payload.choice<result>("outcome", {"completed", "error"});
    const auto text = payload.text("text");
    payload.finish();
    auto mode = read_mode(given);
    mode.subagent = false;
    conversation talk(where, mode, parent_id, workspace);
    given.finish();

    talk.start(hooks::session_start::cause::start);
    auto subagent = talk.session().create_subagent({.id = subagent_id, .background = background});
    if (!subagent) throw std::runtime_error("create_subagent: " + subagent.error().message());
    // A turn that no hook is asked about: a delivery whose reply was cut off.
    talk.finish<hooks::session_start::outcome>("async_start", [&](auto done) {
        subagent->async_start(hooks::session_start::cause::start, std::move(done));
    });
    talk.finish<hooks::pre_turn::outcome>("async_begin_turn", [&](auto done) {
        subagent->async_begin_turn(std::nullopt, {}, std::move(done));
    });
    talk.finish<hooks::turn_ending::outcome>("async_end_turn", [&](auto done) {
        subagent->async_end_turn({.stop = hooks::stop_reason::length}, std::move(done));
    });
    where.on.arm();
    if (const auto ec = subagent->hand_back(said, text)) {
        throw std::runtime_error("hand_back: " + ec.message());
    }
    where.on.run_dry();
    judge_logged(seen, where.on);
    return seen;
}

// --- What happened to a session -----------------------------------------------------------------

// `given.lifecycle` is a word or a few, of no fixed form: what the host is to do is found by the
// words in it. Where there is none that says it, the vector cannot be run.
inline outcome play_lifecycle(std::string_view phase, host& where, reader& given)
{
    using cause = hooks::session_start::cause;
    auto& on = where.on;
    outcome seen;
    const auto& value = given.get("lifecycle");
    const auto said = value.is_string() ? given.text("lifecycle") : json::serialize(value);
    const auto words = words_of(said);
    auto mode = read_mode(given);
    const bool tree =
        phase == "session_end" && has(words, {"subagent", "descend", "tree", "child"});
    mode.subagent =
        mode.subagent || tree || has(words, {"subagent"}) || phase == "subagent_finished";
    mode.background = mode.background || has(words, {"background"});
    conversation talk(where, mode, given.find_text("sessionId").value_or("s-41"),
                      given.find_text("workspace").value_or("/proj"));
    given.finish();

    if (phase == "session_start") {
        seen.decision["contributions"] = json::array();
        seen.effect["message"] = nullptr;
    }
    const bool fails = has(words, {"fail", "abort", "cancel", "stop", "esc"});
    const auto ended = [&](cause why) {
        on.arm();
        describe_start(seen, where, talk, talk.start(why));
    };
    if (has(words, {"attach"}) && !has(words, {"detach"})) {
        talk.start(cause::start);
        on.arm();  // and nothing is to be called
    } else if (has(words, {"compact"})) {
        talk.start(cause::start);
        if (phase == "pre_compact") on.arm();
        if (!has(words, {"nothing", "no compact", "not needed", "skipped"})) {
            talk.begin_compaction(has(words, {"auto"}) ? hooks::pre_compact::cause::automatic
                                                       : hooks::pre_compact::cause::manual,
                                  90000, 200000);
            if (phase != "pre_compact") on.run_dry();
            on.arm();
            if (fails) {
                talk.fail_compaction();
            } else if (phase == "session_start") {
                describe_start(seen, where, talk, talk.finish_compaction());
            } else {
                on.run_dry();
                on.disarm();
                talk.finish_compaction();
            }
        } else {
            on.arm();
        }
    } else if (phase == "subagent_finished") {
        talk.start(cause::start);
        talk.begin_turn("scout", {});
        on.arm();
        if (has(words, {"clos"})) {
            talk.parent().close(hooks::session_end::cause::closed);
        } else if (fails) {
            talk.session().cancel_turn();
        } else {
            talk.end_turn({.text = "done"});
        }
        (void)talk.session().hand_back(hooks::subagent_finished::result::completed, "done");
        if (has(words, {"again", "twice", "more work"})) {
            talk.begin_turn("scout again", {});
            talk.end_turn({.text = "done again"});
            (void)talk.session().hand_back(hooks::subagent_finished::result::completed,
                                           "done again");
        }
    } else if (phase == "session_start" &&
               has(words, {"resum", "open", "recover", "trash", "restor", "saved", "delet"})) {
        ended(cause::resume);
    } else if (phase == "session_start" &&
               has(words, {"start", "creat", "new", "branch", "fork"})) {
        ended(cause::start);
    } else if (phase == "pre_turn" && has(words, {"deliver", "without a prompt", "no prompt"})) {
        talk.start(cause::start);
        on.arm();
        talk.begin_turn(std::nullopt, {});
    } else if (phase == "turn_ending" && fails) {
        talk.start(cause::start);
        talk.begin_turn("go on", {});
        on.arm();
        talk.session().cancel_turn();
    } else if (phase == "session_end" && has(words, {"crash", "killed"})) {
        talk.start(cause::start);
        on.arm();
        talk.session() = hooks::session();
    } else if (phase == "session_end") {
        std::optional<hooks::session_end::cause> why;
        if (has(words, {"shut"}))
            why = hooks::session_end::cause::shutdown;
        else if (has(words, {"delet"}))
            why = hooks::session_end::cause::deleted;
        else if (has(words, {"idle"}))
            why = hooks::session_end::cause::idle;
        else if (has(words, {"detach"}))
            why = hooks::session_end::cause::detached;
        else if (has(words, {"clos"}))
            why = hooks::session_end::cause::closed;
        if (!why)
            throw malformed("given.lifecycle: the runner does not know \"" + said + "\" in " +
                            std::string(phase));
        talk.start(cause::start);
        on.arm();
        auto& closed = tree ? talk.parent() : talk.session();
        closed.close(*why);
        if (has(words, {"twice", "again"})) closed.close(*why);
    } else {
        throw malformed("given.lifecycle: the runner does not know \"" + said + "\" in " +
                        std::string(phase));
    }
    on.run_dry();
    if (phase != "session_start") judge_logged(seen, on);
    if (phase == "turn_ending") seen.effect["turn_ends"] = !talk.session().turn_running();
    return seen;
}

// --- Loading and construction -------------------------------------------------------------------

/// What a hook of that protocol is told that its event is.
template <class... E>
std::string claude_event(const hooks::executable& what, std::tuple<E...>*)
{
    std::optional<std::string> payload;
    const auto ask = [&](auto event) {
        using event_type = decltype(event);
        if (what.when != hooks::phase_of<event_type>) return;
        const hooks::protocol_for<event_type>& protocol = *what.speaks;
        payload = protocol.payload(event, what.configured);
        if constexpr (requires { event.spawned; }) {
            event.spawned = true;
            if (!payload) payload = protocol.payload(event, what.configured);
        }
    };
    (ask(E()), ...);
    return std::string(view(json::parse(payload.value()).at("hook_event_name").as_string()));
}

// Makes workers of the entries of a document that a person could have made workers of.
inline void make_workers(json::value& document)
{
    auto* object = document.if_object();
    auto* list = object ? object->if_contains("hooks") : nullptr;
    if (list == nullptr || !list->is_array()) return;
    for (auto& entry : list->get_array()) {
        if (auto* fields = entry.if_object()) fields->emplace("mode", "worker");
    }
}

inline outcome play_config(reader& given, const std::string& player, bool workers)
{
    outcome seen;
    seen.messages_name_the_entry = true;
    auto document = given.get("config");
    given.finish();
    if (workers) make_workers(document);

    const stage on(player, {});
    const auto config = hooks::config::parse(json::serialize(document), on.home.root());
    if (const auto again = hooks::config::from_json(document, on.home.root());
        again.has_value() != config.has_value()) {
        throw std::runtime_error("config::parse and config::from_json do not say the same");
    }
    if (!config) {
        seen.status = "rejected";
        seen.messages.push_back(config.error().message);
        return seen;
    }
    asio::io_context io;
    hooks::registry registry(io.get_executor());
    const auto used = registry.use(std::make_shared<hooks::config>(*config));
    const auto session = registry.create_session({.id = "s-41", .workspace = "/proj"});
    if (!session) seen.messages.push_back(session.error().message);
    if (used.has_value() != session.has_value()) {
        throw std::runtime_error("registry::use and registry::create_session do not say the same");
    }
    seen.effect["session_creation"] = session ? "succeeds" : "fails";
    seen.effect["session_left_behind"] = session.has_value();
    json::array phases;
    json::array events;
    if (const auto all = config->executables()) {
        for (const auto& one : *all) {
            phases.emplace_back(json::string(hooks::name_of(one.when)));
            if (one.speaks == &hooks::claude()) {
                events.emplace_back(claude_event(one, static_cast<hooks::phase_events*>(nullptr)));
            }
        }
    }
    seen.effect["vera_phases"] = std::move(phases);
    seen.effect["claude_events"] = std::move(events);
    return seen;
}

// A value that the typed interface cannot hold becomes one that it refuses with the same words.
inline hooks::executable_spec read_spec(reader& spec)
{
    const auto text = [](const json::value& from) {
        return from.is_string() ? std::string(view(from.get_string())) : json::serialize(from);
    };
    hooks::executable_spec made;
    made.phase = text(spec.get("phase"));
    if (const auto* protocol = spec.find("protocol")) made.protocol = text(*protocol);
    const auto* argv = spec.find("argv");
    if (argv != nullptr && argv->is_array()) {
        for (const auto& one : argv->get_array())
            made.argv.push_back(one.is_string() ? text(one) : "");
    }
    if (const auto* timeout = spec.find("timeoutMs")) {
        json::error_code inexact;
        const auto number = timeout->is_number() ? timeout->to_number<std::int64_t>(inexact) : 0;
        made.timeout = std::chrono::milliseconds(inexact ? 0 : number);
    }
    spec.finish();
    return made;
}

inline outcome play_spec(reader& given, bool workers)
{
    outcome seen;
    const auto refuse = [&](const belay::diagnosis& why) {
        seen.status = "rejected";
        seen.messages.push_back(why.message);
    };
    const auto& value = given.get("spec");
    given.finish();
    asio::io_context io;
    hooks::registry registry(io.get_executor());
    reader spec(value, "given.spec");
    if (!spec.has("extension_config")) {
        auto made = read_spec(spec);
        if (workers) made.mode = hooks::run_mode::worker;
        const auto checked = hooks::check(made);
        if (!checked) refuse(checked.error());
        if (!made.argv.empty() && made.argv.front().starts_with('/')) {
            const auto added = registry.on_executable(made, "acme");
            if (added.has_value() != checked.has_value() ||
                (!added && added.error().message != checked.error().message)) {
                throw std::runtime_error("check and registry::on_executable do not say the same");
            }
        }
        return seen;
    }

    seen.messages_name_the_entry = true;
    auto config = spec.get("extension_config");
    spec.finish();
    if (workers) make_workers(config);
    const auto activated = registry.activate(hooks::command_hooks(), config);
    if (!activated) refuse(activated.error());
    return seen;
}

// --- By phase -----------------------------------------------------------------------------------

/// Whether an expected order leaves nothing open, so that the host has to go strictly one by one.
inline bool is_strict(const json::value& expected)
{
    const auto* effect = expected.get_object().if_contains("effect");
    const auto* order =
        effect && effect->is_object() ? effect->get_object().if_contains("order") : nullptr;
    if (order == nullptr || !order->is_array()) return false;
    return std::none_of(
        order->get_array().begin(), order->get_array().end(), [](const json::value& one) {
            return one.is_string() && view(one.get_string()).find('|') != std::string_view::npos;
        });
}

inline outcome play_conversation(const std::string& phase, host& where, reader& given,
                                 const json::value& expected)
{
    if (given.has("lifecycle")) {
        if (given.has("payload")) throw malformed("given: has both payload and lifecycle");
        return play_lifecycle(phase, where, given);
    }
    if (given.has("tool_calls")) return play_calls(where, given, is_strict(expected));
    if (phase == "pre_tool_use") return play_pre_tool_use(where, given);
    if (phase == "post_tool_use") return play_post_tool_use(where, given);
    if (phase == "session_start") return play_session_start(where, given);
    if (phase == "pre_turn") return play_pre_turn(where, given);
    if (phase == "turn_ending") return play_turn_ending(where, given);
    if (phase == "turn_finished") return play_turn_finished(where, given);
    if (phase == "pre_compact") return play_pre_compact(where, given);
    if (phase == "session_end") return play_session_end(where, given);
    if (phase == "subagent_finished") return play_subagent_finished(where, given);
    throw malformed("phase: there is no \"" + phase + "\"");
}

}  // namespace conformance

#endif
