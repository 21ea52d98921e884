// What do the payload of an executable hook and the reading of its answer cost beside Boost.JSON alone?
//
// Encoding: a pre_tool_use event, whose input is a boost::json::object with a text of so many bytes, becomes
// the bytes of stdin. Decoding: the stdout of a hook that changes the input becomes an answer. The limits do
// the same work with Boost.JSON: copy the input into a value and serialise that; parse, check
// what has to be there, and move it out.

#include <belay/hooks/protocol/vera.hpp>
#include <belay/hooks/tool_events.hpp>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "question.hpp"

#if BELAY_BENCH_NLOHMANN
#include <nlohmann/json.hpp>
#endif

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace {

namespace json = boost::json;
namespace hooks = belay::hooks;

// Source code, as a tool that writes a file has it in its input: of 40 bytes one is a line's end or a quote.
std::string source(std::size_t bytes)
{
    constexpr std::string_view lines =
        "    const auto found = cache.find(request.key);\n"
        "    if (found != cache.end()) return found->second;\n"
        "    log(\"not in the cache\", request.key, cache.size());\n"
        "    cache.emplace(request.key, compute(request, settings));\n";
    std::string text;
    while (text.size() < bytes) text += lines.substr(0, bytes - text.size());
    return text;
}

hooks::pre_tool_use event_of(std::size_t bytes)
{
    constexpr std::size_t rest = 170;  // of the payload
    hooks::pre_tool_use event;
    event.call.id = "call_7Hq2";
    event.call.name = "write";
    event.call.input = {{"path", "src/server/cache.cpp"},
                        {"content", source(bytes > rest ? bytes - rest : 8)}};
    event.session_id = "b1946ac9";
    event.workspace = "/home/someone/project";
    return event;
}

// --- Encoding ------------------------------------------------------------------------------------

std::string encode_by_belay(const hooks::pre_tool_use& event)
{
    return *hooks::vera().payload(event, "pre_tool_use");
}

std::string encode_by_boost(const hooks::pre_tool_use& event, json::storage_ptr memory)
{
    json::object document(std::move(memory));
    document.reserve(4);
    document["type"] = "pre_tool_use";
    auto& call = document["toolCall"].emplace_object();
    call.reserve(3);
    call["id"] = event.call.id;
    call["name"] = event.call.name;
    call["input"] = event.call.input;
    if (event.session_id) document["sessionId"] = *event.session_id;
    document["workspace"] = event.workspace;
    return json::serialize(document);
}

#if BELAY_BENCH_NLOHMANN
std::string encode_by_nlohmann(const hooks::pre_tool_use& event, const nlohmann::json& input)
{
    nlohmann::json document;
    document["type"] = "pre_tool_use";
    document["toolCall"] = {{"id", event.call.id}, {"name", event.call.name}, {"input", input}};
    if (event.session_id) document["sessionId"] = *event.session_id;
    document["workspace"] = event.workspace;
    return document.dump();
}
#endif

// --- Decoding ------------------------------------------------------------------------------------

std::string stdout_of(const hooks::pre_tool_use& event)
{
    return json::serialize(json::object{{"power", "mutate"}, {"input", event.call.input}}) + '\n';
}

std::optional<json::object> decode_by_belay(const hooks::pre_tool_use& event,
                                            const belay::process::exit_report& report)
{
    auto said = hooks::vera().answer(event, "pre_tool_use", report);
    auto* mutate = said ? std::get_if<hooks::pre_tool_use::mutate>(&*said) : nullptr;
    if (mutate == nullptr) return std::nullopt;
    return std::move(mutate->input);
}

std::optional<json::object> decode_by_boost(const std::string& text)
{
    json::error_code ec;
    auto document = json::parse(text, ec);
    auto* members = ec ? nullptr : document.if_object();
    if (members == nullptr) return std::nullopt;
    const auto* power = members->if_contains("power");
    const auto* named = power ? power->if_string() : nullptr;
    if (named == nullptr || *named != "mutate") return std::nullopt;
    auto* input = members->if_contains("input");
    if (input == nullptr || !input->is_object()) return std::nullopt;
    return std::move(input->get_object());
}

#if BELAY_BENCH_NLOHMANN
std::optional<nlohmann::json> decode_by_nlohmann(const std::string& text)
{
    auto document = nlohmann::json::parse(text, nullptr, false);
    if (!document.is_object()) return std::nullopt;
    const auto power = document.find("power");
    if (power == document.end() || !power->is_string() || *power != "mutate") return std::nullopt;
    auto input = document.find("input");
    if (input == document.end() || !input->is_object()) return std::nullopt;
    return std::move(*input);
}
#endif

// -------------------------------------------------------------------------------------------------

void add(bench::program& program, std::size_t bytes)
{
    const auto event = event_of(bytes);
    const auto text = stdout_of(event);
    const auto parameters = [&](const char* way) {
        return std::string("do:") + way + "/bytes:" + std::to_string(bytes);
    };
    const auto measure = [&](const char* variant, const char* way, auto body) {
        program.add(variant, parameters(way), std::move(body))
            ->Repetitions(program.quick() ? 11 : 41)
            ->MinTime(0.005);
    };
    const auto encode = [&](const char* variant, auto how) {
        measure(variant, "encode", [=](benchmark::State& state) {
            if (json::parse(how(event)) != json::parse(encode_by_belay(event)))
                return state.SkipWithError("this is another payload");
            for (auto _ : state) benchmark::DoNotOptimize(how(event));
        });
    };
    const auto decode = [&](const char* variant, auto how) {
        measure(variant, "decode", [=](benchmark::State& state) {
            if (!how(text)) return state.SkipWithError("the answer was refused");
            for (auto _ : state) benchmark::DoNotOptimize(how(text));
        });
    };

    encode("vera", encode_by_belay);
    encode("Boost.JSON", [](const auto& one) { return encode_by_boost(one, {}); });
    encode("Boost.JSON, monotonic", [](const auto& one) {
        json::monotonic_resource memory;
        return encode_by_boost(one, &memory);
    });
    belay::process::exit_report report;
    report.started = true;
    report.status = belay::process::exit_status::exited(0);
    report.out = text;
    decode("vera", [=](const std::string&) { return decode_by_belay(event, report); });
    decode("Boost.JSON", decode_by_boost);
#if BELAY_BENCH_NLOHMANN
    const auto input = nlohmann::json::parse(json::serialize(event.call.input));
    encode("nlohmann", [=](const auto& one) { return encode_by_nlohmann(one, input); });
    decode("nlohmann", decode_by_nlohmann);
#else
    program.missing("nlohmann", parameters("encode"), "nlohmann-json3-dev is not installed");
    program.missing("nlohmann", parameters("decode"), "nlohmann-json3-dev is not installed");
#endif
}

}  // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv);
    for (const std::size_t bytes : {200U, 4096U, 65536U, 262144U}) add(program, bytes);
    return program.run({
        .asks =
            "What do a hook's payload and the reading of its answer cost beside Boost.JSON alone?",
        .limit = "Boost.JSON",
        .peers = {"Boost.JSON, monotonic", "nlohmann"},
        .goals = {{.variant = "vera", .against = "Boost.JSON", .at_most = 1.1}},
    });
}
