#include <belay/core/coroutine.hpp>
#include <belay/hooks/command_hooks.hpp>
#include <belay/hooks/config.hpp>
#include <belay/hooks/extension.hpp>
#include <belay/hooks/registry.hpp>
#include <belay/hooks/run_tools.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace belay;
using namespace belay::hooks;
using belay::test::host;
using belay::test::kept_log;

namespace {

using names = std::vector<std::string>;

// An extension of that name with all capabilities there are.
extension lookout(std::function<void(registrar&)> activate, std::string name = "lookout")
{
    extension made;
    made.name = std::move(name);
    made.capabilities = {"hooks.command",          "hooks.pre_tool_use", "hooks.post_tool_use",
                         "hooks.session_start",    "hooks.pre_turn",     "hooks.turn_ending",
                         "hooks.turn_finished",    "hooks.pre_compact",  "hooks.session_end",
                         "hooks.subagent_finished"};
    made.activate = std::move(activate);
    return made;
}

executable_spec program(std::string phase, std::string path)
{
    return {.phase = std::move(phase), .argv = {std::move(path)}};
}

// A pre_turn function that writes down that it was asked.
auto noting(names& asked, std::string what)
{
    return [&asked, what = std::move(what)](const pre_turn&) { asked.push_back(what); };
}

config parsed(const std::string& document)
{
    return config::parse(document, "/home/nobody/.vera").value();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(extension_suite)

BOOST_AUTO_TEST_CASE(hooks_of_the_configuration_come_first_then_extensions_as_they_are_activated)
{
    host h;
    names asked;
    h.programs.prints["first"] = R"({"power":"mutate","context":"config"})";
    h.programs.prints["last"] = R"({"power":"mutate","context":"command"})";
    h.hooks
        .activate(lookout([&](registrar& hooks) {
            hooks.on<pre_turn>([](const pre_turn&) { return pre_turn::mutate{.context = "one"}; });
            hooks.on_executable(program("pre_turn", "/opt/last"));
        }))
        .value();
    h.hooks
        .activate(lookout(
            [](registrar& hooks) {
                hooks.on<pre_turn>(
                    [](const pre_turn&) { return pre_turn::mutate{.context = "two"}; });
            },
            "parrot"))
        .value();
    h.use(R"([{"phase":"pre_turn","argv":["first"]}])");
    auto session = h.open();
    const auto said = h.begin(session, "go");
    names contexts;
    names sources;
    for (const auto& one : said.contexts) {
        contexts.push_back(one.context);
        sources.push_back(one.source);
    }
    BOOST_TEST(contexts == (names{"config", "one", "command", "two"}),
               boost::test_tools::per_element());
    BOOST_TEST(sources == (names{"first", "lookout", "lookout", "parrot"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(functions_may_answer_at_once_later_or_as_coroutines)
{
    host h;
    h.hooks
        .activate(lookout([](registrar& hooks) {
            hooks.on<pre_turn>([](const pre_turn&) { return pre_turn::mutate{.context = "now"}; });
            hooks.on<pre_turn>([](const pre_turn&, reply<pre_turn> answer) {
                answer(pre_turn::mutate{.context = "later"});
            });
            hooks.on<pre_turn>(
                [](const pre_turn&) -> boost::asio::awaitable<std::optional<pre_turn::mutate>> {
                    pre_turn::mutate said;
                    said.context = "awaited";
                    co_return said;
                });
        }))
        .value();
    auto session = h.open();
    const auto said = h.begin(session, "go");
    BOOST_REQUIRE(said.contexts.size() == 3);
    BOOST_TEST(said.contexts[0].context == "now");
    BOOST_TEST(said.contexts[1].context == "later");
    BOOST_TEST(said.contexts[2].context == "awaited");
}

BOOST_AUTO_TEST_CASE(each_event_has_a_capability_and_executables_have_one_of_their_own)
{
    const auto registers = [](std::string capability, auto act) {
        host h;
        extension one;
        one.name = "lookout";
        one.activate = [&](registrar& hooks) { act(hooks); };
        const auto without = h.hooks.activate(one);
        BOOST_TEST(!without.has_value());
        BOOST_TEST((without.error().code == errc::undeclared));
        BOOST_TEST(without.error().message == "extension \"lookout\": the capability " +
                                                  capability + " is needed and was not declared");
        one.capabilities = {std::move(capability)};
        BOOST_TEST(h.hooks.activate(one).has_value());
    };
    registers("hooks.pre_tool_use",
              [](registrar& r) { r.on<pre_tool_use>([](const pre_tool_use&) {}); });
    registers("hooks.post_tool_use",
              [](registrar& r) { r.on<post_tool_use>([](const post_tool_use&) {}); });
    registers("hooks.session_start",
              [](registrar& r) { r.on<session_start>([](const session_start&) {}); });
    registers("hooks.pre_turn", [](registrar& r) { r.on<pre_turn>([](const pre_turn&) {}); });
    registers("hooks.turn_ending",
              [](registrar& r) { r.on<turn_ending>([](const turn_ending&) {}); });
    registers("hooks.turn_finished",
              [](registrar& r) { r.on<turn_finished>([](const turn_finished&) {}); });
    registers("hooks.pre_compact",
              [](registrar& r) { r.on<pre_compact>([](const pre_compact&) {}); });
    registers("hooks.session_end",
              [](registrar& r) { r.on<session_end>([](const session_end&) {}); });
    registers("hooks.subagent_finished",
              [](registrar& r) { r.on<subagent_finished>([](const subagent_finished&) {}); });
    registers("hooks.command",
              [](registrar& r) { r.on_executable(program("pre_turn", "/opt/x")); });
}

BOOST_AUTO_TEST_CASE(a_refused_registration_undoes_the_whole_activation)
{
    host h;
    names asked;
    auto one = lookout([&](registrar& hooks) {
        hooks.on<pre_turn>(noting(asked, "first"));
        hooks.on<turn_ending>([](const turn_ending&) {});
        hooks.on<pre_turn>(noting(asked, "last"));
    });
    one.capabilities = {"hooks.pre_turn"};
    const auto activated = h.hooks.activate(one);
    BOOST_TEST((activated.error().code == errc::undeclared));
    auto session = h.open();
    h.begin(session, "go");
    BOOST_TEST(asked.empty());

    one.capabilities = {"hooks.pre_turn", "hooks.turn_ending"};
    BOOST_TEST(h.hooks.activate(one).has_value());
    auto next = h.open({.id = "s-2"});
    h.begin(next, "go");
    BOOST_TEST(asked == (names{"first", "last"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_invalid_spec_fails_the_activation_and_the_first_fault_is_told)
{
    const auto refuses = [](std::function<void(registrar&)> activate) {
        host h;
        return h.hooks.activate(lookout(std::move(activate))).error();
    };
    auto why = refuses([](registrar& hooks) {
        hooks.on_executable(program("on_start", "/opt/x"));
        hooks.on_executable(program("pre_turn", "x"));
    });
    BOOST_TEST((why.code == errc::invalid_config));
    BOOST_TEST(why.message == "extension \"lookout\": Unknown command hook phase: on_start");

    why = refuses([](registrar& hooks) { hooks.on_executable(program("pre_turn", "x")); });
    BOOST_TEST((why.code == errc::invalid_argv));
    BOOST_TEST(
        why.message ==
        "extension \"lookout\": Command hook argv must start with an absolute path, not \"x\"");

    why = refuses([](registrar& hooks) {
        auto slow = program("pre_turn", "/opt/x");
        slow.timeout = std::chrono::milliseconds(30001);
        hooks.on_executable(slow);
    });
    BOOST_TEST(why.message ==
               "extension \"lookout\": Command hook timeout must be between 1 and 30000ms");

    why = refuses([](registrar& hooks) {
        hooks.on<pre_turn>([](const pre_turn&) {}, std::chrono::milliseconds(0));
    });
    BOOST_TEST((why.code == errc::invalid_config));
    BOOST_TEST(why.message == "extension \"lookout\": a timeout must be at least 1 ms, not 0");

    why = refuses(
        [](registrar& hooks) { hooks.on<pre_turn>(std::function<void(const pre_turn&)>()); });
    BOOST_TEST((why.code == errc::invalid_config));
    BOOST_TEST(why.message == "extension \"lookout\": the function for hooks.pre_turn is empty");

    why = refuses([](registrar& hooks) { hooks.refuse("rows.spotted must be a string"); });
    BOOST_TEST((why.code == errc::invalid_config));
    BOOST_TEST(why.message == "extension \"lookout\": rows.spotted must be a string");

    why = refuses([](registrar& hooks) {
        hooks.on<pre_turn>([](const pre_turn&) {});
        throw std::runtime_error("no crow on board");
    });
    BOOST_TEST((why.code == errc::threw));
    BOOST_TEST(why.message == "extension \"lookout\": no crow on board");
}

BOOST_AUTO_TEST_CASE(an_extension_needs_a_name_and_capabilities_that_exist)
{
    host h;
    bool ran = false;
    auto one = lookout([&](registrar&) { ran = true; }, "");
    BOOST_TEST((h.hooks.activate(one).error().code == errc::invalid_config));
    one.name = "two\nlines";
    BOOST_TEST((h.hooks.activate(one).error().code == errc::invalid_config));
    BOOST_TEST(h.hooks.activate(lookout({})).error().message ==
               "extension \"lookout\": it has no function to activate it");
    one.name = "lookout";
    one.capabilities = {"hooks.pre_tool"};
    BOOST_TEST(h.hooks.activate(one).error().message ==
               "extension \"lookout\": there is no capability hooks.pre_tool");
    BOOST_TEST(!ran);
    one.capabilities = {"tools.register"};  // not ours to judge
    BOOST_TEST(h.hooks.activate(one).has_value());
    BOOST_TEST(ran);
}

BOOST_AUTO_TEST_CASE(registering_after_the_activation_ends_the_extension)
{
    host h;
    names asked;
    std::optional<registrar> kept;
    h.hooks
        .activate(lookout([&](registrar& hooks) {
            hooks.on<pre_turn>(noting(asked, "in time"));
            kept = hooks;
        }))
        .value();
    h.hooks
        .activate(lookout([&](registrar& hooks) { hooks.on<pre_turn>(noting(asked, "parrot")); },
                          "parrot"))
        .value();
    auto session = h.open();
    h.begin(session, "one");
    BOOST_TEST(asked == (names{"in time", "parrot"}), boost::test_tools::per_element());

    const auto late = kept->on<pre_turn>(noting(asked, "late"));
    BOOST_TEST((late.error().code == errc::closed));
    const auto records = h.log.of("extension_failed");
    BOOST_REQUIRE(records.size() == 1);
    BOOST_TEST(kept_log::text(records[0], "extension") == "lookout");
    BOOST_TEST(
        kept_log::text(records[0], "error") ==
        "extension \"lookout\": hooks can be registered only while the extension is activated");

    asked.clear();
    auto next = h.open({.id = "s-2"});
    h.begin(next, "two");
    BOOST_TEST(asked == (names{"parrot"}), boost::test_tools::per_element());
    BOOST_TEST((kept->on_executable(program("pre_turn", "/opt/x")).error().code == errc::closed));
    BOOST_TEST(h.log.of("extension_failed").size() == 1);
}

BOOST_AUTO_TEST_CASE(a_registrar_may_outlive_its_registry)
{
    std::optional<registrar> kept;
    {
        host h;
        h.hooks.activate(lookout([&](registrar& hooks) { kept = hooks; })).value();
    }
    BOOST_TEST((kept->on<pre_turn>([](const pre_turn&) {}).error().code == errc::closed));
    BOOST_TEST(!kept->remove(hook_id{1}));
    BOOST_TEST(kept->name() == "lookout");
}

BOOST_AUTO_TEST_CASE(a_hook_can_be_removed_by_its_own_extension_only)
{
    host h;
    names asked;
    std::optional<registrar> kept;
    std::optional<hook_id> second;
    h.hooks
        .activate(lookout([&](registrar& hooks) {
            const auto first = hooks.on<pre_turn>(noting(asked, "first")).value();
            second = hooks.on<pre_turn>(noting(asked, "second")).value();
            hooks.on<pre_turn>(noting(asked, "third"));
            BOOST_TEST(hooks.remove(first));
            BOOST_TEST(!hooks.remove(first));
            kept = hooks;
        }))
        .value();
    const auto foreign = h.hooks.on<pre_turn>(noting(asked, "host"), "host");
    auto session = h.open();
    h.begin(session, "one");
    BOOST_TEST(asked == (names{"second", "third", "host"}), boost::test_tools::per_element());

    asked.clear();
    BOOST_TEST(kept->remove(*second));
    BOOST_TEST(!kept->remove(foreign));
    auto next = h.open({.id = "s-2"});
    h.begin(next, "two");
    BOOST_TEST(asked == (names{"third", "host"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(deactivating_removes_all_hooks_of_an_extension_in_open_sessions_too)
{
    host h;
    names asked;
    const auto id = h.hooks
                        .activate(lookout([&](registrar& hooks) {
                            hooks.on<pre_turn>(noting(asked, "lookout"));
                        }))
                        .value();
    h.hooks.on<pre_turn>(noting(asked, "host"), "host");
    auto session = h.open();
    BOOST_TEST(h.hooks.deactivate(id));
    BOOST_TEST(!h.hooks.deactivate(id));
    h.begin(session, "go");
    BOOST_TEST(asked == (names{"host"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_failure_of_an_extension_is_ignored_and_logged_under_its_name)
{
    host h;
    h.programs.exits["broken"] = 3;
    h.hooks
        .activate(lookout([](registrar& hooks) {
            hooks.on_executable(program("pre_tool_use", "/opt/broken"));
            hooks.on<pre_tool_use>(
                [](const pre_tool_use&) { throw std::runtime_error("the glass is dark"); });
        }))
        .value();
    auto session = h.open_in_turn();
    tool_host tools;
    tools.permit = [](const tool_call&) { return permission::grant(); };
    tools.run = [](const tool_call&) { return text_result("fine"); };
    model_reply reply{.calls = {{"c1", "bash", {{"command", "ls"}}}}};
    auto [ec, records] = h.finish(session.async_run_tools(reply, tools));
    BOOST_REQUIRE(!ec && records.size() == 1);
    BOOST_TEST((records[0].fate == call_fate::ran));
    const auto logged = h.log.of("pre_tool_use_hook_failed");
    BOOST_REQUIRE(logged.size() == 2);
    BOOST_TEST(kept_log::text(logged[0], "extension") == "lookout");
    BOOST_TEST(kept_log::text(logged[0], "error") == "Command hook exited with status 3");
    BOOST_TEST(kept_log::text(logged[1], "extension") == "lookout");
    BOOST_TEST(kept_log::text(logged[1], "error") == "the glass is dark");
    BOOST_TEST(kept_log::text(logged[1], "consequence") == "ignored");
}

BOOST_AUTO_TEST_CASE(an_extension_gets_its_own_config)
{
    host h;
    std::string spotted;
    auto one = lookout(
        [&](registrar& hooks) { spotted = hooks.config().at("rows").at("spotted").as_string(); });
    h.hooks.activate(one, {{"rows", {{"spotted", "Land ho"}}}}).value();
    BOOST_TEST(spotted == "Land ho");
    bool empty = false;
    one.activate = [&](registrar& hooks) { empty = hooks.config() == boost::json::object(); };
    h.hooks.activate(one).value();
    BOOST_TEST(empty);
}

BOOST_AUTO_TEST_CASE(an_entry_of_the_configuration_stands_in_place_of_the_included_copy)
{
    auto included = lookout({}, "included");
    included.path = "/opt/included/";
    included.included = true;
    auto other = lookout({}, "other");
    other.path = "/opt/other";
    const std::vector<extension> known{included, other};
    const auto wanted = [&](const std::string& list) {
        names all;
        for (const auto& one :
             extensions_for(parsed(R"({"extensions":)" + list + "}"), known).value()) {
            all.push_back(one.what.name + " " + serialize(one.config));
        }
        return all;
    };
    BOOST_TEST(wanted("[]") == (names{"included {}"}), boost::test_tools::per_element());
    BOOST_TEST(wanted(R"([{"path":"/opt/other","config":{"a":1}}])") ==
                   (names{"included {}", "other {\"a\":1}"}),
               boost::test_tools::per_element());
    BOOST_TEST(wanted(R"([{"path":"/opt/other"},{"path":"/opt/./included/","config":[1]}])") ==
                   (names{"other {}", "included [1]"}),
               boost::test_tools::per_element());

    const auto unknown = extensions_for(
        parsed(R"({"extensions":[{"path":"/opt/other"},{"path":"/opt/none"}]})"), known);
    BOOST_TEST((unknown.error().code == errc::invalid_config));
    BOOST_TEST(unknown.error().message ==
               "config.json: extensions[1].path: there is no extension at /opt/none");
}

BOOST_AUTO_TEST_CASE(an_extensions_list_that_makes_no_sense_does_not_load)
{
    const auto why = [](const std::string& list) {
        return config::parse(R"({"extensions":)" + list + "}", "/home/nobody/.vera")
            .error()
            .message;
    };
    BOOST_TEST(why("{}") == "config.json: extensions must be an array, not {}");
    BOOST_TEST(why("[7]") == "config.json: extensions[0] must be an object, not 7");
    BOOST_TEST(why("[{}]") == "config.json: extensions[0].path is missing");
    BOOST_TEST(why(R"([{"path":"a"}])") ==
               "config.json: extensions[0].path must be an absolute path, not \"a\"");
    BOOST_TEST(why(R"([{"path":"/a"},{"path":"/b/../a/"}])") ==
               "config.json: extensions[1].path is given twice: \"/b/../a/\"");
    BOOST_TEST(why(R"([{"path":"/a","config":1,"config":2}])") ==
               "config.json: extensions[0].config is given twice");
    // A gate in the list of an extension is not lost in silence.
    BOOST_TEST(why(R"([{"path":"/a","config":{"hooks":[{"phase":"pre_turn"}],"hooks":[]}}])") ==
               "config.json: extensions[0].config.hooks is given twice");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(command_hooks_suite)

BOOST_AUTO_TEST_CASE(it_runs_nothing_until_its_list_is_set)
{
    host h;
    h.hooks.activate(command_hooks()).value();
    h.hooks.activate(command_hooks(), {{"other", 1}}).value();
    auto session = h.open();
    h.begin(session, "go");
    BOOST_TEST(h.programs.runs.empty());
}

BOOST_AUTO_TEST_CASE(it_runs_its_list_after_that_of_the_configuration_which_does_not_need_it)
{
    host h;
    h.programs.prints["Remember"] = "the crow buried it";
    h.use(R"([{"phase":"pre_turn","argv":["first"]}])");
    const auto own = boost::json::parse(R"({"hooks":[
        {"phase":"pre_turn","argv":["/opt/second","an argument"],"timeout_ms":30000},
        {"phase":"UserPromptSubmit","protocol":"claude","argv":["/opt/Remember"]}]})");
    const auto id = h.hooks.activate(command_hooks(), own).value();
    auto session = h.open();
    const auto said = h.begin(session, "go");
    BOOST_TEST(h.programs.names() == (names{"first", "second", "Remember"}),
               boost::test_tools::per_element());
    BOOST_REQUIRE(said.contexts.size() == 1);
    BOOST_TEST(said.contexts[0].source == "vera.command-hooks");
    BOOST_TEST(said.contexts[0].context == "the crow buried it");

    h.hooks.deactivate(id);
    auto next = h.open({.id = "s-2"});
    h.programs.runs.clear();
    h.begin(next, "go");
    BOOST_TEST(h.programs.names() == (names{"first"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_arguments_and_the_timeout_of_an_entry_reach_its_program)
{
    host h;
    std::vector<process::invocation> started;
    auto options = h.options();
    options.run.run = [&](boost::asio::any_io_executor executor, process::invocation what,
                          std::string input, belay::test::pretended_programs::done done) {
        started.push_back(what);
        h.programs(std::move(executor), std::move(what), std::move(input), std::move(done));
    };
    belay::hooks::registry hooks(h.io.get_executor(), options);
    const auto own = boost::json::parse(R"({"hooks":[
        {"phase":"session_start","argv":["/opt/x","an argument"],"timeout_ms":30000},
        {"phase":"session_start","argv":["/opt/y"]}]})");
    hooks.activate(command_hooks(), own).value();
    auto session = hooks.create_session({.id = "s-1"}).value();
    h.finish(session.async_start(session_start::cause::start));
    BOOST_REQUIRE(started.size() == 2);
    BOOST_TEST(started[0].argv == (names{"/opt/x", "an argument"}),
               boost::test_tools::per_element());
    BOOST_TEST((started[0].timeout == std::chrono::seconds(30)));
    BOOST_TEST((started[1].timeout == std::chrono::seconds(1)));
}

BOOST_AUTO_TEST_CASE(a_key_of_its_list_that_means_nothing_is_logged)
{
    host h;
    const auto own =
        boost::json::parse(R"({"hooks":[{"phase":"pre_turn","argv":["/opt/x"],"timeout":9}]})");
    h.hooks.activate(command_hooks(), own).value();
    const auto told = h.log.of("extension_warning");
    BOOST_REQUIRE(told.size() == 1u);
    BOOST_TEST(kept_log::text(told[0], "extension") == "vera.command-hooks");
    BOOST_TEST(kept_log::text(told[0], "error") ==
               "hooks[0].timeout means nothing (did you mean timeout_ms?)");
}

BOOST_AUTO_TEST_CASE(an_invalid_list_fails_the_activation_as_a_whole_and_names_the_entry)
{
    host h;
    const auto why = [&](std::string_view own) {
        const auto activated = h.hooks.activate(command_hooks(), boost::json::parse(own));
        BOOST_REQUIRE(!activated.has_value());
        BOOST_TEST((activated.error().code == errc::invalid_config));
        return activated.error().message;
    };
    const std::string me = "extension \"vera.command-hooks\": ";
    const std::string good = R"({"hooks":[{"phase":"pre_turn","argv":["/opt/x"]},)";
    BOOST_TEST(why("null") == me + "the configuration must be an object, not null");
    BOOST_TEST(why("[]") == me + "the configuration must be an object, not []");
    BOOST_TEST(why(R"({"hooks":{}})") == me + "hooks must be an array, not {}");
    BOOST_TEST(why(good + "7]}") == me + "hooks[1] must be an object, not 7");
    BOOST_TEST(why(good + R"({"phase":"on_start","argv":["/opt/x"]}]})") ==
               me + "hooks[1].phase: Unknown command hook phase: on_start");
    BOOST_TEST(why(good + R"({"phase":"pre_turn","argv":["/opt/x",""]}]})") ==
               me +
                   "hooks[1].argv: Command hook argv must be a bounded non-empty array: argv[1] is "
                   "empty");
    BOOST_TEST(
        why(good + R"({"phase":"pre_turn","argv":["x"]}]})") ==
        me + "hooks[1].argv[0]: Command hook argv must start with an absolute path, not \"x\"");
    BOOST_TEST(why(good + R"({"phase":"pre_turn","argv":["/opt/x"],"timeout_ms":30001}]})") ==
               me + "hooks[1].timeout_ms: Command hook timeout must be between 1 and 30000ms, not "
                    "30001");
    BOOST_TEST(why(good + R"({"phase":"pre_turn","argv":["/opt/x"],"timeout_ms":"1"}]})") ==
               me + "hooks[1].timeout_ms must be a positive whole number, not \"1\"");
    auto session = h.open();
    h.begin(session, "go");
    BOOST_TEST(h.programs.runs.empty());
}

BOOST_AUTO_TEST_CASE(an_entry_of_the_configuration_replaces_the_included_copy)
{
    host h;
    const auto configuration = parsed(R"({"extensions":[{"path":"/opt/vera/command-hooks/",
        "config":{"hooks":[{"phase":"pre_turn","argv":["/opt/x"]}]}}]})");
    for (const auto& one :
         extensions_for(configuration, {command_hooks("/opt/vera/command-hooks")}).value()) {
        h.hooks.activate(one.what, one.config).value();
    }
    auto session = h.open();
    h.begin(session, "go");
    BOOST_TEST(h.programs.names() == (names{"x"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
