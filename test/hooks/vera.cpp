#include <belay/hooks/detail/json.hpp>
#include <belay/hooks/executable.hpp>
#include <belay/hooks/protocol/vera.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

using namespace belay;
using namespace belay::hooks;
namespace json = boost::json;

namespace {

process::exit_report report(std::string out,
                            process::exit_status status = process::exit_status::exited(0))
{
    process::exit_report made;
    made.status = status;
    made.out = std::move(out);
    return made;
}

template <class E>
checked<typename E::answer> answer(std::string out,
                                   process::exit_status status = process::exit_status::exited(0))
{
    const protocol_for<E>& protocol = vera();
    return protocol.answer(E(), E::event_name, report(std::move(out), status));
}

// What was wrong; "" if nothing was.
template <class E>
std::string fault(std::string out)
{
    const auto said = answer<E>(std::move(out));
    return said ? std::string() : said.error().message;
}

template <class Alternative, class E>
Alternative said(std::string out)
{
    auto said = answer<E>(std::move(out));
    BOOST_REQUIRE_MESSAGE(said.has_value(), (said ? "" : said.error().message));
    BOOST_REQUIRE(std::holds_alternative<Alternative>(*said));
    return std::get<Alternative>(*std::move(said));
}

template <class E>
std::string payload(const E& event)
{
    const protocol_for<E>& protocol = vera();
    const auto bytes = protocol.payload(event, E::event_name);
    BOOST_REQUIRE(bytes.has_value());
    return *bytes;
}

pre_tool_use removal()
{
    pre_tool_use event;
    event.call = {.id = "call_1",
                  .name = "bash",
                  .input = json::parse(R"({"command":"rm treasure/chest.yaml"})").as_object()};
    event.session_id = "sess_1";
    event.workspace = "/path/to/the/nest";
    return event;
}

json::value nested(std::size_t depth)
{
    json::value inner;
    while (depth-- > 0) {
        json::array outer;
        outer.push_back(std::move(inner));
        inner = std::move(outer);
    }
    return inner;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(vera_payload)

BOOST_AUTO_TEST_CASE(is_compact_in_the_documents_order_without_a_trailing_newline)
{
    BOOST_TEST(payload(removal()) ==
               R"({"type":"pre_tool_use","toolCall":{"id":"call_1","name":"bash",)"
               R"("input":{"command":"rm treasure/chest.yaml"}},"sessionId":"sess_1",)"
               R"("workspace":"/path/to/the/nest"})");
}

BOOST_AUTO_TEST_CASE(leaves_out_a_session_that_is_not_known)
{
    auto event = removal();
    event.session_id.reset();
    BOOST_TEST(!json::parse(payload(event)).as_object().contains("sessionId"));
}

BOOST_AUTO_TEST_CASE(of_post_tool_use_adds_the_result_and_the_duration)
{
    post_tool_use event;
    event.call = removal().call;
    event.result = text_result("42 passed", true);
    event.duration = std::chrono::microseconds(12500);
    event.session_id = "s-41";
    event.workspace = "/proj";
    BOOST_TEST(json::parse(payload(event)) == json::parse(R"({"type":"post_tool_use",
                   "toolCall":{"id":"call_1","name":"bash",
                               "input":{"command":"rm treasure/chest.yaml"}},
                   "result":{"toolCallId":"call_1","toolName":"bash",
                             "content":[{"type":"text","text":"42 passed"}],"isError":true},
                   "durationMs":12.5,"sessionId":"s-41","workspace":"/proj"})"));
    event.duration = {};
    BOOST_TEST(payload(event).find(R"("durationMs":0,)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(of_session_start_names_the_reason)
{
    session_start event{.session_id = "sess_1", .workspace = "/path/to/the/nest"};
    BOOST_TEST(json::parse(payload(event)) ==
               json::parse(R"({"type":"session_start","sessionId":"sess_1",
                               "workspace":"/path/to/the/nest","reason":"start"})"));
    event.reason = session_start::cause::resume;
    BOOST_TEST(json::parse(payload(event)).at("reason") == "resume");
    event.reason = session_start::cause::compacted;
    BOOST_TEST(json::parse(payload(event)).at("reason") == "compacted");
}

BOOST_AUTO_TEST_CASE(of_pre_turn_has_an_effort_only_when_the_turn_has_one)
{
    pre_turn event{.session_id = "sess_1",
                   .workspace = "/path/to/the/nest",
                   .prompt = "where is the treasure?",
                   .model = "anthropic/claude-sonnet-5-5",
                   .tools = {"read", "bash"}};
    auto expected = json::parse(R"({"type":"pre_turn","sessionId":"sess_1",
        "workspace":"/path/to/the/nest","prompt":"where is the treasure?",
        "model":"anthropic/claude-sonnet-5-5","tools":["read","bash"],
        "arrivedDuringTurn":false,"spawned":false})");
    BOOST_TEST(json::parse(payload(event)) == expected);

    event.reasoning_effort = "high";
    event.arrived_during_turn = event.spawned = true;
    event.tools.clear();
    expected.as_object()["reasoningEffort"] = "high";
    expected.as_object()["arrivedDuringTurn"] = expected.as_object()["spawned"] = true;
    expected.as_object()["tools"] = json::array();
    BOOST_TEST(json::parse(payload(event)) == expected);
}

BOOST_AUTO_TEST_CASE(of_turn_ending_counts_the_continuations)
{
    const turn_ending event{.session_id = "s-41",
                            .workspace = "/proj",
                            .prompt = "fix the parser",
                            .reply = "All fixed.",
                            .continuations = 1};
    BOOST_TEST(json::parse(payload(event)) ==
               json::parse(R"({"type":"turn_ending","sessionId":"s-41","workspace":"/proj",
                   "prompt":"fix the parser","reply":"All fixed.","spawned":false,
                   "continuations":1})"));
}

BOOST_AUTO_TEST_CASE(of_pre_compact_leaves_out_a_capacity_that_is_not_known)
{
    pre_compact event{.session_id = "s-41",
                      .workspace = "/proj",
                      .reason = pre_compact::cause::automatic,
                      .tokens = 90000};
    auto expected = json::parse(R"({"type":"pre_compact","sessionId":"s-41","workspace":"/proj",
        "reason":"automatic","tokens":90000,"spawned":false})");
    BOOST_TEST(json::parse(payload(event)) == expected);
    event.capacity = 200000;
    event.reason = pre_compact::cause::manual;
    expected.as_object()["capacity"] = 200000;
    expected.as_object()["reason"] = "manual";
    BOOST_TEST(json::parse(payload(event)) == expected);
}

BOOST_AUTO_TEST_CASE(of_session_end_names_each_reason)
{
    using cause = session_end::cause;
    for (const auto& [reason, name] : {std::pair(cause::detached, "detached"),
                                       {cause::closed, "closed"},
                                       {cause::idle, "idle"},
                                       {cause::deleted, "deleted"},
                                       {cause::shutdown, "shutdown"}}) {
        const session_end event{.session_id = "s-41",
                                .workspace = "/proj",
                                .reason = reason,
                                .turns = 3,
                                .spawned = true};
        auto expected = json::parse(R"({"type":"session_end","sessionId":"s-41",
            "workspace":"/proj","turns":3,"spawned":true})");
        expected.as_object()["reason"] = name;
        BOOST_TEST(json::parse(payload(event)) == expected);
    }
}

BOOST_AUTO_TEST_CASE(of_subagent_finished_names_both_sessions)
{
    subagent_finished event{.parent_session_id = "s-41",
                            .subagent_id = "s-77",
                            .workspace = "/proj",
                            .background = true,
                            .outcome = subagent_finished::result::error,
                            .text = "no luck"};
    auto expected = json::parse(R"({"type":"subagent_finished","parentSessionId":"s-41",
        "subagentId":"s-77","workspace":"/proj","background":true,"outcome":"error",
        "text":"no luck"})");
    BOOST_TEST(json::parse(payload(event)) == expected);
    event.outcome = subagent_finished::result::completed;
    expected.as_object()["outcome"] = "completed";
    BOOST_TEST(json::parse(payload(event)) == expected);
}

// Bug log B11.
BOOST_AUTO_TEST_CASE(of_any_text_is_json_that_reads_back_as_the_same_text)
{
    std::mt19937 random(20230711);  // NOLINT: the same sequence each time
    const auto any = [&](char32_t last) {
        return static_cast<char32_t>(std::uniform_int_distribution<unsigned>(0, last)(random));
    };
    for (int round = 0; round != 2000; ++round) {
        std::string text;
        for (auto length = any(40); length != 0; --length) {
            auto point = any(3) == 0 ? any(0x9F) : any(1) == 0 ? any(0xFFFF) : any(0x10FFFF);
            if (point >= 0xD800 && point <= 0xDFFF) point = '"';
            const auto byte = [](char32_t value) { return static_cast<char>(value); };
            if (point < 0x80) {
                text += byte(point);
            } else if (point < 0x800) {
                text += {byte(0xC0 | (point >> 6)), byte(0x80 | (point & 0x3F))};
            } else if (point < 0x10000) {
                text += {byte(0xE0 | (point >> 12)), byte(0x80 | ((point >> 6) & 0x3F)),
                         byte(0x80 | (point & 0x3F))};
            } else {
                text += {byte(0xF0 | (point >> 18)), byte(0x80 | ((point >> 12) & 0x3F)),
                         byte(0x80 | ((point >> 6) & 0x3F)), byte(0x80 | (point & 0x3F))};
            }
        }
        auto event = removal();
        event.workspace = text;
        event.call.input[text] = text;
        const auto bytes = payload(event);
        boost::system::error_code ec;
        const auto read = json::parse(bytes, ec);
        BOOST_REQUIRE_MESSAGE(!ec, "not JSON: " << bytes);
        BOOST_REQUIRE(read.at("workspace") == json::value(text));
        BOOST_REQUIRE(read.at("toolCall").at("input") == event.call.input);
        BOOST_REQUIRE(bytes.find('\n') == std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(of_bytes_that_are_no_text_is_json_all_the_same)
{
    auto event = removal();
    event.workspace = "a\xFFz";
    event.call.input["\xC3"] = "\xED\xA0\x80";
    const auto read = json::parse(payload(event));
    BOOST_TEST(read.at("workspace") == "a\xEF\xBF\xBDz");
    BOOST_TEST(read.at("toolCall").at("input").as_object().contains("\xEF\xBF\xBD"));
}

BOOST_AUTO_TEST_CASE(writes_numbers_as_json_has_them)
{
    auto event = removal();
    event.call.input = {{"whole", 3.0},
                        {"half", 0.5},
                        {"fine", 0.30000000000000004},
                        {"large", 1e300},
                        {"least", std::numeric_limits<std::int64_t>::min()},
                        {"most", std::numeric_limits<std::uint64_t>::max()},
                        {"none", std::nan("")},
                        {"infinite", -INFINITY}};
    const auto bytes = payload(event);
    BOOST_TEST(bytes.find(R"({"whole":3,"half":0.5,"fine":0.30000000000000004,"large":1e+300,)"
                          R"("least":-9223372036854775808,"most":18446744073709551615,)"
                          R"("none":null,"infinite":null})") != std::string::npos,
               bytes);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(vera_answer)

BOOST_AUTO_TEST_CASE(any_exit_status_but_0_is_a_failure_also_with_a_valid_answer)
{
    for (const int code : {1, 2, 255}) {
        const auto said = answer<pre_tool_use>(R"({"power":"block","reason":"no"})",
                                               process::exit_status::exited(code));
        BOOST_REQUIRE(!said);
        BOOST_TEST((said.error().code == errc::exited));
        BOOST_TEST(said.error().message ==
                   "Command hook exited with status " + std::to_string(code));
    }
}

BOOST_AUTO_TEST_CASE(an_end_by_a_signal_is_a_failure_with_an_unknown_status)
{
    const auto said =
        answer<pre_tool_use>(R"({"power":"observe"})", process::exit_status::signalled(9));
    BOOST_REQUIRE(!said);
    BOOST_TEST((said.error().code == errc::signalled));
    BOOST_TEST(said.error().message == "Command hook exited with status unknown");
}

BOOST_AUTO_TEST_CASE(stderr_is_not_looked_at)
{
    auto ended = report(R"({"power":"observe"})");
    ended.err = "\xFF{\"power\":\"block\"}";
    const protocol_for<pre_tool_use>& protocol = vera();
    BOOST_TEST(protocol.answer(removal(), "pre_tool_use", ended).has_value());
}

// Bug log B13: what is fixed for each raw result.
BOOST_AUTO_TEST_CASE(stdout_must_be_one_json_object)
{
    for (const auto* out :
         {"", " ", "\n", "\t \r\n\n", "oops", "{", "{\"power\":\"observe\"",
          "{\"power\":\"observe\"}\n{\"power\":\"observe\"}", "{\"power\":\"observe\"} done",
          "log\n{\"power\":\"observe\"}", "{'power':'observe'}", "{\"power\":\"observe\",}",
          "{\"power\":\"obs\nerve\"}", "// no\n{\"power\":\"observe\"}"}) {
        const auto said = answer<pre_tool_use>(out);
        BOOST_REQUIRE_MESSAGE(!said, out);
        BOOST_TEST((said.error().code == errc::not_json), out);
        BOOST_TEST(said.error().message == "Command hook returned invalid JSON", out);
    }
    for (const auto* out : {"[]", "null", "\"\"", "0", "true", "[{\"power\":\"observe\"}]"}) {
        const auto said = answer<pre_tool_use>(out);
        BOOST_REQUIRE_MESSAGE(!said, out);
        BOOST_TEST((said.error().code == errc::invalid_answer), out);
        BOOST_TEST(said.error().message == "pre_tool_use result must be a plain object", out);
    }
    BOOST_TEST(fault<pre_tool_use>("{}") == "pre_tool_use result power must be a string");
}

// Bug log B14.
BOOST_AUTO_TEST_CASE(blanks_and_a_byte_order_mark_around_the_answer_are_harmless)
{
    for (const std::string blank :
         {" ", "\t", "\n", "\r\n", "\v", "\f", "\xC2\xA0", "\xE1\x9A\x80", "\xE2\x80\x80",
          "\xE2\x80\x8A", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F",
          "\xE3\x80\x80", "\xEF\xBB\xBF"}) {
        BOOST_TEST(fault<pre_tool_use>(blank + R"({"power":"observe"})") == "");
        BOOST_TEST(fault<pre_tool_use>(R"({"power":"observe"})" + blank + '\n') == "");
        BOOST_TEST(fault<pre_tool_use>(blank) == "Command hook returned invalid JSON");
    }
    // Not white space in JavaScript: NEL, and the zero-width space.
    for (const std::string other : {"\xC2\x85", "\xE2\x80\x8B"}) {
        BOOST_TEST(fault<pre_tool_use>(other + R"({"power":"observe"})") ==
                   "Command hook returned invalid JSON");
    }
}

BOOST_AUTO_TEST_CASE(stdout_that_is_not_utf8_is_a_failure_of_its_own_kind)
{
    const auto said = answer<pre_tool_use>("{\"power\":\"observe\",\"note\":\"\xFF\"}");
    BOOST_REQUIRE(!said);
    BOOST_TEST((said.error().code == errc::not_utf8));
    BOOST_TEST(said.error().message == "Command hook output is not valid UTF-8 at byte 27");
}

BOOST_AUTO_TEST_CASE(power_is_matched_exactly)
{
    BOOST_TEST(fault<pre_tool_use>(R"({"power":null})") ==
               "pre_tool_use result power must be a string");
    BOOST_TEST(fault<pre_tool_use>(R"({"power":["block"]})") ==
               "pre_tool_use result power must be a string");
    for (const std::string power : {"Observe", "observe ", "", "allow"}) {
        BOOST_TEST(fault<pre_tool_use>(R"({"power":")" + power + R"("})") ==
                   "pre_tool_use returned unsupported power: " + power);
    }
}

BOOST_AUTO_TEST_CASE(each_phase_has_its_own_powers)
{
    struct {
        std::string (*fault)(std::string);
        std::vector<std::string> powers;
    } const phases[] = {
        {fault<pre_tool_use>, {"observe", "mutate", "block", "replace"}},
        {fault<post_tool_use>, {"observe", "mutate"}},
        {fault<session_start>, {"observe", "mutate"}},
        {fault<pre_turn>, {"observe", "mutate", "block"}},
        {fault<turn_ending>, {"observe", "continue"}},
    };
    // What any power needs, in any phase.
    const std::string rest =
        R"(,"input":{},"reason":"r","result":{"content":[],"isError":false},"patch":{},)"
        R"("context":"c"})";
    for (const auto& phase : phases) {
        for (const std::string power : {"observe", "mutate", "block", "replace", "continue"}) {
            const bool known = std::ranges::find(phase.powers, power) != phase.powers.end();
            const auto why = phase.fault(R"({"power":")" + power + '"' + rest);
            BOOST_TEST(why.empty() == known, power << ": " << why);
            if (!known) {
                BOOST_TEST(why.ends_with(" returned unsupported power: " + power), why);
            }
        }
    }
}

// Bug log C6.
BOOST_AUTO_TEST_CASE(unknown_keys_are_ignored_and_void_nothing)
{
    const auto refusal =
        said<block, pre_tool_use>(R"({"power":"block","reason":"no","x":1,"input":null})");
    BOOST_TEST(refusal.reason == "no");
    const auto patch = said<post_tool_use::mutate, post_tool_use>(
        R"({"power":"mutate","patch":{"toolName":"evil","isError":false}})");
    BOOST_TEST(!patch.content.has_value());
    BOOST_TEST((patch.is_error == false));
    said<observe, pre_tool_use>(R"({"power":"observe","reason":3,"display":null})");
    const auto context = said<session_start::mutate, session_start>(
        R"({"power":"mutate","context":"x","display":"a\nb"})");
    BOOST_TEST(context.context == "x");
}

BOOST_AUTO_TEST_CASE(a_value_of_another_type_and_null_are_refused_by_name)
{
    struct {
        std::string (*fault)(std::string);
        std::string before;
        std::string after;
        std::string rule;
        std::string right;
    } const members[] = {
        {fault<pre_tool_use>, R"("mutate","input":)", "", "mutate input must be a plain object",
         "{}"},
        {fault<pre_tool_use>, R"("block","reason":)", "", "block reason must be a non-empty string",
         "\"r\""},
        {fault<pre_tool_use>, R"("replace","result":)", "", "replacement must be a plain object",
         R"({"content":[],"isError":true})"},
        {fault<pre_tool_use>, R"("replace","result":{"isError":true,"content":)", "}",
         "replacement content must be an array", "[]"},
        {fault<pre_tool_use>, R"("replace","result":{"content":[],"isError":)", "}",
         "replacement isError must be a boolean", "true"},
        {fault<post_tool_use>, R"("mutate","patch":)", "", "mutate patch must be a plain object",
         "{}"},
        {fault<post_tool_use>, R"("mutate","patch":{"content":)", "}",
         "mutate patch content must be an array", "[]"},
        {fault<post_tool_use>, R"("mutate","patch":{"isError":)", "}",
         "mutate patch isError must be a boolean", "false"},
        {fault<session_start>, R"("mutate","context":)", "", "mutate context must be a string",
         "\"\""},
        {fault<pre_turn>, R"("block","reason":)", "", "block reason must be a non-empty string",
         "\"r\""},
        {fault<pre_turn>, R"("mutate","context":)", "", "context must be a string", "\"c\""},
        {fault<pre_turn>, R"("mutate","tools":)", "",
         "mutate tools must be an array of non-empty strings", R"(["read"])"},
        {fault<pre_turn>, R"("mutate","model":)", "", "mutate model must be a non-empty string",
         "\"m\""},
        {fault<pre_turn>, R"("mutate","reasoningEffort":)", "",
         "mutate reasoningEffort must be a non-empty string", "\"high\""},
        {fault<pre_turn>, R"("mutate","display":)", "",
         "display must be one line of at most 200 characters", "\"d\""},
        {fault<turn_ending>, R"("continue","context":)", "", "context must be a string", "\"c\""},
        {fault<turn_ending>, R"("continue","context":"c","display":)", "",
         "display must be one line of at most 200 characters", "\"d\""},
    };
    const auto same_kind = [](const std::string& a, const std::string& b) {
        const auto kind = [](char first) { return first == 't' || first == 'f' ? 'b' : first; };
        return kind(a[0]) == kind(b[0]);
    };
    for (const auto& member : members) {
        const auto with = [&](const std::string& value) {
            return member.fault(R"({"power":)" + member.before + value + member.after + '}');
        };
        const auto fits = with(member.right);
        BOOST_TEST(fits == "", member.before << ": " << fits);
        for (const std::string value : {"null", "1", "true", "\"text\"", "[1]", "{\"a\":1}"}) {
            if (same_kind(value, member.right)) continue;
            const auto why = with(value);
            BOOST_TEST(why.ends_with(' ' + member.rule), member.before << value << ": " << why);
        }
    }
    BOOST_TEST(fault<pre_turn>(R"({"power":"mutate","tools":["read",null]})") ==
               "pre_turn mutate tools must be an array of non-empty strings");
}

BOOST_AUTO_TEST_CASE(what_a_power_needs_may_not_be_missing)
{
    BOOST_TEST(fault<pre_tool_use>(R"({"power":"mutate"})") ==
               "pre_tool_use mutate input must be a plain object");
    BOOST_TEST(fault<pre_tool_use>(R"({"power":"block"})") ==
               "pre_tool_use block reason must be a non-empty string");
    BOOST_TEST(fault<pre_tool_use>(R"({"power":"replace"})") ==
               "pre_tool_use replacement must be a plain object");
    BOOST_TEST(fault<pre_tool_use>(R"({"power":"replace","result":{"isError":true}})") ==
               "pre_tool_use replacement content must be an array");
    BOOST_TEST(fault<pre_tool_use>(R"({"power":"replace","result":{"content":[]}})") ==
               "pre_tool_use replacement isError must be a boolean");
    BOOST_TEST(fault<post_tool_use>(R"({"power":"mutate"})") ==
               "post_tool_use mutate patch must be a plain object");
    BOOST_TEST(fault<session_start>(R"({"power":"mutate"})") ==
               "session_start mutate context must be a string");
    BOOST_TEST(fault<pre_turn>(R"({"power":"block"})") ==
               "pre_turn block reason must be a non-empty string");
    BOOST_TEST(fault<turn_ending>(R"({"power":"continue"})") ==
               "turn_ending context must be a string");
}

BOOST_AUTO_TEST_CASE(what_is_said_arrives_whole)
{
    const auto input = said<pre_tool_use::mutate, pre_tool_use>(
        R"({"power":"mutate","input":{"command":"ls","n":[1,2.5,null,{"a":"\u00e9\u0000"}]}})");
    BOOST_TEST(json::value(input.input) ==
               json::parse(R"({"command":"ls","n":[1,2.5,null,{"a":"\u00e9\u0000"}]})"));
    const auto replacement = said<pre_tool_use::replace, pre_tool_use>(
        R"({"power":"replace","result":{"content":[{"type":"text","text":"t"}],"isError":true}})");
    BOOST_TEST(text_of(replacement.result.content) == "t");
    BOOST_TEST(replacement.result.is_error);
    const auto patch = said<post_tool_use::mutate, post_tool_use>(
        R"({"power":"mutate","patch":{"content":[],"isError":true}})");
    BOOST_TEST((patch.content.has_value() && patch.content->empty()));
    BOOST_TEST((patch.is_error == true));
    const auto turn = said<pre_turn::mutate, pre_turn>(
        R"({"power":"mutate","context":"c","tools":["a","b"],"model":"m",)"
        R"("reasoningEffort":"low","display":"d"})");
    BOOST_TEST((turn.context == "c" && turn.model == "m" && turn.reasoning_effort == "low" &&
                turn.display == "d"));
    BOOST_TEST((turn.tools == std::vector<std::string>{"a", "b"}));
    const auto again = said<turn_ending::continue_turn, turn_ending>(
        R"({"power":"continue","context":"again","display":"d"})");
    BOOST_TEST(again.context == "again");
    BOOST_TEST((again.display == "d"));
}

BOOST_AUTO_TEST_CASE(of_pre_turn_needs_no_field_to_mutate)
{
    const auto turn = said<pre_turn::mutate, pre_turn>(R"({"power":"mutate"})");
    BOOST_TEST(
        (!turn.context && !turn.tools && !turn.model && !turn.reasoning_effort && !turn.display));
}

BOOST_AUTO_TEST_CASE(a_number_that_is_not_finite_is_refused_wherever_it_stands)
{
    BOOST_TEST(fault<pre_tool_use>(R"({"power":"mutate","input":{"n":1e999}})") ==
               "Hook data at $.input.n must contain a finite number");
    BOOST_TEST(fault<pre_tool_use>(R"({"power":"observe","a":{"b":[1,{"c":-1e999}]}})") ==
               "Hook data at $.a.b[1].c must contain a finite number");
    BOOST_TEST(fault<pre_turn>(R"({"power":"mutate","n":)" + std::string(400, '9') + '}') ==
               "Hook data at $.n must contain a finite number");
}

BOOST_AUTO_TEST_CASE(large_numbers_are_numbers)
{
    const auto input = said<pre_tool_use::mutate, pre_tool_use>(
        R"({"power":"mutate","input":{"a":9007199254740993,"b":18446744073709551615,)"
        R"("c":123456789012345678901234567890,"d":1e308}})");
    BOOST_TEST(input.input.at("a") == 9007199254740993);
    BOOST_TEST(input.input.at("b") == std::numeric_limits<std::uint64_t>::max());
}

// Not resolved by order: departure 17.
BOOST_AUTO_TEST_CASE(a_key_that_the_power_uses_may_not_be_given_twice)
{
    struct {
        std::string (*fault)(std::string);
        std::string out;
        std::string where;
    } const answers[] = {
        {fault<pre_tool_use>, R"({"power":"block","reason":"no","power":"observe"})", "$.power"},
        {fault<pre_tool_use>, R"({"power":"observe","power":"observe"})", "$.power"},
        {fault<pre_tool_use>, R"({"power":"block","reason":"no","p\u006fwer":"observe"})",
         "$.power"},
        {fault<pre_tool_use>, R"({"power":"block","reason":"a","reason":"b"})", "$.reason"},
        {fault<pre_tool_use>, R"({"power":"mutate","input":{"a":1},"input":{"b":1}})", "$.input"},
        {fault<pre_tool_use>, R"({"power":"mutate","input":{"a":[{}, {"b":1,"b":2}]}})",
         "$.input.a[1].b"},
        {fault<pre_tool_use>,
         R"({"power":"replace","result":{"content":[],"isError":true,"isError":false}})",
         "$.result.isError"},
        {fault<post_tool_use>, R"({"power":"mutate","patch":{},"patch":{"isError":true}})",
         "$.patch"},
        {fault<post_tool_use>,
         R"({"power":"mutate","patch":{"content":[{"type":"text","text":"a","text":"b"}]}})",
         "$.patch.content[0].text"},
        {fault<session_start>, R"({"power":"mutate","context":"a","context":"b"})", "$.context"},
        {fault<pre_turn>, R"({"power":"mutate","tools":["a"],"tools":[]})", "$.tools"},
        {fault<turn_ending>, R"({"power":"continue","context":"a","display":"","display":"b"})",
         "$.display"},
    };
    for (const auto& one : answers) {
        BOOST_TEST(one.fault(one.out) == "Hook data at " + one.where + " must not be given twice");
    }
}

BOOST_AUTO_TEST_CASE(a_key_that_the_power_does_not_use_may_be_given_twice)
{
    for (const auto* out :
         {R"({"power":"observe","reason":"a","reason":"b"})", R"({"x":1,"power":"observe","x":2})",
          R"({"power":"block","reason":"power","note":{"power":1,"power":2}})",
          R"({"power":"block","reason":"a\",\"reason\":\"b","x":{"reason":1},"y":{"reason":2}})"}) {
        BOOST_TEST(fault<pre_tool_use>(out) == "");
    }
    BOOST_TEST(fault<post_tool_use>(R"({"power":"mutate","patch":{"toolName":1,"toolName":2}})") ==
               "");
}

BOOST_AUTO_TEST_CASE(values_may_nest_128_deep_and_no_deeper)
{
    const auto with = [](std::size_t depth) {
        return R"({"power":"observe","deep":)" + json::serialize(nested(depth)) + '}';
    };
    BOOST_TEST(fault<pre_tool_use>(with(127)) == "");
    BOOST_TEST(fault<pre_tool_use>(with(128)) == "Command hook returned invalid JSON");
    BOOST_TEST(fault<pre_tool_use>(R"({"power":"observe","deep":)" + std::string(60000, '[')) ==
               "Command hook returned invalid JSON");
}

BOOST_AUTO_TEST_CASE(half_of_a_surrogate_pair_is_no_text)
{
    BOOST_TEST(fault<session_start>(R"({"power":"mutate","context":"\ud83c\udff4"})") == "");
    BOOST_TEST(fault<session_start>(R"({"power":"mutate","context":"\ud83c"})") ==
               "Command hook returned invalid JSON");
}

// Bug log H20.
BOOST_AUTO_TEST_CASE(a_payload_that_is_echoed_is_no_answer)
{
    auto event = removal();
    event.call.input["command"] = R"({"power":"block","reason":"planted"})";
    event.call.input["power"] = "replace";
    BOOST_TEST(fault<pre_tool_use>(payload(event)) == "pre_tool_use result power must be a string");
}

BOOST_AUTO_TEST_CASE(in_a_phase_that_only_observes_stdout_is_not_looked_at)
{
    for (const std::string out : {"", "oops", "{}", "\xFF", R"({"power":"block"})"}) {
        BOOST_TEST(fault<pre_compact>(out) == "");
        BOOST_TEST(fault<session_end>(out) == "");
        BOOST_TEST(fault<subagent_finished>(out) == "");
    }
    const auto said = answer<session_end>("", process::exit_status::exited(3));
    BOOST_REQUIRE(!said);
    BOOST_TEST(said.error().message == "Command hook exited with status 3");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(vera_phases)

BOOST_AUTO_TEST_CASE(are_the_eight_of_an_executable_by_their_exact_names)
{
    for (std::size_t i = 0; i != phase_count; ++i) {
        const auto which = static_cast<phase>(i);
        const auto found = vera().resolve(name_of(which));
        BOOST_REQUIRE(found.has_value());
        BOOST_TEST((*found == which));
    }
    for (const auto* name :
         {"turn_finished", "on_start", "pretooluse", "Pre_Tool_Use", "PostToolUse", "Notification",
          "", " pre_turn", "PreToolUse", "Stop"}) {
        BOOST_TEST(!vera().resolve(name).has_value(), name);
    }
}

BOOST_AUTO_TEST_SUITE_END()
