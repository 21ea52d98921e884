#include <belay/hooks/config.hpp>
#include <belay/hooks/protocol/claude.hpp>
#include <belay/hooks/protocol/vera.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace belay;
using namespace belay::hooks;
using namespace std::chrono_literals;
namespace json = boost::json;

namespace {

const std::filesystem::path home = "/home/crow/.vera";

checked<config> parse(std::string_view text)
{
    return config::parse(text, home);
}

// A document with these entries.
std::string hooks_of(std::string_view entries)
{
    return R"({"hooks":[)" + std::string(entries) + "]}";
}

// A document with one entry that has this beside a phase and an argv.
std::string with(std::string_view fields)
{
    return hooks_of(R"({"phase":"pre_tool_use","argv":["guard"])" + std::string(fields) + '}');
}

std::string with_program(std::string_view program)
{
    return hooks_of(R"({"phase":"pre_tool_use","argv":[")" + std::string(program) + R"(","a"]})");
}

// Why a document is refused; "" if it is not.
std::string fault(std::string_view text)
{
    const auto made = parse(text);
    if (!made) BOOST_TEST((made.error().code == errc::invalid_config));
    return made ? std::string() : made.error().message;
}

std::vector<executable> executables(std::string_view text)
{
    const auto made = parse(text);
    BOOST_REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error().message));
    auto hooks = made->executables();
    BOOST_REQUIRE_MESSAGE(hooks.has_value(), (hooks ? "" : hooks.error().message));
    return *std::move(hooks);
}

// Why no session can start with it.
std::string limit_fault(std::string_view text)
{
    const auto made = parse(text);
    BOOST_REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error().message));
    const auto hooks = made->executables();
    return hooks ? std::string() : hooks.error().message;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(config_document)

BOOST_AUTO_TEST_CASE(the_documents_example_loads)
{
    const auto hooks = executables(R"({
      "hooks": [{
        "phase": "pre_tool_use",
        "argv": ["lookout"],
        "timeout_ms": 1000
      }]
    })");
    BOOST_REQUIRE(hooks.size() == 1U);
    BOOST_TEST((hooks[0].when == phase::pre_tool_use));
    BOOST_TEST(hooks[0].speaks->name() == "vera");
    BOOST_TEST(hooks[0].configured == "pre_tool_use");
    BOOST_TEST((hooks[0].argv == std::vector<std::string>{"/home/crow/.vera/hooks/lookout"}));
    BOOST_TEST((hooks[0].timeout == 1000ms));
    BOOST_TEST(hooks[0].name == "lookout");
}

BOOST_AUTO_TEST_CASE(without_hooks_nothing_runs)
{
    BOOST_TEST(executables("{}").empty());
    BOOST_TEST(executables(R"({"hooks":[]})").empty());
    BOOST_TEST(executables("\xEF\xBB\xBF{\"model\":\"m\"}").empty());
    BOOST_TEST(config().executables()->empty());
    BOOST_TEST(config().size() == 0U);
}

BOOST_AUTO_TEST_CASE(hooks_that_is_no_list_is_refused)
{
    BOOST_TEST(fault(R"({"hooks":null})") == "config.json: hooks must be an array, not null");
    BOOST_TEST(fault(R"({"hooks":{}})") == "config.json: hooks must be an array, not {}");
    BOOST_TEST(fault(R"({"hooks":"x"})") == "config.json: hooks must be an array, not \"x\"");
    BOOST_TEST(fault(R"({"hooks":1})") == "config.json: hooks must be an array, not 1");
    BOOST_TEST(fault("[]") == "config.json: the document must be an object, not an array");
}

BOOST_AUTO_TEST_CASE(one_bad_entry_refuses_the_whole_document)
{
    const std::string good = R"({"phase":"pre_turn","argv":["a"]},)";
    BOOST_TEST(fault(hooks_of(good + good + "null")) ==
               "config.json: hooks[2] must be an object, not null");
    BOOST_TEST(fault(hooks_of(good + "[]")) == "config.json: hooks[1] must be an object, not []");
    BOOST_TEST(fault(hooks_of(good + R"({"phase":"pre_turn","argv":["b"],"timeout_ms":"1000"})")) ==
               "config.json: hooks[1].timeout_ms must be a positive whole number, not \"1000\"");
}

BOOST_AUTO_TEST_CASE(keys_that_are_not_known_are_ignored)
{
    BOOST_TEST(fault(with(R"(,"comment":"mine","matcher":null)")) == "");
    BOOST_TEST(fault(R"({"model":1,"extensions":[{"path":"/x"}]})") == "");
}

BOOST_AUTO_TEST_CASE(a_protocol_must_be_one_that_is_known)
{
    BOOST_TEST(fault(with(R"(,"protocol":"vera")")) == "");
    BOOST_TEST(fault(with(R"(,"protocol":"shell")")) ==
               "config.json: hooks[0].protocol \"shell\": Command hook protocol must be vera or "
               "claude");
    BOOST_TEST(fault(with(R"(,"protocol":"Vera")")).find("must be vera or claude") !=
               std::string::npos);
    BOOST_TEST(fault(with(R"(,"protocol":null)")) ==
               "config.json: hooks[0].protocol must be a string, not null");
}

BOOST_AUTO_TEST_CASE(a_protocol_must_be_one_of_this_host)
{
    const auto with_only = [](protocols known) {
        const auto made = config::parse(with(R"(,"protocol":"claude")"), home, "c.json", known);
        BOOST_REQUIRE(!made);
        return made.error().message;
    };
    static const protocol* const one[] = {&vera()};
    BOOST_TEST(with_only(one) ==
               "c.json: hooks[0].protocol \"claude\": Command hook protocol must be vera");
    BOOST_TEST(with_only({}) ==
               "c.json: hooks[0].protocol \"claude\": This host has no hook protocol");
}

BOOST_AUTO_TEST_CASE(a_phase_must_be_one_that_an_executable_can_have)
{
    for (std::size_t i = 0; i != phase_count; ++i) {
        const std::string name(name_of(static_cast<phase>(i)));
        const auto hooks = executables(hooks_of(R"({"argv":["a"],"phase":")" + name + R"("})"));
        BOOST_REQUIRE(hooks.size() == 1U);
        BOOST_TEST(static_cast<std::size_t>(hooks[0].when) == i);
    }
    const auto of = [](const std::string& name) {
        return fault(hooks_of(R"({"argv":["a"],"phase":)" + name + '}'));
    };
    BOOST_TEST(of("\"on_start\"") ==
               "config.json: hooks[0].phase: Unknown command hook phase: on_start");
    BOOST_TEST(
        of("\"turn_finished\"")
            .starts_with("config.json: hooks[0].phase: Unknown command hook phase: turn_finished"));
    BOOST_TEST(of("\"Stop\"") ==
               "config.json: hooks[0].phase: Command hook phase Stop needs the claude protocol");
    BOOST_TEST(of("\"post_tool_use\",\"protocol\":\"claude\"") ==
               "config.json: hooks[0].phase: This command hook protocol does not support "
               "post_tool_use");
    BOOST_TEST(of("null") == "config.json: hooks[0].phase must be a string, not null");
    BOOST_TEST(fault(hooks_of(R"({"argv":["a"]})")) == "config.json: hooks[0].phase is missing");
}

BOOST_AUTO_TEST_CASE(a_misspelt_phase_gets_the_name_that_was_meant)
{
    const auto of = [](const std::string& name, const std::string& more) {
        const auto why = fault(hooks_of(R"({"argv":["a"],"phase":")" + name + '"' + more + '}'));
        const auto hint = why.find("(did you mean ");
        return hint == std::string::npos ? "" : why.substr(hint);
    };
    const std::pair<std::string, std::string> misspelt[] = {
        {"pretooluse", "pre_tool_use"},
        {"pre-tool-use", "pre_tool_use"},
        {"PostToolUse", "post_tool_use"},
        {"preTurn", "pre_turn"},
        {"Pre_Turn", "pre_turn"},
        {"turn_end", ""},
        {"turn_endings", "turn_ending"},
        {"session start", "session_start"},
        {"Notification", ""},
        {"turn_finished", ""},
        {"subagent_finish", "subagent_finished"}};
    for (const auto& [name, meant] : misspelt) {
        BOOST_TEST(of(name, "") == (meant.empty() ? "" : "(did you mean " + meant + "?)"), name);
    }
    const std::pair<std::string, std::string> claudes[] = {
        {"Pretooluse", "PreToolUse"},
        {"userPromptSubmit", "UserPromptSubmit"},
        {"user_prompt_submit", "UserPromptSubmit"},
        {"SubagentStopp", "SubagentStop"},
        {"pre-turn", "pre_turn"},
        {"pre_tool_us", "pre_tool_use"},
        {"Notification", ""},
        {"PostToolUse", ""}};
    for (const auto& [name, meant] : claudes) {
        BOOST_TEST(of(name, R"(,"protocol":"claude")") ==
                       (meant.empty() ? "" : "(did you mean " + meant + "?)"),
                   name);
    }
}

BOOST_AUTO_TEST_CASE(an_argv_must_be_a_list_of_texts_that_are_not_empty)
{
    const auto of = [](const std::string& argv) {
        return fault(hooks_of(R"({"phase":"pre_turn","argv":)" + argv + '}'));
    };
    BOOST_TEST(fault(hooks_of(R"({"phase":"pre_turn"})")) ==
               "config.json: hooks[0].argv is missing");
    for (const std::string argv : {"[]", "null", "\"guard\"", "{}", "1"}) {
        BOOST_TEST(of(argv) ==
                   "config.json: hooks[0].argv must be a non-empty array of strings, not " + argv);
    }
    BOOST_TEST(of(R"(["a",""])") ==
               "config.json: hooks[0].argv[1] must be a non-empty string, not \"\"");
    BOOST_TEST(of(R"(["a","b",3])") ==
               "config.json: hooks[0].argv[2] must be a non-empty string, not 3");
    BOOST_TEST(of(R"([""])") ==
               "config.json: hooks[0].argv[0] must be a non-empty string, not \"\"");
}

BOOST_AUTO_TEST_CASE(a_timeout_is_any_positive_whole_number)
{
    const auto of = [](const std::string& value) { return with(R"(,"timeout_ms":)" + value); };
    for (const std::string value : {"1", "30000", "1000.0", "1e3"}) {
        BOOST_TEST(limit_fault(of(value)) == "");
    }
    BOOST_TEST((executables(of("1.5e3"))[0].timeout == 1500ms));
    BOOST_TEST((executables(with(""))[0].timeout == 1000ms));
    for (const std::string value :
         {"0", "-5", "1.5", "\"1000\"", "null", "true", "[]", "1e-3", "-0", "0.0"}) {
        const auto shown = value == "1e-3"                   ? "0.001"
                           : value == "-0" || value == "0.0" ? "0"
                                                             : value;
        BOOST_TEST(fault(of(value)) ==
                   "config.json: hooks[0].timeout_ms must be a positive whole number, not " +
                       std::string(shown));
    }
    BOOST_TEST(fault(of("1e999")).find("timeout_ms must be a positive whole number") !=
               std::string::npos);
    // Any of them loads; whether a hook may have it is judged when a session starts.
    for (const std::string value :
         {"30001", "9007199254740992", "9223372036854775807", "18446744073709551615", "1e300"}) {
        BOOST_TEST(fault(of(value)) == "");
        BOOST_TEST(limit_fault(of(value)).starts_with(
                       "config.json: hooks[0].timeout_ms: "
                       "Command hook timeout must be between 1 and 30000ms, not "),
                   value);
    }
}

BOOST_AUTO_TEST_CASE(a_mode_is_worker_or_absent)
{
    BOOST_TEST((executables(with(""))[0].mode == run_mode::once));
    BOOST_TEST((executables(with(R"(,"mode":"worker")"))[0].mode == run_mode::worker));
    for (const std::string value : {"\"run\"", "\"Worker\"", "\"\"", "null", "true", "1", "[]"}) {
        BOOST_TEST(fault(with(R"(,"mode":)" + value)) ==
                   "config.json: hooks[0].mode must be \"worker\", or absent, not " + value);
    }
}

BOOST_AUTO_TEST_CASE(a_worker_is_given_1_to_64_events_at_a_time)
{
    const auto of = [](const std::string& value) {
        return with(R"(,"in_flight":)" + value + R"(,"mode":"worker")");
    };
    BOOST_TEST(executables(with(R"(,"mode":"worker")"))[0].in_flight == 1u);
    BOOST_TEST(executables(of("1"))[0].in_flight == 1u);
    BOOST_TEST(executables(of("64"))[0].in_flight == 64u);
    BOOST_TEST(executables(of("8.0"))[0].in_flight == 8u);
    for (const std::string value : {"0", "65", "-1", "1.5", "\"4\"", "null", "[]",
                                    "9223372036854775807", "18446744073709551615"}) {
        BOOST_TEST(fault(of(value)) ==
                   "config.json: hooks[0].in_flight must be a whole number from 1 to 64, not " +
                       value);
    }
    BOOST_TEST(fault(with(R"(,"in_flight":1)")) ==
               "config.json: hooks[0].in_flight 1 is only for an entry whose mode is \"worker\"");
}

BOOST_AUTO_TEST_CASE(tools_are_names_each_once_in_a_phase_about_a_tool)
{
    const auto of = [](const std::string& value) { return with(R"(,"tools":)" + value); };
    const std::vector<std::string> two{"bash", "edit"};
    BOOST_TEST(executables(of(R"(["bash","edit"])"))[0].tools == two);
    BOOST_TEST(executables(with(""))[0].tools.empty());
    for (const std::string value : {"[]", "\"bash\"", "null", "{}", "1"}) {
        BOOST_TEST(fault(of(value)) ==
                   "config.json: hooks[0].tools must be a non-empty array of names of tools, not " +
                       value);
    }
    for (const std::string value : {"\"\"", "5", "null", "[\"bash\"]"}) {
        BOOST_TEST(fault(of("[\"bash\"," + value + "]")) ==
                   "config.json: hooks[0].tools[1] must be a non-empty string, not " + value);
    }
    BOOST_TEST(fault(of(R"(["bash","edit","bash"])")) ==
               "config.json: hooks[0].tools[2] is given twice: \"bash\"");
    BOOST_TEST(fault(hooks_of(R"({"phase":"session_start","argv":["a"],"tools":["bash"]})")) ==
               "config.json: hooks[0].tools [\"bash\"] means nothing in the phase session_start");
    BOOST_TEST(fault(hooks_of(R"({"phase":"post_tool_use","argv":["a"],"tools":["bash"]})")) == "");
    BOOST_TEST(
        fault(hooks_of(R"({"phase":"Stop","protocol":"claude","argv":["a"],"tools":["bash"]})")) ==
        "config.json: hooks[0].tools [\"bash\"] means nothing in the phase Stop");
    BOOST_TEST(
        fault(hooks_of(
            R"({"phase":"PreToolUse","protocol":"claude","argv":["a"],"tools":["bash"]})")) == "");
}

BOOST_AUTO_TEST_CASE(a_program_is_resolved_inside_the_hooks_directory)
{
    const std::pair<std::string, std::string> programs[] = {
        {"lookout", "lookout"},
        {"./nested/note", "nested/note"},
        {"a/../b", "b"},
        {"a//b/", "a/b"},
        {"..lookout", "..lookout"},
        {"../hooks/guard", "guard"},
        {"/home/crow/.vera/hooks/deep/guard", "deep/guard"},
        {"/home/crow/./.vera/x/../hooks/guard", "guard"},
        {"$HOME/guard", "$HOME/guard"},
        {"~/guard", "~/guard"}};
    for (const auto& [program, inside] : programs) {
        const auto hooks = executables(with_program(program));
        BOOST_TEST(
            (hooks[0].argv == std::vector<std::string>{"/home/crow/.vera/hooks/" + inside, "a"}),
            program);
        BOOST_TEST(hooks[0].name == inside.substr(inside.rfind('/') + 1));
    }
}

BOOST_AUTO_TEST_CASE(a_program_outside_the_hooks_directory_is_refused)
{
    for (const std::string program :
         {"../escape", "..", ".", "./", "a/..", "a/../..", "/elsewhere/guard", "/",
          "/home/crow/.vera/hooks", "/home/crow/.vera/hooks/", "/home/crow/.vera/hooks2/guard",
          "/home/crow/.vera/hooks/../guard", "a/../../hooks2/guard"}) {
        BOOST_TEST(fault(with_program(program)) == "config.json: hooks[0].argv[0] \"" + program +
                                                       "\" is not inside /home/crow/.vera/hooks");
    }
}

BOOST_AUTO_TEST_CASE(a_home_that_is_not_absolute_is_one_of_the_working_directory)
{
    const auto made = config::parse(with(""), "some/../home/");
    BOOST_REQUIRE(made.has_value());
    BOOST_TEST(made->executables()->at(0).argv[0] ==
               (std::filesystem::current_path() / "home/hooks/guard").string());
}

BOOST_AUTO_TEST_CASE(the_limits_are_not_judged_at_load_but_when_a_session_starts)
{
    std::string argv = R"("guard")";
    for (int i = 0; i != 15; ++i) argv += R"(,"a")";
    const auto of = [](const std::string& list) {
        return hooks_of(R"({"phase":"pre_turn","argv":["ok"]},{"phase":"pre_tool_use","argv":[)" +
                        list + "]}");
    };
    BOOST_TEST(limit_fault(of(argv)) == "");
    argv += R"(,"a")";
    BOOST_TEST(fault(of(argv)) == "");
    BOOST_TEST(limit_fault(of(argv)).starts_with(
        "config.json: hooks[1].argv: Command hook argv must be a bounded non-empty array: argv has "
        "17 elements"));
}

BOOST_AUTO_TEST_CASE(the_size_of_an_argv_is_that_of_its_absolute_program)
{
    // ["/home/crow/.vera/hooks/g","aa..."]
    const std::string program = "/home/crow/.vera/hooks/g";
    const auto of = [](std::size_t size) {
        return hooks_of(R"({"phase":"pre_tool_use","argv":["g",")" + std::string(size, 'a') +
                        R"("]})");
    };
    const auto fits = 8192 - program.size() - 7;
    BOOST_TEST(limit_fault(of(fits)) == "");
    BOOST_TEST(limit_fault(of(fits + 1)).find("Command hook argv must be a bounded") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(entries_keep_their_order)
{
    const auto hooks = executables(hooks_of(R"({"phase":"pre_turn","argv":["c"]},
        {"phase":"pre_tool_use","argv":["b"]},{"phase":"pre_turn","argv":["a"]})"));
    BOOST_REQUIRE(hooks.size() == 3U);
    BOOST_TEST(hooks[0].name == "c");
    BOOST_TEST(hooks[1].name == "b");
    BOOST_TEST(hooks[2].name == "a");
}

BOOST_AUTO_TEST_CASE(the_document_stays_as_it_was_written)
{
    const std::string text = R"({"a":1,"hooks":[{"phase":"pre_turn","argv":["./x/../lookout",)"
                             R"("$HOME"],"timeout_ms":50000,"note":"mine"}],"z":[true,null]})";
    const auto made = parse(text);
    BOOST_REQUIRE(made.has_value());
    BOOST_TEST(json::serialize(made->document()) == text);
    BOOST_TEST(config().document().is_null());
}

BOOST_AUTO_TEST_CASE(a_document_that_is_parsed_already_gives_the_same)
{
    auto document = json::parse(with(R"(,"timeout_ms":2000)"));
    const auto made = config::from_json(document, home);
    BOOST_REQUIRE(made.has_value());
    BOOST_TEST((made->executables()->at(0).timeout == 2000ms));
    document.as_object()["hooks"] = 1;
    const auto refused = config::from_json(document, home, "settings.json");
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().message == "settings.json: hooks must be an array, not 1");
}

BOOST_AUTO_TEST_CASE(a_fault_of_the_text_is_named_by_line_and_column)
{
    BOOST_TEST(fault("{\n  \"hooks\": [\n    {\"phase\" \"pre_turn\"}\n  ]\n}")
                   .starts_with("config.json: not valid JSON at line 3, column 14: "));
    BOOST_TEST(fault("").starts_with("config.json: not valid JSON at line 1, column 1: "));
    BOOST_TEST(fault("{} {}").starts_with("config.json: not valid JSON at line 1, column 4: "));
    BOOST_TEST(fault("{\"hooks\":[").starts_with("config.json: not valid JSON at line 1"));
    BOOST_TEST(fault("{\"a\":\"\xFF\"}").starts_with("config.json: not valid JSON at line 1"));
    BOOST_TEST(fault(std::string(100000, '[')).starts_with("config.json: not valid JSON at"));
}

BOOST_AUTO_TEST_CASE(a_key_that_is_given_twice_is_refused_where_a_hook_would_be_lost)
{
    const std::string entry = R"({"phase":"pre_turn","argv":["a"]})";
    BOOST_TEST(fault(R"({"hooks":[)" + entry + R"(],"hooks":[]})") ==
               "config.json: hooks is given twice");
    BOOST_TEST(fault(R"({"hooks":[],"h\u006foks":[]})") == "config.json: hooks is given twice");
    for (const std::string field : {R"("phase":"pre_turn")", R"("argv":["b"])"}) {
        const auto name = field.substr(1, field.find('"', 1) - 1);
        BOOST_TEST(fault(hooks_of(entry + R"(,{"phase":"pre_turn","argv":["a"],)" + field + '}')) ==
                   "config.json: hooks[1]." + name + " is given twice");
    }
    BOOST_TEST(fault(with(R"(,"timeout_ms":1,"timeout_ms":2)")) ==
               "config.json: hooks[0].timeout_ms is given twice");
    BOOST_TEST(fault(with(R"(,"protocol":"vera","protocol":"vera")")) ==
               "config.json: hooks[0].protocol is given twice");
    BOOST_TEST(fault(with(R"(,"mode":"worker","in_flight":2,"in_flight":4)")) ==
               "config.json: hooks[0].in_flight is given twice");
    BOOST_TEST(fault(R"({"a":1,"a":2,"x":{"hooks":1,"hooks":2}})") == "");
    BOOST_TEST(fault(with(R"(,"note":1,"note":2,"x":{"phase":1,"phase":2})")) == "");
}

BOOST_AUTO_TEST_CASE(an_argument_that_no_program_can_be_given_is_refused)
{
    const auto made = config::parse(R"({"hooks":[{"phase":"pre_turn","argv":["a","x\u0000y"]}]})",
                                    "/home", "config.json");
    BOOST_REQUIRE(!made);
    BOOST_TEST(made.error().message.find("hooks[0].argv[1] must not hold a NUL") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(no_home_is_the_working_directory)
{
    const auto made =
        config::parse(R"({"hooks":[{"phase":"pre_turn","argv":["a"]}]})", "", "config.json");
    BOOST_REQUIRE(made.has_value());
    const auto hooks = made->executables();
    BOOST_REQUIRE(hooks.has_value());
    BOOST_TEST(hooks->at(0).argv[0] == (std::filesystem::current_path() / "hooks" / "a").string());
}

BOOST_AUTO_TEST_CASE(a_long_value_is_cut_in_the_message)
{
    std::string text;
    for (int i = 0; i != 100; ++i) text += "\xC3\xA9";
    const auto why = fault(with(R"(,"timeout_ms":")" + text + '"'));
    BOOST_TEST(why.size() < 200U);
    BOOST_TEST(why.ends_with("\xC3\xA9..."), why);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(executable_check)

BOOST_AUTO_TEST_CASE(a_spec_that_is_within_its_bounds_becomes_an_executable)
{
    const auto made = check({.phase = "pre_turn", .argv = {"/opt/x/recall", "--now"}});
    BOOST_REQUIRE(made.has_value());
    BOOST_TEST((made->when == phase::pre_turn));
    BOOST_TEST((made->speaks == &vera()));
    BOOST_TEST(made->name == "recall");
    BOOST_TEST((made->timeout == 1000ms));
    const auto named = check({.phase = "pre_turn", .argv = {"x"}, .name = "acme.helper"});
    BOOST_TEST(named->name == "acme.helper");
}

BOOST_AUTO_TEST_CASE(the_protocol_is_judged_first_then_the_phase_then_argv_then_the_timeout)
{
    executable_spec spec{.phase = "on_start", .argv = {}, .protocol = "shell", .timeout = 0ms};
    const auto fault = [&] {
        const auto made = check(spec);
        BOOST_REQUIRE(!made);
        BOOST_TEST((made.error().code == errc::invalid_config));
        return made.error().message;
    };
    BOOST_TEST(fault() == "Command hook protocol must be vera or claude");
    spec.protocol = "vera";
    BOOST_TEST(fault() == "Unknown command hook phase: on_start");
    for (const auto* name : {"PreToolUse", "SessionStart", "UserPromptSubmit", "Stop",
                             "SubagentStop", "PreCompact", "SessionEnd"}) {
        spec.phase = name;
        BOOST_TEST(fault() == "Command hook phase " + spec.phase + " needs the claude protocol");
    }
    spec.protocol = "claude";
    for (const auto* name : {"post_tool_use", "subagent_finished"}) {
        spec.phase = name;
        BOOST_TEST(fault() == "This command hook protocol does not support " + spec.phase);
    }
    spec.phase = "turn_finished";
    BOOST_TEST(fault() == "Unknown command hook phase: turn_finished");
    spec.phase = "pre_turn";
    BOOST_TEST(fault() == "Command hook argv must be a bounded non-empty array");
    spec.argv = {"x"};
    BOOST_TEST(fault() == "Command hook timeout must be between 1 and 30000ms");
    spec.timeout = 1ms;
    BOOST_TEST(check(spec).has_value());
}

BOOST_AUTO_TEST_CASE(argv_has_1_to_16_elements_of_8192_bytes_as_json)
{
    const auto fits = [](std::vector<std::string> argv) {
        return check({.phase = "pre_turn", .argv = std::move(argv)}).has_value();
    };
    BOOST_TEST(fits(std::vector<std::string>(16, "x")));
    BOOST_TEST(!fits(std::vector<std::string>(17, "x")));
    BOOST_TEST(!fits({}));
    BOOST_TEST(!fits({"x", ""}));
    BOOST_TEST(fits({std::string(8188, 'a')}));
    BOOST_TEST(!fits({std::string(8189, 'a')}));
    std::string accents;
    while (accents.size() < 2 * 4095) accents += "\xC3\xA9";
    BOOST_TEST(!fits({accents}));
    BOOST_TEST(!fits({std::string(4095, '"')}));
}

BOOST_AUTO_TEST_CASE(a_timeout_has_1_to_30000_milliseconds)
{
    for (const auto timeout : {1ms, 30000ms}) {
        BOOST_TEST(check({.phase = "pre_turn", .argv = {"x"}, .timeout = timeout}).has_value());
    }
    for (const auto timeout : {0ms, -1ms, 30001ms, std::chrono::milliseconds::max()}) {
        BOOST_TEST(!check({.phase = "pre_turn", .argv = {"x"}, .timeout = timeout}).has_value());
    }
}

BOOST_AUTO_TEST_CASE(only_a_worker_has_several_events_in_flight)
{
    const auto fault = [](run_mode mode, std::size_t in_flight) {
        const auto made =
            check({.phase = "pre_turn", .argv = {"x"}, .mode = mode, .in_flight = in_flight});
        return made ? std::string() : made.error().message;
    };
    BOOST_TEST(fault(run_mode::once, 1) == "");
    BOOST_TEST(fault(run_mode::once, 2) == "Command hook in_flight 2 needs the mode worker");
    BOOST_TEST(fault(run_mode::once, 0) == "Command hook in_flight 0 needs the mode worker");
    for (const std::size_t allowed : {1U, 64U}) BOOST_TEST(fault(run_mode::worker, allowed) == "");
    for (const std::size_t refused : {0U, 65U}) {
        BOOST_TEST(fault(run_mode::worker, refused) ==
                   "Command hook in_flight must be between 1 and 64, not " +
                       std::to_string(refused));
    }
    const auto made =
        check({.phase = "pre_turn", .argv = {"x"}, .mode = run_mode::worker, .in_flight = 8});
    BOOST_REQUIRE(made.has_value());
    BOOST_TEST((made->mode == run_mode::worker));
    BOOST_TEST(made->in_flight == 8u);
}

BOOST_AUTO_TEST_CASE(the_tools_of_a_spec_are_names_each_once)
{
    const auto fault = [](std::string phase, std::vector<std::string> tools) {
        const auto made =
            check({.phase = std::move(phase), .argv = {"x"}, .tools = std::move(tools)});
        return made ? std::string() : made.error().message;
    };
    BOOST_TEST(fault("pre_tool_use", {"bash", "edit"}) == "");
    BOOST_TEST(fault("pre_turn", {}) == "");
    BOOST_TEST(fault("pre_turn", {"bash"}) ==
               "Command hook tools mean nothing in the phase pre_turn");
    BOOST_TEST(fault("post_tool_use", {"bash", ""}) ==
               "Command hook tools must be non-empty names");
    BOOST_TEST(fault("pre_tool_use", {"bash", "edit", "bash"}) ==
               "Command hook tools name \"bash\" twice");
    const auto of_claude =
        check({.phase = "Stop", .argv = {"x"}, .protocol = "claude", .tools = {"bash"}});
    BOOST_TEST(of_claude.error().message == "Command hook tools mean nothing in the phase Stop");
}

BOOST_AUTO_TEST_CASE(a_key_that_means_nothing_is_no_error_but_is_told)
{
    const auto loaded = config::parse(
        R"({"hooks":[{"phase":"pre_turn","argv":["a"]},
                     {"phase":"pre_turn","argv":["a"],"timeout":5,"note":"mine","matcher":"Bash"},
                     {"phase":"pre_turn","argv":["a"],"modus":"worker","inflight":2,"tool":[]}]})",
        "/home/nobody/.vera", "c.json");
    const std::vector<std::string> told{
        "c.json: hooks[1].timeout means nothing (did you mean timeout_ms?)",
        "c.json: hooks[1].note means nothing",
        "c.json: hooks[1].matcher means nothing (did you mean tools?)",
        "c.json: hooks[2].modus means nothing",
        "c.json: hooks[2].inflight means nothing (did you mean in_flight?)",
        "c.json: hooks[2].tool means nothing (did you mean tools?)"};
    BOOST_TEST(loaded.value().warnings() == told, boost::test_tools::per_element());

    const auto nearly = config::parse(
        R"({"Hooks":[],"extenson":[],"model":"m","tools":{},"extensions":[{"path":"/x","confg":{}}]})",
        "/home/nobody/.vera", "c.json");
    const std::vector<std::string> told_of_lists{
        "c.json: Hooks means nothing (did you mean hooks?)",
        "c.json: extenson means nothing (did you mean extensions?)",
        "c.json: extensions[0].confg means nothing (did you mean config?)"};
    BOOST_TEST(nearly.value().warnings() == told_of_lists, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_name_that_no_tool_has_is_told)
{
    const auto told = [](const std::string& entry) {
        const auto loaded = config::parse(
            R"({"hooks":[{"phase":"pre_tool_use","argv":["a"]},{"argv":["b"],)" + entry + "}]}",
            "/home/nobody/.vera", "c.json");
        return loaded.value().warnings();
    };
    const std::vector<std::string> nothing;
    const std::string claude = R"("phase":"PreToolUse","protocol":"claude","tools":)";
    const std::string vera = R"("phase":"post_tool_use","tools":)";
    const std::vector<std::string> bash{
        "c.json: hooks[1].tools[1] \"Bash\": the name of the claude protocol, not of the tool (did "
        "you mean bash?)"};
    BOOST_TEST(told(claude + R"(["read","Bash"])") == bash, boost::test_tools::per_element());
    BOOST_TEST(told(claude + R"(["bash","Edit","mcp__pg-2.query"])") == nothing);
    BOOST_TEST(told(vera + R"(["bash","Edit","\u00e9dit"])") == nothing);
    for (const std::string name : {"Bash", "BASH"}) {
        const std::vector<std::string> near{"c.json: hooks[1].tools[0] \"" + name +
                                            "\": names are exact (did you mean bash?)"};
        BOOST_TEST(told(vera + "[\"" + name + "\"]") == near, boost::test_tools::per_element());
    }
    for (const std::string name : {"mcp__*", "bash|edit", "bash ", "edit,bash", "?", "a\\tb",
                                   "a\\u0000", "\\u001b[0m", "a\x7F"}) {
        const std::vector<std::string> exact{"c.json: hooks[1].tools[0] \"" + name +
                                             "\": names are exact; no tool is called that"};
        for (const auto& entry : {claude, vera}) {
            BOOST_TEST(told(entry + "[\"" + name + "\"]") == exact,
                       boost::test_tools::per_element());
        }
    }
}

BOOST_AUTO_TEST_CASE(a_name_that_no_tool_has_is_told_once_however_many_protocols_know_the_tool)
{
    const std::vector<const protocol*> known{&vera(), &claude(), &claude()};
    const auto loaded = config::parse(
        R"({"hooks":[{"phase":"pre_tool_use","argv":["a"],"tools":["BASH","Bash"]}]})",
        "/home/nobody/.vera", "c.json", known);
    const std::vector<std::string> once{
        "c.json: hooks[0].tools[0] \"BASH\": names are exact (did you mean bash?)",
        "c.json: hooks[0].tools[1] \"Bash\": names are exact (did you mean bash?)"};
    BOOST_TEST(loaded.value().warnings() == once, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
