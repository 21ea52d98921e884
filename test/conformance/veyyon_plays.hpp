#ifndef BELAY_TEST_CONFORMANCE_VEYYON_PLAYS_HPP
#define BELAY_TEST_CONFORMANCE_VEYYON_PLAYS_HPP

// What is done for a vector of events, commands, the person, messages or programs.

#include <belay/core/error.hpp>
#include <belay/modules/context.hpp>
#include <belay/modules/events.hpp>
#include <belay/modules/exec.hpp>
#include <belay/modules/message.hpp>
#include <belay/modules/runner.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/system/system_error.hpp>

#include "suite.hpp"
#include "vectors.hpp"
#include "veyyon_compare.hpp"
#include "veyyon_files.hpp"
#include "veyyon_json.hpp"
#include "veyyon_stage.hpp"
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conformance {

// --- What is given ------------------------------------------------------------------------------

inline milliseconds read_limit(reader& config, const char* key)
{
    return milliseconds(config.find_integer(key, 0, 1'000'000'000).value_or(0));
}

inline void read_budgets(reader& config, modules::runner_options& options)
{
    if (config.has("handlerTimeoutMs")) {
        options.handler_timeout = read_limit(config, "handlerTimeoutMs");
    }
    if (config.has("shutdownTimeoutMs")) {
        options.shutdown_timeout = read_limit(config, "shutdownTimeoutMs");
    }
}

modules::runner_options read_options(reader& given)
{
    modules::runner_options options;
    if (const auto* value = given.find("config")) {
        reader config(*value, given.path_of("config"));
        read_budgets(config, options);
        config.finish();
    }
    return options;
}

// --- Events -------------------------------------------------------------------------------------

template <class E>
belay::outcome_of<E> emitted(stage& on, modules::runner& runner, E event)
{
    std::optional<belay::outcome_of<E>> concluded;
    runner.async_emit(std::move(event), [&](belay::error_code ec, belay::outcome_of<E> outcome) {
        if (ec) throw boost::system::system_error(ec);
        concluded = std::move(outcome);
    });
    on.run_until([&] { return concluded.has_value(); });
    on.run_dry();  // whoever is late says so to nobody
    return *std::move(concluded);
}

template <class E>
void compare_result(judgement& so_far, reader& expect, const belay::outcome_of<E>& outcome)
{
    const auto* expected = expect.find("result");
    if (expected == nullptr) return;
    so_far.same(expected_conclusion<E>(*expected, "expect.result"), concluded(outcome),
                "expect.result");
}

/// A vector that expects that what a handler did to its event in place is seen.
inline void excuse_edits(const stage& on, const judgement& so_far)
{
    if (on.edits_in_place && !so_far.reasons().empty()) {
        throw inapplicable(
            "it expects an edit of the event in place to be seen, and what a handler "
            "can edit here is its own copy");
    }
}

template <class E>
void emit_event(reader& given, reader& expect, judgement& so_far, E event,
                bool listener_throws = false)
{
    stage on;
    auto options = read_options(given);
    troupe playing(on, given, std::move(options), listener_throws);
    given.finish();
    const auto outcome = emitted(on, playing.runner, std::move(event));
    compare_result<E>(so_far, expect, outcome);
    compare_handlers(so_far, expect, on);
    compare_absent_keys(so_far, expect, on, nullptr);
    excuse_edits(on, so_far);
}

inline void emit_any(reader& given, reader& expect, judgement& so_far, bool listener_throws)
{
    const auto& value = given.get("event");
    reader event(value, given.path_of("event"));
    const auto type = event.text("type");
    const bool known = with_event_named(type, [&]<class E>(std::type_identity<E>) {
        emit_event(given, expect, so_far, event_from<E>(value), listener_throws);
    });
    if (!known) refuse_event(type);
}

inline void play_emit(reader& given, reader& expect, judgement& so_far)
{
    emit_any(given, expect, so_far, false);
}

inline void play_emit_listener_throws(reader& given, reader& expect, judgement& so_far)
{
    emit_any(given, expect, so_far, true);
}

inline void play_emit_context(reader& given, reader& expect, judgement& so_far)
{
    const auto& messages = given.get("messages");
    if (!messages.is_array()) throw malformed("given.messages: must be an array");
    stage on;
    troupe playing(on, given, read_options(given));
    given.finish();
    const auto outcome =
        emitted(on, playing.runner, modules::context{.messages = messages.get_array()});
    if (const auto* expected = expect.find("messages")) {
        so_far.same(*expected, outcome.replaced ? json::value(outcome.messages) : messages,
                    "expect.messages");
    }
    compare_result<modules::context>(so_far, expect, outcome);
    compare_handlers(so_far, expect, on);
    compare_absent_keys(so_far, expect, on, nullptr);
    excuse_edits(on, so_far);
}

inline void play_emit_before_agent_start(reader& given, reader& expect, judgement& so_far)
{
    json::object fields;
    for (const auto* key : {"prompt", "images", "systemPrompt"}) {
        if (const auto* value = given.find(key)) fields.emplace(key, *value);
    }
    if (const auto* lines = fields.if_contains("systemPrompt"); lines && lines->is_string()) {
        fields["systemPrompt"] = json::array{*lines};
    }
    emit_event(given, expect, so_far, event_from<modules::before_agent_start>(fields));
}

// --- Commands -----------------------------------------------------------------------------------

inline void play_commands(reader& given, reader& expect, judgement& so_far)
{
    stage on;
    modules::runner_options options;
    if (given.has("reserved")) options.builtin_commands = given.texts("reserved");
    troupe playing(on, given, std::move(options));
    const auto times = given.find_integer("callTimes", 1, 1000).value_or(1);
    modules::command_list list;
    for (auto left = times; left > 0; --left) list = playing.runner.commands();

    json::array registered;
    for (const auto& one : list.commands) {
        registered.push_back(json::array{one.name, one.description});
    }
    json::array diagnostics;
    for (const auto& one : list.diagnostics) {
        diagnostics.push_back(
            json::object{{"type", "warning"}, {"path", one.module}, {"message", one.message}});
    }
    if (const auto* expected = expect.find("registered")) {
        so_far.same(*expected, registered, "expect.registered");
    }
    if (const auto* expected = expect.find("diagnostics")) {
        compare_records(so_far, *expected, diagnostics, "expect.diagnostics");
    }
    if (const auto* expected = expect.find("diagnosticsCount")) {
        so_far.same(*expected, diagnostics.size(), "expect.diagnosticsCount");
    }
    for (const auto* key : {"conflictReports", "operatorReports"}) {
        if (const auto* expected = expect.find(key)) {
            so_far.same(*expected, on.notices.size(), expect.path_of(key));
        }
    }
    json::object found;
    if (given.has("lookup")) {
        for (const auto& name : given.texts("lookup")) {
            const auto command = playing.runner.find_command(name);
            found.emplace(
                name, command ? json::value(json::string(command->description)) : json::value());
        }
    }
    given.finish();
    if (const auto* expected = expect.find("lookup")) {
        so_far.same(*expected, found, "expect.lookup");
    }
}

inline void play_dispatch_command(reader& given, reader& expect, judgement& so_far)
{
    stage on;
    modules::runner_options options;
    if (given.has("reserved")) options.builtin_commands = given.texts("reserved");
    troupe playing(on, given, std::move(options));
    std::optional<bool> handled;
    playing.runner.async_run_command(given.text("text"), [&](belay::error_code ec, bool was) {
        if (ec) throw boost::system::system_error(ec);
        handled = was;
    });
    given.finish();
    on.run_until([&] { return handled.has_value(); });
    on.run_dry();
    const auto& calls = playing.commands.given;
    if (calls.size() != (*handled ? 1U : 0U)) {
        so_far.fail("the command was called " + std::to_string(calls.size()) + " times");
    }
    if (const auto* expected = expect.find("handled")) {
        so_far.same(*expected, *handled, "expect.handled");
    }
    const auto compare = [&](const char* key, auto field) {
        const auto* expected = expect.find(key);
        if (expected == nullptr) return;
        const auto said =
            calls.empty() ? json::value() : json::value(json::string(calls.front().*field));
        so_far.same(*expected, said, expect.path_of(key));
    };
    compare("command", &modules::command::name);
    compare("args", &modules::command::arguments);
    compare_handlers(so_far, expect, on);
}

// --- The person ---------------------------------------------------------------------------------

/// A method of the UI, called by a handler. Gives its value; null for none.
class ui_call {
public:
    ui_call(std::string method, json::array arguments)
        : method_(std::move(method)), arguments_(std::move(arguments))
    {}

    asio::awaitable<json::value> on(modules::person ui) const
    {
        if (const auto limit = limit_of(method_ == "confirm" ? 2 : arguments_.size() - 1)) {
            ui = ui.within(*limit);
        }
        if (method_ == "select") {
            auto options = choices();
            auto title = text(0);
            auto said = co_await ui.async_select(title, options, asio::use_awaitable);
            co_return shown_text(said);
        }
        if (method_ == "confirm") {
            auto title = text(0);
            auto message = text(1);
            const bool said = co_await ui.async_confirm(title, message, asio::use_awaitable);
            co_return said;
        }
        if (method_ == "input") {
            auto title = text(0);
            auto placeholder = text(1);
            auto said = co_await ui.async_input(title, placeholder, asio::use_awaitable);
            co_return shown_text(said);
        }
        if (method_ == "editor") {
            auto title = text(0);
            auto prefill = text(1);
            auto said = co_await ui.async_editor(title, prefill, asio::use_awaitable);
            co_return shown_text(said);
        }
        if (method_ == "custom") {
            auto what = arguments_.empty() ? json::value() : arguments_[0];
            auto said = co_await ui.async_custom(what, asio::use_awaitable);
            co_return said;
        }
        if (method_ == "notify") {
            ui.notify(text(0), kind());
        } else if (method_ == "setStatus") {
            ui.set_status(text(0), status());
        } else if (method_ == "setEditorText") {
            ui.set_editor_text(text(0));
        } else if (method_ == "getEditorText") {
            co_return json::string(ui.editor_text());
        } else if (method_ == "theme") {
            co_return ui.theme();
        } else {
            refuse();
        }
        co_return nullptr;
    }

private:
    static json::value shown_text(const std::optional<std::string>& text)
    {
        return text ? json::value(json::string(*text)) : json::value();
    }

    std::string text(std::size_t place) const
    {
        if (place >= arguments_.size() || arguments_[place].is_null()) return {};
        return reader::as_text(arguments_[place], "given.args[" + std::to_string(place) + "]");
    }

    std::optional<std::string> status() const
    {
        if (arguments_.size() < 2 || arguments_[1].is_null()) return std::nullopt;
        return text(1);
    }

    modules::notice kind() const
    {
        const auto said = text(1);
        if (said.empty() || said == "info") return modules::notice::info;
        if (said == "warning") return modules::notice::warning;
        if (said == "error") return modules::notice::error;
        throw inapplicable("a notice of type \"" + said + "\" does not compile");
    }

    std::vector<modules::select_option> choices() const
    {
        std::vector<modules::select_option> options;
        if (arguments_.size() < 2 || !arguments_[1].is_array()) {
            throw malformed("given.args[1]: must be an array");
        }
        for (const auto& one : arguments_[1].get_array()) {
            auto& made = options.emplace_back();
            if (one.is_string()) {
                made.label = view(one.get_string());
                continue;
            }
            reader option(one, "given.args[1][]");
            made.label = option.text("label");
            made.description = option.find_text("description").value_or("");
            option.finish();
        }
        return options;
    }

    std::optional<milliseconds> limit_of(std::size_t place) const
    {
        if (place >= arguments_.size() || !arguments_[place].is_object()) return std::nullopt;
        if (method_ == "custom") return std::nullopt;
        reader options(arguments_[place], "given.args[" + std::to_string(place) + "]");
        const auto limit = read_limit(options, "timeout");
        options.finish();
        return limit;
    }

    [[noreturn]] void refuse() const
    {
        static const std::vector<std::string> unnamed{
            "setTheme",         "getTheme",         "getAllThemes",  "themes",
            "getToolsExpanded", "setToolsExpanded", "setWidget",     "setTitle",
            "setFooter",        "setHeader",        "pasteToEditor", "onTerminalInput",
            "setWorkingMessage"};
        if (std::ranges::find(unnamed, method_) != unnamed.end()) {
            throw inapplicable("the document names no method " + method_ + " of the UI");
        }
        throw malformed("given.method: the runner does not know \"" + method_ + "\"");
    }

    std::string method_;
    json::array arguments_;
};

inline void play_ui_call(reader& given, reader& expect, judgement& so_far)
{
    stage on;
    modules::runner_options options;
    if (const auto* ui = given.find("ui"); ui && !ui->is_null()) {
        options.ui = std::make_shared<answering_person>(on, *ui, given.path_of("ui"));
    }
    const auto* arguments = given.find("args");
    if (arguments && !arguments->is_array()) throw malformed("given.args: must be an array");
    const ui_call call(given.text("method"), arguments ? arguments->get_array() : json::array());
    troupe playing(on, given, std::move(options));
    given.finish();

    json::value value;
    std::exception_ptr thrown;
    bool has_ui = false;
    const auto added = playing.runner.add("asking", [&](modules::api& its) {
        its.on<modules::session_start>(
            [&](const modules::session_start&,
                const modules::handler_context& here) -> asio::awaitable<void> {
                has_ui = here.has_ui();
                try {
                    value = co_await call.on(here.ui());
                } catch (...) {
                    thrown = std::current_exception();
                }
            });
    });
    if (!added) throw std::runtime_error(added.error().message);
    emitted(on, playing.runner, modules::session_start{});

    std::optional<std::string> threw;
    if (thrown) {
        try {
            std::rethrow_exception(thrown);
        } catch (const inapplicable&) {
            throw;
        } catch (const malformed&) {
            throw;
        } catch (const std::exception& error) {
            threw = error.what();
        }
    }
    const auto expected_throw = read_text_keys(expect, "threw");
    if (threw && !expected_throw.any()) so_far.fail("it threw: " + *threw);
    compare_text(so_far, expected_throw, threw, "expect.threw");
    if (const auto* expected = expect.find("value")) {
        so_far.same(*expected, value, "expect.value");
    }
    if (const auto* expected = expect.find("hasUI")) {
        so_far.same(*expected, has_ui, "expect.hasUI");
    }
    compare_handlers(so_far, expect, on);
}

// --- Messages -----------------------------------------------------------------------------------

using sent_message = std::pair<modules::custom_message, modules::delivery_options>;

/// What a host is given when a module sends a message.
inline sent_message sent(modules::custom_message message, const modules::delivery_options& options,
                         const std::optional<std::string>& text)
{
    stage on;
    const auto host = std::make_shared<recording_agent>();
    modules::runner runner(on.io.get_executor(), {.agent = host, .time = &on.clock});
    const auto added = runner.add("sending", [&](modules::api& its) {
        its.on<modules::session_start>([=](const modules::session_start&) {
            if (text) {
                its.send_message(*text, options);
            } else {
                its.send_message(message, options);
            }
        });
    });
    if (!added) throw std::runtime_error(added.error().message);
    const auto outcome = emitted(on, runner, modules::session_start{});
    for (const auto& why : outcome.failures) throw std::runtime_error(why.message);
    if (host->sent.size() != 1) throw std::runtime_error("the host was not given one message");
    return host->sent.front();
}

inline void play_normalize_message(reader& given, reader& expect, judgement& so_far)
{
    const auto* payload = given.find("payload");
    given.finish();
    if (payload == nullptr || (!payload->is_string() && !payload->is_object())) {
        throw inapplicable("send_message takes a text or a custom_message, nothing else compiles");
    }
    std::optional<std::string> text;
    modules::custom_message message;
    if (payload->is_string()) {
        text = view(payload->get_string());
    } else {
        try {
            message = read_as<modules::custom_message>(*payload, "given.payload");
        } catch (const unlike& error) {
            throw inapplicable(std::string("such a message does not compile: ") + error.what());
        }
    }
    const auto made = object_from(sent(std::move(message), {}, text).first);
    if (const auto* expected = expect.find("message")) {
        so_far.same(*expected, made, "expect.message");
    }
}

inline void play_deliver(reader& given, reader& expect, judgement& so_far)
{
    using place = modules::delivery::place;
    modules::delivery_options options;
    if (const auto* value = given.find("options")) {
        if (!value->is_object()) {
            throw inapplicable("options that are no object do not compile");
        }
        reader how(*value, given.path_of("options"));
        options.trigger_turn = how.find_bool("triggerTurn").value_or(false);
        if (const auto said = how.find_text("deliverAs")) {
            static const std::map<std::string, modules::deliver_as, std::less<>> known{
                {"steer", modules::deliver_as::steer},
                {"followUp", modules::deliver_as::follow_up},
                {"nextTurn", modules::deliver_as::next_turn}};
            const auto found = known.find(*said);
            if (found == known.end()) {
                throw inapplicable("to deliver as \"" + *said + "\" does not compile");
            }
            options.as = found->second;
        }
        how.finish();
    }
    const bool streaming = given.find_bool("streaming").value_or(false);
    given.finish();

    const auto asked = sent({}, options, "a message").second;
    const auto plan = modules::plan_delivery(asked, streaming);
    static const std::map<place, json::value> queues{{place::context, nullptr},
                                                     {place::steering, "steer"},
                                                     {place::follow_up, "followUp"},
                                                     {place::hidden_next_turn, "hiddenNextTurn"}};
    const bool now = plan.where == place::context;
    const auto compare = [&](const char* key, const json::value& actual) {
        if (const auto* expected = expect.find(key)) {
            so_far.same(*expected, actual, expect.path_of(key));
        }
    };
    compare("queue", queues.at(plan.where));
    compare("turnStarted", plan.starts_turn);
    compare("continuationScheduled", plan.schedules_continuation);
    compare("appendedToContext", now);
    compare("entry", now ? json::value("custom_message") : json::value());
}

// --- Programs -----------------------------------------------------------------------------------

/// "before", or "after 100ms".
struct abort_request {
    bool at_once = false;
    milliseconds after{};
};

inline abort_request read_abort(const std::string& said)
{
    if (said.find("after") == std::string::npos) {
        for (const auto* word : {"before", "already", "at once", "immediately"}) {
            if (said.find(word) != std::string::npos) return {.at_once = true};
        }
        throw malformed("given.options.abort: the runner does not know \"" + said + "\"");
    }
    const auto digits = said.find_first_of("0123456789");
    long long count = 0;
    if (digits != std::string::npos) {
        const auto end = std::from_chars(said.data() + digits, said.data() + said.size(), count);
        if (end.ptr == said.data() + said.size() - 2 && said.ends_with("ms")) {
            return {.after = milliseconds(count)};
        }
    }
    throw malformed("given.options.abort: the runner does not know \"" + said + "\"");
}

inline void play_exec(reader& given, reader& expect, judgement& so_far)
{
    const scratch_folder scratch;
    modules::exec_options options;
    std::optional<abort_request> abort;
    if (const auto* value = given.find("options")) {
        reader how(*value, given.path_of("options"));
        if (how.has("timeout")) {
            options.timeout = milliseconds(*how.find_integer("timeout", -1'000'000, 1'000'000));
        }
        if (const auto cwd = how.find_text("cwd")) options.cwd = scratch.real(*cwd);
        if (const auto said = how.find_text("abort")) abort = read_abort(*said);
        how.finish();
    }
    const auto host = std::make_shared<recording_agent>();
    const auto cwd = given.find_text("cwd");
    host->directory = cwd ? scratch.real(*cwd) : scratch.root();
    if (cwd) std::filesystem::create_directories(host->directory);

    stage on;
    modules::runner runner(on.io.get_executor(), {.agent = host});
    std::optional<modules::api> its;
    const auto added = runner.add("running", [&](modules::api& side) { its = side; });
    if (!added) throw std::runtime_error(added.error().message);

    asio::cancellation_signal stop;
    asio::steady_timer timer(on.io);
    bool done = false;
    belay::error_code failed;
    modules::exec_result result;
    auto arguments = given.has("args") ? given.texts("args") : std::vector<std::string>();
    its->async_exec(given.text("command"), std::move(arguments), options,
                    asio::bind_cancellation_slot(
                        stop.slot(), [&](belay::error_code ec, modules::exec_result how) {
                            done = true;
                            failed = ec;
                            result = std::move(how);
                            timer.cancel();
                        }));
    given.finish();
    const auto end_it = [&] { stop.emit(asio::cancellation_type::terminal); };
    if (abort && abort->at_once) end_it();
    if (abort && !abort->at_once) {
        timer.expires_after(abort->after);
        timer.async_wait([&](belay::error_code ec) {
            if (!ec) end_it();
        });
    }
    on.io.run_for(std::chrono::seconds(60));
    if (!done) throw std::runtime_error("it did not end within a minute");

    const auto expected_throw = read_text_keys(expect, "threw");
    bool may_fail = expected_throw.any();
    for (const auto* key : {"rejects", "rejected"}) {
        if (const auto* expected = expect.find(key)) {
            may_fail = true;
            so_far.same(*expected, failed.failed(), expect.path_of(key));
        }
    }
    std::optional<std::string> threw;
    if (failed) threw = failed.message() + (result.detail.empty() ? "" : ": " + result.detail);
    if (threw && !may_fail) so_far.fail("it could not be run: " + *threw);
    compare_text(so_far, expected_throw, threw, "expect.threw");
    const json::object seen{{"stdout", scratch.virtual_text(result.out)},
                            {"stderr", scratch.virtual_text(result.err)},
                            {"code", result.code},
                            {"killed", result.killed}};
    for (const auto& [key, value] : seen) {
        const std::string name(key);
        if (const auto* expected = expect.find(name)) {
            so_far.same(*expected, value, "expect." + name);
        }
        if (!value.is_string()) continue;
        if (const auto* parts = expect.find(name + "Contains")) {
            compare_text(so_far, {.parts = one_or_more(*parts, "expect." + name + "Contains")},
                         std::string(view(value.get_string())), "expect." + name);
        }
    }
}

}  // namespace conformance

#endif
