#ifndef BELAY_TEST_CONFORMANCE_VEYYON_TOOLS_HPP
#define BELAY_TEST_CONFORMANCE_VEYYON_TOOLS_HPP

// What is done for a vector of tools, their approval, or the status line.

#include <belay/core/detail/folding.hpp>
#include <belay/modules/approval.hpp>
#include <belay/modules/runner.hpp>
#include <belay/modules/status_line.hpp>
#include <belay/modules/status_text.hpp>
#include <belay/modules/tool.hpp>
#include <belay/modules/tool_wrapper.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_from.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include "suite.hpp"
#include "vectors.hpp"
#include "veyyon_compare.hpp"
#include "veyyon_plays.hpp"
#include "veyyon_stage.hpp"
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace conformance {

// --- Approval -----------------------------------------------------------------------------------

/// What is configured, read as a host reads it.
inline modules::approval_settings configured(const json::value* mode, const json::value* policies)
{
    json::object tools;
    if (mode != nullptr) tools.emplace("approvalMode", *mode);
    if (policies != nullptr) tools.emplace("approval", *policies);
    return modules::read_approval_settings({{"tools", tools}}).settings;
}

inline void read_session(reader& options, modules::approval_settings& settings)
{
    for (const auto* key : {"autoApprove", "cliAutoApprove"}) {
        settings.auto_approve |= options.find_bool(key).value_or(false);
    }
    for (const auto* key : {"plan", "planMode", "planModeActive"}) {
        settings.plan_session |= options.find_bool(key).value_or(false);
    }
    for (const auto* key : {"bypass", "bypassAll", "bypassAllApprovals"}) {
        settings.bypass |= options.find_bool(key).value_or(false);
    }
}

inline const char* name_of(modules::approval_policy policy)
{
    switch (policy) {
    case modules::approval_policy::allow: return "allow";
    case modules::approval_policy::prompt: return "prompt";
    case modules::approval_policy::deny: break;
    }
    return "deny";
}

inline const char* name_of(modules::tool_tier tier)
{
    switch (tier) {
    case modules::tool_tier::read: return "read";
    case modules::tool_tier::write: return "write";
    case modules::tool_tier::exec: break;
    }
    return "exec";
}

inline json::value text_or_null(const std::string& text)
{
    return text.empty() ? json::value() : json::value(json::string(text));
}

inline void play_resolve_approval(reader& given, reader& expect, judgement& so_far)
{
    auto settings = configured(given.find("mode"), given.find("userConfig"));
    if (const auto* value = given.find("options")) {
        reader options(*value, given.path_of("options"));
        read_session(options, settings);
        options.finish();
    }
    reader tool(given.get("tool"), given.path_of("tool"));
    const auto name = tool.text("name");
    const auto* declared = tool.find("approval");
    tool.finish();
    given.finish();
    const auto said = modules::resolve_approval(
        name, modules::read_tool_approval(declared ? *declared : json::value()), settings);
    const json::object seen{{"policy", name_of(said.policy)},
                            {"tier", name_of(said.tier)},
                            {"override", said.always_prompts}};
    for (const auto& [key, value] : seen) {
        const std::string name_of_key(key);
        if (const auto* expected = expect.find(name_of_key)) {
            so_far.same(*expected, value, "expect." + name_of_key);
        }
    }
    const auto reason = read_text_keys(expect, "reason");
    const auto actual = said.reason.empty() ? std::nullopt : std::optional(said.reason);
    compare_text(so_far, reason, actual, "expect.reason");
}

inline void play_effective_mode(reader& given, reader& expect, judgement& so_far)
{
    auto settings = configured(given.find("configured"), nullptr);
    read_session(given, settings);
    given.finish();
    if (const auto* expected = expect.find("mode")) {
        so_far.same(*expected, json::string(modules::effective_mode(settings)), "expect.mode");
    }
}

inline void play_normalize_mode(reader& given, reader& expect, judgement& so_far)
{
    const auto settings = configured(given.find("value"), nullptr);
    given.finish();
    if (const auto* expected = expect.find("mode")) {
        so_far.same(*expected, json::string(modules::normalize_mode(settings.mode)), "expect.mode");
    }
}

inline void play_validate_mode(reader& given, reader& expect, judgement& so_far)
{
    const auto* value = given.find("value");
    given.finish();
    compare_text(so_far, read_text_keys(expect, "warning"),
                 modules::validate_mode(value ? *value : json::value()), "expect.warning");
}

inline std::vector<std::string> read_details(reader& from)
{
    const auto* details = from.find("details");
    if (details == nullptr || details->is_null()) return {};
    return one_or_more(*details, from.path_of("details"));
}

inline void play_format_prompt(reader& given, reader& expect, judgement& so_far)
{
    reader tool(given.get("tool"), given.path_of("tool"));
    const auto name = tool.text("name");
    const auto* declared = tool.find("approval");
    tool.finish();
    const auto says = modules::read_tool_approval(declared ? *declared : json::value());
    const modules::approval_prompt prompt{
        .tool = name,
        .declared = says.tier.has_value(),
        .reason = given.find_text("reason").value_or(says.reason),
        .details = read_details(given),
    };
    given.finish();
    compare_text(so_far, read_text_keys(expect, "text"), modules::format_prompt(prompt),
                 "expect.text");
}

inline void play_truncate_prompt(reader& given, reader& expect, judgement& so_far)
{
    const auto text = given.text("text");
    const auto max = given.find_integer("max", 0, 1'000'000);
    given.finish();
    compare_text(so_far, read_text_keys(expect, "text"),
                 max ? modules::truncate_prompt(text, static_cast<std::size_t>(*max))
                     : modules::truncate_prompt(text),
                 "expect.text");
}

// --- Tools --------------------------------------------------------------------------------------

using execution = std::function<modules::tool_output(const modules::tool_call&)>;

inline execution read_execution(const json::value& value, const std::string& path)
{
    using modules::tool_call;
    using modules::tool_output;
    reader execute(value, path);
    execution made;
    if (const auto* returned = execute.find("return")) {
        tool_output output;
        try {
            if (!returned->is_object()) throw unlike("it is no object");
            for (const auto& [key, field] : returned->get_object()) {
                const auto inner = path + ".return." + std::string(key);
                if (key == "content") {
                    read_into(output.content, field, inner);
                } else if (key == "details") {
                    output.details = field;
                } else if (key == "isError") {
                    read_into(output.is_error, field, inner);
                } else {
                    throw unlike(inner + ": there is no such field");
                }
            }
        } catch (const unlike& error) {
            throw inapplicable(std::string("such an output of a tool does not compile: ") +
                               error.what());
        }
        made = [output](const tool_call&) { return output; };
    } else if (const auto text = execute.find_text("throw")) {
        made = [what = *text](const tool_call&) -> tool_output { throw std::runtime_error(what); };
    } else if (const auto* thrown = execute.find("throwValue")) {
        if (!thrown->is_string()) {
            throw inapplicable(
                "what is thrown and is neither an exception nor a text has no words");
        }
        made = [what = std::string(view(thrown->get_string()))](const tool_call&) -> tool_output {
            throw what;
        };
    } else if (const auto aborted = execute.find_text("throwAbort")) {
        made = [what = *aborted](const tool_call&) -> tool_output {
            throw modules::tool_cancelled(what);
        };
    } else if (const auto late = execute.find_text("throwTimeout")) {
        made = [what = *late](const tool_call&) -> tool_output {
            throw modules::tool_cancelled(what);
        };
    } else if (execute.find_bool("echoParams").value_or(false)) {
        made = [](const tool_call& call) -> tool_output {
            return {.content = {modules::text_block(json::serialize(call.input))}};
        };
    } else {
        throw malformed(path + ": the runner does not know what this tool does");
    }
    execute.finish();
    return made;
}

inline json::object described_output(const modules::tool_output& output)
{
    json::object made{{"content", output.content}};
    if (!output.details.is_null()) made.emplace("details", output.details);
    if (output.is_error) made.emplace("isError", true);
    return made;
}

/// The derived fields that handlers of the source get for its own tool `edit`.
inline bool expects_derived_input(const std::string& tool, const json::object& params,
                                  const json::value* seen)
{
    if (tool != "edit" || seen == nullptr || !seen->is_object()) return false;
    for (const auto& [id, event] : seen->get_object()) {
        const auto* input = event.is_object() ? event.get_object().if_contains("input") : nullptr;
        if (input && *input != json::value(params)) return true;
    }
    return false;
}

inline void play_tool_execute(reader& given, reader& expect, judgement& so_far)
{
    stage on;
    modules::runner_options options;
    modules::approval_settings settings;
    if (const auto* value = given.find("config")) {
        reader config(*value, given.path_of("config"));
        read_budgets(config, options);
        settings = configured(config.find("approvalMode"), config.find("approval"));
        read_session(config, settings);
        if (const auto* ui = config.find("ui"); ui && !ui->is_null()) {
            options.ui = std::make_shared<answering_person>(on, *ui, config.path_of("ui"));
        }
        config.finish();
    }
    troupe playing(on, given, std::move(options));

    bool ran = false;
    modules::tool tool;
    {
        reader what(given.get("tool"), given.path_of("tool"));
        tool.name = what.text("name");
        if (const auto* declared = what.find("approval")) {
            tool.approval = modules::read_tool_approval(*declared);
        }
        if (auto details = read_details(what); !details.empty()) {
            tool.prompt_details = [details](const json::object&) { return details; };
        }
        tool.execute = [&ran, does = read_execution(what.get("execute"), what.path_of("execute"))](
                           const modules::tool_call& call) {
            ran = true;
            return does(call);
        };
        what.finish();
    }
    json::object params;
    if (const auto* value = given.find("params")) {
        if (!value->is_object()) throw malformed("given.params: must be an object");
        params = value->get_object();
    }
    const auto* seen = expect.find("seen");
    if (expects_derived_input(tool.name, params, seen)) {
        throw inapplicable("the document names no fields that are derived from the input of edit");
    }

    modules::tool_wrapper tools(playing.runner, settings);
    bool done = false;
    std::exception_ptr thrown;
    modules::tool_output output;
    tools.async_execute(tool, given.find_text("callId").value_or("call"), params,
                        [&](std::exception_ptr why, modules::tool_output made) {
                            done = true;
                            thrown = std::move(why);
                            output = std::move(made);
                        });
    given.finish();
    on.run_until([&] { return done; });
    on.run_dry();

    const auto expected_throw = read_text_keys(expect, "threw");
    std::optional<std::string> threw;
    if (thrown) threw = belay::detail::message_of(thrown);
    compare_text(so_far, expected_throw, threw, "expect.threw");
    const auto returned = described_output(output);
    if (const auto* expected = expect.find("returned")) {
        if (threw) {
            so_far.fail("expect.returned: it threw: " + *threw);
        } else {
            compare_partial(so_far, *expected, returned, "expect.returned");
        }
    }
    if (expect.find_bool("isErrorAbsent").value_or(false) && (threw || output.is_error)) {
        so_far.fail("expect.isErrorAbsent: " + (threw ? "it threw: " + *threw : "it is true"));
    }
    if (const auto* expected = expect.find("toolRan")) {
        so_far.same(*expected, ran, "expect.toolRan");
    }
    compare_handlers(so_far, expect, on);
    compare_absent_keys(so_far, expect, on, threw ? nullptr : &returned);
    excuse_edits(on, so_far);
}

// --- The status line ----------------------------------------------------------------------------

inline void play_sanitize(reader& given, reader& expect, judgement& so_far)
{
    const auto text = given.text("text");
    given.finish();
    compare_text(so_far, read_text_keys(expect, "text"), modules::sanitize_status(text),
                 "expect.text");
}

inline void play_status(reader& given, reader& expect, judgement& so_far)
{
    if (given.has("showHookStatus")) {
        throw inapplicable("whether the line is shown at all is the host's matter");
    }
    modules::status_line line;
    const auto& pairs = given.get("set");
    if (!pairs.is_array()) throw malformed("given.set: must be an array");
    for (const auto& pair : pairs.get_array()) {
        if (!pair.is_array() || pair.get_array().size() != 2) {
            throw malformed("given.set[]: must be a key and a text");
        }
        const auto& text = pair.get_array()[1];
        line.set(
            reader::as_text(pair.get_array()[0], "given.set[][0]"),
            text.is_null() ? std::nullopt : std::optional(reader::as_text(text, "given.set[][1]")));
    }
    const auto width = given.find_integer("width", 0, 1'000'000).value_or(80);
    given.finish();
    if (const auto* expected = expect.find("lines")) {
        so_far.same(*expected, json::value_from(line.render(static_cast<std::size_t>(width))),
                    "expect.lines");
    }
}

}  // namespace conformance

#endif
