// Runs the vectors of the Vera system: conformance_vera [--workers] [FILE.json [ID...]]
//
// Each vector is played on a miniature host, through belay's public face, and what a vector calls
// a hook is a real executable. vectors.hpp is the notation, behaviour.hpp and stage.hpp are the
// hooks, host.hpp is the host, and plays.hpp says what it does for a vector; here that is compared
// with what is expected. With --workers, each executable is a worker, and has to lead to the same.
//
// Exit status: 0 if no vector failed, 1 if one did, 2 if the file cannot be used.

#include <belay/hooks/phase.hpp>
#include <belay/hooks/protocol/claude.hpp>
#include <belay/hooks/protocol/vera.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "behaviour.hpp"
#include "host.hpp"
#include "plays.hpp"
#include "stage.hpp"
#include "suite.hpp"
#include "vectors.hpp"
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace conformance;
using namespace std::string_literals;

const std::string player = BELAY_CONFORMANCE_PLAYER;

// Keys of `expect` that nothing can be compared with, each with the reason.
const reasons unchecked_keys{
    {"note", "a word to people"},
    {"disagree", "what is not expected"},
    {"effect_child",
     "it has no fixed form; of every real child it is checked that it has been reaped"},
};

// --- Comparing with what is expected ------------------------------------------------------------

/// Whether the events of `order` hold the expected ones in their order, others between them. Each of
/// these is a verb and the calls that it may be of, as in `pre c1|c3`.
bool in_order(const std::vector<std::string>& expected, std::size_t at,
              const std::vector<std::string>& order, std::size_t from)
{
    if (at == expected.size()) return true;
    const auto space = expected[at].find(' ');
    const auto verb = expected[at].substr(0, space);
    const auto calls = "|" + expected[at].substr(space + 1) + "|";
    for (std::size_t i = from; i != order.size(); ++i) {
        const auto gap = order[i].find(' ');
        if (order[i].substr(0, gap) == verb &&
            calls.find("|" + order[i].substr(gap + 1) + "|") != std::string::npos &&
            in_order(expected, at + 1, order, i + 1)) {
            return true;
        }
    }
    return false;
}

void compare_effect(judgement& so_far, const json::value& expected, const outcome& seen)
{
    const auto& want = object_of(expected, "expect.effect");
    for (const auto& member : want) {
        const std::string key(member.key());
        const auto path = "expect.effect." + key;
        const auto* actual = seen.effect.if_contains(key);
        if (actual == nullptr) {
            so_far.fail(path + ": the runner does not know this effect here");
        } else if (key == "order") {
            const auto order = reader::as_texts(*actual, path);
            const auto wanted = reader::as_texts(member.value(), path);
            for (const auto& one : wanted) {
                const auto verb = one.substr(0, one.find(' '));
                if ((verb != "pre" && verb != "run" && verb != "post") ||
                    verb.size() + 1 >= one.size()) {
                    throw malformed(path + ": the runner does not know \"" + one + "\"");
                }
            }
            if (!in_order(wanted, 0, order, 0)) {
                so_far.fail(path + ": expected " + shown(member.value()) + " in this order, got " +
                            shown(*actual));
            }
        } else if (key == "tool_result") {
            reader result(member.value(), path);
            if (const auto prefix = result.find_text("text_prefix")) {
                const auto text = view(actual->at("text").as_string());
                if (!text.starts_with(*prefix)) {
                    so_far.fail(path + ".text_prefix: expected " + *prefix + ", got " +
                                shown(json::string(text)));
                }
            }
            for (const auto& part : {"text", "isError", "content"}) {
                const auto* value = result.find(part);
                if (value != nullptr) so_far.same(*value, actual->at(part), path + "." + part);
            }
            result.finish();
        } else {
            so_far.same(member.value(), *actual, path);
        }
    }
}

void compare_hooks(judgement& so_far, reader& expect, const stage* on)
{
    const auto* ran = expect.find("ran");
    const auto* told = expect.find("stdin");
    const auto* log = expect.find("log");
    if (on == nullptr) {
        if (ran || told || log) throw malformed("expect: ran, stdin and log need hooks");
        return;
    }
    if (ran != nullptr) {
        if (!ran->is_array()) throw malformed("expect.ran: must be an array of indices");
        json::array started;
        for (const auto index : on->started) started.emplace_back(index);
        so_far.same(*ran, started, "expect.ran");
    }
    if (told != nullptr) {
        for (const auto& member : object_of(*told, "expect.stdin")) {
            const std::string key(member.key());
            const auto path = "expect.stdin." + key;
            if (key.empty() || key.size() > 6 ||
                key.find_first_not_of("0123456789") != std::string::npos ||
                std::stoul(key) >= on->hooks.size()) {
                throw malformed(path + ": there is no such hook");
            }
            const auto found = on->told.find(std::stoul(key));
            if (found == on->told.end() || found->second.empty()) {
                so_far.fail(path + ": this hook was not started");
                continue;
            }
            // one that was started more than once was told this one of the times
            std::optional<std::string> differs;
            for (const auto& payload : found->second) {
                differs = difference(member.value(), json::parse(payload), path);
                if (!differs) break;
            }
            if (differs) so_far.fail(*std::move(differs));
        }
    }
    if (log != nullptr) {
        json::array wanted;
        if (log->is_array())
            wanted = log->get_array();
        else if (!log->is_null())
            wanted.push_back(*log);
        if (wanted.empty() && !on->records.empty()) {
            so_far.fail("expect.log: expected nothing, got " + shown(on->records.front()));
        }
        for (const auto& one : wanted) {
            const auto fields = object_of(one, "expect.log");
            std::string nearest = "nothing was logged";
            const bool found = std::any_of(
                on->records.begin(), on->records.end(), [&](const json::object& record) {
                    for (const auto& field : fields) {
                        const auto* value = record.if_contains(field.key());
                        const auto path = "expect.log." + std::string(field.key());
                        auto differs = value
                                           ? difference(field.value(), *value, path)
                                           : std::optional(path + ": expected " +
                                                           shown(field.value()) + ", got nothing");
                        if (differs) {
                            nearest = *std::move(differs);
                            return false;
                        }
                    }
                    return true;
                });
            if (!found)
                so_far.fail(nearest.starts_with("expect") ? nearest : "expect.log: " + nearest);
        }
    }
}

void compare(judgement& so_far, reader& expect, const outcome& seen, const stage* on)
{
    const auto status = expect.text("status");
    if (status != "ok" && status != "failed" && status != "ignored" && status != "logged" &&
        status != "rejected") {
        throw malformed("expect.status: there is no \"" + status + "\"");
    }
    std::string all;
    for (const auto& message : seen.messages) all += (all.empty() ? "" : " / ") + message;
    if (status != seen.status) {
        so_far.fail("expect.status: expected " + status + ", got " + seen.status +
                    (all.empty() ? "" : " (" + all + ")"));
    }
    const auto any_message = [&](auto matches) {
        return std::any_of(seen.messages.begin(), seen.messages.end(), matches);
    };
    if (const auto message = expect.find_text("message")) {
        const bool found = any_message([&](const std::string& one) {
            return one == *message ||
                   (seen.messages_name_the_entry && one.find(*message) != std::string::npos);
        });
        if (!found)
            so_far.fail("expect.message: expected \"" + *message + "\", got \"" + all + "\"");
    }
    if (const auto part = expect.find_text("message_contains")) {
        const bool found = any_message(
            [&](const std::string& one) { return one.find(*part) != std::string::npos; });
        if (!found)
            so_far.fail("expect.message_contains: expected \"" + *part + "\", got \"" + all + "\"");
    }
    if (const auto* decision = expect.find("decision")) {
        for (const auto& member : object_of(*decision, "expect.decision")) {
            const auto path = "expect.decision." + std::string(member.key());
            const auto* actual = seen.decision.if_contains(member.key());
            if (actual == nullptr) {
                so_far.fail(path + ": expected " + shown(member.value()) +
                            ", but the runner sees no such thing here");
            } else {
                so_far.same(member.value(), *actual, path);
            }
        }
    }
    if (const auto* effect = expect.find("effect")) compare_effect(so_far, *effect, seen);
    compare_hooks(so_far, expect, on);
    for (const auto& unchecked : unchecked_keys) expect.find(unchecked.first);
    expect.finish();
}

// --- One vector ---------------------------------------------------------------------------------

/// Why a hook cannot be a worker that says the same; empty: it can be.
std::string_view no_worker(const hook& what)
{
    const auto& protocol = what.protocol == "claude" ? hooks::claude() : hooks::vera();
    const auto phase = protocol.resolve(what.event);
    if (!phase) return "";
    const auto limit = hooks::stdout_limit(*phase);
    const bool has_reason = phase == hooks::phase::pre_tool_use ||
                            phase == hooks::phase::pre_turn || phase == hooks::phase::turn_ending;
    for (const auto& [call, run] : what.runs) {
        if (run.out.size() > limit && detail::trimmed(run.out).size() <= limit)
            return "white space around a result is no part of it, and does not count";
        if (what.protocol != "claude" || run.exit != 2 || !has_reason) continue;
        const auto reason = detail::trimmed(run.err);
        if (reason.empty())
            return "a worker has no exit status to give instead of a reason: it has to say one";
        if (reason.size() + 256 > limit)
            return "a reason that long does not fit into a worker's result, which stdout bounds";
    }
    return "";
}

/// What a failure of a worker says beyond the sentence of one that runs once is cut off.
std::string without_details(std::string text)
{
    if (text.find("Command hook ") == std::string::npos) return text;
    for (const auto* more : {": the worker", " before it had answered", "; stderr: \""})
        text = text.substr(0, text.find(more));
    return text;
}

void cut_details(json::value& in)
{
    if (auto* text = in.if_string()) {
        in = json::string(without_details(std::string(view(*text))));
    } else if (auto* list = in.if_array()) {
        for (auto& one : *list) cut_details(one);
    } else if (auto* members = in.if_object()) {
        for (auto& one : *members) cut_details(one.value());
    }
}

template <class Part>
void cut_details_of(Part& part)
{
    json::value all = std::move(part);
    cut_details(all);
    part = std::move(all.get_object());
}

void play_vector(const json::value& written, judgement& so_far, bool workers)
{
    const auto value = expanded(written, "vector");
    reader vector(value, "vector");
    vector.text("id");
    const auto phase = vector.text("phase");
    const auto protocol = vector.text("protocol");
    if (protocol != "vera" && protocol != "claude")
        throw malformed("protocol: there is no \"" + protocol + "\"");
    (void)vector.choice<int>("source", {"config", "extension"});
    if (vector.has("facts")) vector.texts("facts");
    reader given(vector.get("given"), "given");
    const auto& expected = vector.get("expect");
    reader expect(expected, "expect");
    vector.finish();

    if (phase == "config" || phase == "spec") {
        const auto seen =
            phase == "config" ? play_config(given, player, workers) : play_spec(given, workers);
        return compare(so_far, expect, seen, nullptr);
    }
    auto all = read_hooks(given.get("hooks"), "given.hooks");
    for (const auto& one : all) {
        const auto why = workers ? no_worker(one) : "";
        if (!why.empty()) throw inapplicable(std::string(why));
    }
    stage on(player, std::move(all), workers);
    outcome seen;
    {
        host where(on);
        seen = play_conversation(phase, where, given, expected);
    }
    on.run_dry();
    on.check_always();
    if (workers) {
        for (auto& message : seen.messages) message = without_details(std::move(message));
        for (auto& record : on.records) cut_details_of(record);
        cut_details_of(seen.effect);
    }
    compare(so_far, expect, seen, &on);
    for (const auto& fault : on.faults) so_far.fail(fault);
}

}  // namespace

int main(int argc, char** argv)
{
    const bool workers = argc > 1 && std::string_view(argv[1]) == "--workers";
    const auto play = [workers](const json::value& vector, judgement& so_far) {
        play_vector(vector, so_far, workers);
    };
    return run_suite({.system = "vera", .play = play, .unchecked = unchecked_keys}, argc - workers,
                     argv + workers);
}
