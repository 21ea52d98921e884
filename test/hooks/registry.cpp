#include <belay/core/reply.hpp>
#include <belay/core/trace.hpp>
#include <belay/hooks/log.hpp>
#include <belay/hooks/registry.hpp>
#include <belay/hooks/run_tools.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace belay;
using namespace belay::hooks;
using belay::test::host;
using belay::test::kept_log;
namespace fs = std::filesystem;

namespace {

using names = std::vector<std::string>;

// A folder that goes with the test.
struct scratch {
    scratch()
    {
        auto name = (fs::temp_directory_path() / "belay-registry-XXXXXX").string();
        BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~scratch()
    {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    fs::path path;
};

std::string contents(const fs::path& file)
{
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

std::shared_ptr<const config> config_of(const std::string& hooks_list)
{
    return std::make_shared<const config>(
        config::parse(R"({"hooks":)" + hooks_list + "}", "/home/nobody/.vera").value());
}

tool_host obliging(std::string result = "fine")
{
    tool_host made;
    made.permit = [](const tool_call&) { return permission::grant(); };
    made.run = [result](const tool_call&) { return text_result(result); };
    return made;
}

// A subagent that has something to hand back.
struct worked_subagent {
    explicit worked_subagent(host& h)
        : parent(h.open({.id = "parent"})), child(parent.create_subagent({.id = "child"}).value())
    {
        h.finish(child.async_start(session_start::cause::start));
        h.begin(child, "dig");
        h.finish(child.async_end_turn({.text = "found it"}));
    }
    session parent;
    session child;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(registry)

BOOST_AUTO_TEST_CASE(without_hooks_nothing_runs_and_everything_passes)
{
    host h;
    auto s = h.open_in_turn();
    auto [ec, records] = h.finish(s.async_run_tools({.calls = {{"c1", "bash", {}}}}, obliging()));
    BOOST_TEST((records.at(0).fate == call_fate::ran));
    BOOST_TEST(h.programs.runs.empty());
}

BOOST_AUTO_TEST_CASE(the_configuration_comes_first_then_extensions_in_their_order)
{
    host h;
    names order;
    h.hooks.on<pre_turn>([&](const pre_turn&) { order.push_back("x1"); }, "x1");
    h.hooks.on_executable({.phase = "pre_turn", .argv = {"/opt/x2"}}, "acme").value();
    h.hooks.on<pre_turn>([&](const pre_turn&) { order.push_back("x3"); }, "x3");
    h.use(R"([{"phase":"pre_turn","argv":["a"]},{"phase":"turn_ending","argv":["other"]},
              {"phase":"pre_turn","argv":["b"]}])");
    struct : trace_sink {
        void on_span(const trace_span& span) noexcept override
        {
            seen.push_back(std::to_string(span.handler.position) + span.handler.name);
        }
        names seen;
    } trace;
    auto options = h.options();
    options.trace = &trace;
    // The same, with a trace.
    belay::hooks::registry traced(h.io.get_executor(), options);
    traced.on<pre_turn>([](const pre_turn&) {}, "x1");
    traced
        .use(config_of(R"([{"phase":"pre_turn","argv":["a"]},{"phase":"pre_turn","argv":["b"]}])"))
        .value();
    h.finish(traced.async_dispatch(pre_turn{.prompt = "go"}));
    BOOST_TEST(trace.seen == (names{"1a", "2b", "3x1"}), boost::test_tools::per_element());

    h.programs.runs.clear();
    auto s = h.open();
    h.begin(s, "go");
    BOOST_TEST(h.programs.names() == (names{"a", "b", "x2"}), boost::test_tools::per_element());
    BOOST_TEST(order == (names{"x1", "x3"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_configuration_comes_before_extensions_in_every_phase)
{
    const names phases{"session_start", "pre_turn",    "pre_tool_use",      "post_tool_use",
                       "turn_ending",   "pre_compact", "subagent_finished", "session_end"};
    host h;
    worked_subagent worked(h);  // before there is any hook
    names seen;                 // each event, and the executable that was started last
    const auto watch = [&]<class E>(std::type_identity<E>) {
        h.hooks.on<E>(
            [&](const E&) {
                seen.push_back(std::string(E::event_name) + " after " +
                               (h.programs.runs.empty() ? "" : h.programs.runs.back().program));
            },
            "acme");
    };
    watch(std::type_identity<session_start>());
    watch(std::type_identity<pre_turn>());
    watch(std::type_identity<pre_tool_use>());
    watch(std::type_identity<post_tool_use>());
    watch(std::type_identity<turn_ending>());
    watch(std::type_identity<pre_compact>());
    watch(std::type_identity<subagent_finished>());
    watch(std::type_identity<session_end>());
    std::string list;
    for (const auto& name : phases) {
        list += (list.empty() ? "" : ",") +
                ("{\"phase\":\"" + name + "\",\"argv\":[\"" + name + "\"]}");
    }
    h.use('[' + list + ']');
    auto s = h.open_in_turn();
    tool_host tools;
    tools.permit = [](const tool_call&) { return permission::grant(); };
    tools.run = [](const tool_call&) { return text_result("fine"); };
    h.finish(s.async_run_tools({.calls = {{"c1", "bash", {}}}}, tools));
    h.finish(s.async_end_turn({.text = "done"}));
    BOOST_TEST(!s.begin_compaction(pre_compact::cause::manual, 1, {}));
    h.drain();
    BOOST_TEST(!s.fail_compaction());
    BOOST_TEST(!worked.child.hand_back(subagent_finished::result::completed, "x"));
    h.drain();
    s.close(session_end::cause::closed);
    h.drain();
    names expected;
    for (const auto& name : phases) {
        expected.push_back(name + " after " + name);
    }
    BOOST_TEST(seen == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_executable_of_an_extension_blocks_and_drops_nothing_in_any_phase)
{
    const names phases{"session_start", "pre_turn",    "pre_tool_use",      "post_tool_use",
                       "turn_ending",   "pre_compact", "subagent_finished", "session_end"};
    host h;
    worked_subagent worked(h);  // before there is any hook
    for (const auto& name : phases) {
        h.hooks.on_executable({.phase = name, .argv = {"/opt/" + name}}, "acme").value();
        h.programs.exits[name] = 3;
    }
    h.hooks.on<post_tool_use>(
        [](const post_tool_use&) { return post_tool_use::mutate{.is_error = true}; }, "x");
    h.hooks.on<turn_ending>(
        [](const turn_ending&) { return turn_ending::continue_turn{"more", {}}; }, "x");
    auto s = h.open_in_turn();
    BOOST_TEST(s.turn_running());
    tool_host tools;
    tools.permit = [](const tool_call&) { return permission::grant(); };
    tools.run = [](const tool_call&) { return text_result("fine"); };
    auto [ec, records] = h.finish(s.async_run_tools({.calls = {{"c1", "bash", {}}}}, tools));
    BOOST_TEST(records.at(0).result.is_error);
    BOOST_TEST(std::get<1>(h.finish(s.async_end_turn({.text = "done"}))).continuation.has_value());
    BOOST_TEST(!s.begin_compaction(pre_compact::cause::manual, 1, {}));
    BOOST_TEST(!s.fail_compaction());
    BOOST_TEST(!worked.child.hand_back(subagent_finished::result::completed, "x"));
    s.close(session_end::cause::closed);
    h.drain();
    BOOST_TEST(h.log.records.size() == 8u);
    for (const auto& one : h.log.records) {
        BOOST_TEST(kept_log::text(one, "extension") == "acme", one);
        BOOST_TEST(!one.contains("command"));
    }
}

BOOST_AUTO_TEST_CASE(a_bare_session_is_not_stopped_by_the_limits_of_hooks_that_it_does_not_run)
{
    host h;
    auto parsed =
        config::parse(R"({"hooks":[{"phase":"pre_turn","argv":["x"],"timeout_ms":30001}]})",
                      "/home/nobody/.vera");
    BOOST_TEST(h.hooks.use(std::make_shared<const config>(*std::move(parsed))).has_error());
    BOOST_TEST(h.hooks.create_session({.id = "s-1"}).has_error());
    BOOST_TEST(h.hooks.create_session({.id = "s-2", .bare = true}).has_value());
}

BOOST_AUTO_TEST_CASE(an_executable_of_an_extension_is_judged_as_an_extension_and_bears_its_name)
{
    host h;
    h.hooks.on_executable({.phase = "pre_turn", .argv = {"/opt/tool"}, .name = "other"}, "acme")
        .value();
    h.programs.exits["tool"] = 1;
    auto s = h.open();
    const auto said = h.begin(s, "go");
    BOOST_TEST(!said.blocked);
    BOOST_REQUIRE(said.ignored.size() == 1u);
    BOOST_TEST(said.ignored[0].handler.name == "acme");
    BOOST_TEST((said.ignored[0].handler.from == origin::extension));
}

BOOST_AUTO_TEST_CASE(an_executable_of_an_extension_needs_an_absolute_path_and_a_valid_spec)
{
    host h;
    const auto relative = h.hooks.on_executable({.phase = "pre_turn", .argv = {"tool"}}, "acme");
    BOOST_REQUIRE(relative.has_error());
    BOOST_TEST((relative.error().code == errc::invalid_argv));
    BOOST_TEST(relative.error().message.find("\"tool\"") != std::string::npos);
    const auto unknown = h.hooks.on_executable({.phase = "on_start", .argv = {"/x"}}, "acme");
    BOOST_REQUIRE(unknown.has_error());
    BOOST_TEST(unknown.error().message == "Unknown command hook phase: on_start");
    const auto late = h.hooks.on_executable(
        {.phase = "pre_turn", .argv = {"/x"}, .timeout = std::chrono::milliseconds(30001)}, "acme");
    BOOST_REQUIRE(late.has_error());
    BOOST_TEST(late.error().message == "Command hook timeout must be between 1 and 30000ms");
    auto s = h.open();
    h.begin(s, "go");
    BOOST_TEST(h.programs.runs.empty());
}

BOOST_AUTO_TEST_CASE(a_removed_hook_is_not_asked_again_also_in_sessions_that_exist)
{
    host h;
    int asked = 0;
    auto s = h.open();
    const auto id = h.hooks.on<pre_turn>([&](const pre_turn&) { ++asked; }, "x");
    const auto program =
        h.hooks.on_executable({.phase = "turn_ending", .argv = {"/opt/p"}}, "x").value();
    h.begin(s, "one");
    h.finish(s.async_end_turn({.text = "done"}));
    BOOST_TEST(asked == 1);
    BOOST_TEST(h.programs.runs.size() == 1u);
    BOOST_TEST(h.hooks.remove(id));
    BOOST_TEST(h.hooks.remove(program));
    BOOST_TEST(!h.hooks.remove(id));
    h.begin(s, "two");
    h.finish(s.async_end_turn({.text = "done"}));
    h.use("[]");
    auto fresh = h.open();
    h.begin(fresh, "three");
    BOOST_TEST(asked == 1);
    BOOST_TEST(h.programs.runs.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_hook_that_goes_may_remove_others)
{
    // What a hook owns, and what it does when it goes.
    struct last_will {
        explicit last_will(std::function<void()> f) : does(std::move(f)) {}
        ~last_will() { does(); }
        std::function<void()> does;
    };
    host h;
    std::vector<hook_id> ids;
    names asked;
    int gone = 0;
    const auto add = [&](std::string name, std::function<void()> will) {
        auto owned = std::make_unique<last_will>(std::move(will));
        ids.push_back(h.hooks.on<pre_turn>(
            [&asked, name, owned = std::move(owned)](const pre_turn&) { asked.push_back(name); },
            name));
    };
    auto s = h.open();
    add("a", [&] { ++gone; });
    add("b", [&] {
        ++gone;
        BOOST_TEST(h.hooks.remove(ids[2]));
        BOOST_TEST(!h.hooks.remove(ids[1]));
        BOOST_TEST(h.hooks.remove(ids[0]));
        add("e", [] {});
    });
    add("c", [&] { ++gone; });
    add("d", [] {});
    BOOST_TEST(h.hooks.remove(ids[1]));
    BOOST_TEST(gone == 3);
    h.begin(s, "go");
    BOOST_TEST(asked == (names{"d", "e"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_hook_that_goes_with_the_registry_may_remove_others)
{
    host h;
    std::optional<hook_id> other;
    bool went = false;
    std::optional<belay::hooks::registry> hooks(std::in_place, h.io.get_executor(), h.options());
    auto& registry = *hooks;
    std::shared_ptr<void> owned(nullptr, [&](void*) {
        went = true;
        registry.remove(*other);
    });
    hooks->on<pre_turn>([owned = std::move(owned)](const pre_turn&) {}, "a");
    other = hooks->on<pre_turn>([](const pre_turn&) {}, "b");
    hooks.reset();
    BOOST_TEST(went);
}

BOOST_AUTO_TEST_CASE(a_deferred_dispatch_keeps_the_hooks_it_was_made_with)
{
    host h;
    std::optional<belay::hooks::registry> hooks(std::in_place, h.io.get_executor(), h.options());
    hooks->use(config_of(R"([{"phase":"pre_turn","argv":["a"]}])")).value();
    auto first = hooks->async_dispatch(pre_turn{});
    hooks->use(config_of(R"([{"phase":"pre_turn","argv":["b"]}])")).value();
    auto second = hooks->async_dispatch(pre_turn{});
    hooks.reset();
    BOOST_TEST(!std::get<0>(h.finish(std::move(second))));
    BOOST_TEST(!std::get<0>(h.finish(std::move(first))));
    BOOST_TEST(h.programs.names() == (names{"b", "a"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_event_in_flight_keeps_its_hooks)
{
    host h;
    std::optional<reply<pre_turn>> owed;
    bool second = false;
    h.hooks.on<pre_turn>(
        [&](const pre_turn&, reply<pre_turn> answer) { owed.emplace(std::move(answer)); }, "slow");
    const auto id = h.hooks.on<pre_turn>([&](const pre_turn&) { second = true; }, "x");
    bool third = false;
    auto s = h.open();
    auto beginning = h.start(s.async_begin_turn("go", {}));
    h.hooks.remove(id);
    h.hooks.on<pre_turn>([&](const pre_turn&) { third = true; }, "y");
    (*owed)();
    h.drain();
    BOOST_TEST(host::is_done(beginning));
    BOOST_TEST(second);
    BOOST_TEST(!third);
}

BOOST_AUTO_TEST_CASE(a_session_keeps_its_configuration_and_observers_follow_the_current_one)
{
    host h;
    h.use(R"([{"phase":"pre_turn","argv":["old"]},{"phase":"session_end","argv":["old-end"]}])");
    auto s = h.open();
    h.use(R"([{"phase":"pre_turn","argv":["new"]},{"phase":"session_end","argv":["new-end"]}])");
    auto later = h.open({.id = "s-2"});
    h.begin(s, "go");
    h.begin(later, "go");
    s.close(session_end::cause::closed);
    h.drain();
    BOOST_TEST(h.programs.names() == (names{"old", "new", "new-end"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_limit_of_the_configuration_is_judged_when_a_session_is_created)
{
    host h;
    h.use(R"([{"phase":"session_end","argv":["end"]}])");
    auto before = h.open();
    struct violation {
        const char* list;
        const char* message;
    };
    std::string long_argument(9000, 'a');
    const std::string too_long =
        R"([{"phase":"pre_turn","argv":["ok"]},{"phase":"pre_turn","argv":["x",")" + long_argument +
        R"("]}])";
    for (
        const auto& one :
        {violation{
             R"([{"phase":"pre_turn","argv":["ok"]},{"phase":"pre_turn","argv":["x"],"timeout_ms":30001}])",
             "Command hook timeout must be between 1 and 30000ms"},
         violation{
             R"([{"phase":"pre_turn","argv":["ok"]},{"phase":"pre_turn","argv":["x","1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16"]}])",
             "Command hook argv must be a bounded non-empty array"},
         violation{too_long.c_str(), "Command hook argv must be a bounded non-empty array"}}) {
        const auto used = h.hooks.use(config_of(one.list));
        BOOST_REQUIRE(used.has_error());
        const auto made = h.hooks.create_session({.id = "s-9"});
        BOOST_REQUIRE(made.has_error());
        BOOST_TEST(made.error().message.find(one.message) != std::string::npos,
                   made.error().message);
        BOOST_TEST(made.error().message.find("hooks[1]") != std::string::npos,
                   made.error().message);
        BOOST_TEST(made.error().message == used.error().message);
    }
    BOOST_TEST(h.programs.runs.empty());

    // Phases that only observe go on with the last configuration that was within its limits.
    before.close(session_end::cause::closed);
    h.drain();
    BOOST_TEST(h.programs.names() == names{"end"}, boost::test_tools::per_element());

    h.use("[]");
    BOOST_TEST(h.hooks.create_session({.id = "s-9"}).has_value());
}

BOOST_AUTO_TEST_CASE(sessions_outlive_the_registry)
{
    host h;
    std::optional<session> s;
    {
        belay::hooks::registry short_lived(h.io.get_executor(), h.options());
        short_lived.on<pre_turn>([](const pre_turn&) { return block{"still here"}; }, "x");
        s = short_lived.create_session({.id = "s-1"}).value();
    }
    h.finish(s->async_start(session_start::cause::start));
    BOOST_TEST(h.begin(*s, "go").blocked.has_value());
}

BOOST_AUTO_TEST_CASE(one_function_serves_all_sessions)
{
    host h;
    int asked = 0;
    // A function that cannot be copied.
    h.hooks.on<pre_turn>(
        [&asked, own = std::make_unique<int>(0)](const pre_turn&) { asked = ++*own; }, "x");
    auto a = h.open({.id = "a"});
    h.use("[]");
    auto b = h.open({.id = "b"});
    h.begin(a, "go");
    h.begin(b, "go");
    BOOST_TEST(asked == 2);
}

BOOST_AUTO_TEST_CASE(an_event_may_be_dispatched_without_a_session)
{
    host h;
    h.hooks.on<pre_tool_use>([](const pre_tool_use&) { return block{"no"}; }, "x");
    auto [ec, said] = h.finish(h.hooks.async_dispatch(pre_tool_use{}));
    BOOST_TEST(!ec);
    BOOST_TEST((std::get<block>(said.decision).reason == "no"));
    bool told = false;
    h.hooks.on<turn_finished>([&](const turn_finished&) { told = true; }, "x");
    h.hooks.notify(turn_finished{});
    BOOST_TEST(!told);
    h.drain();
    BOOST_TEST(told);
}

BOOST_AUTO_TEST_SUITE_END()

// The executables have file names that say which version of the configuration they are of.
BOOST_AUTO_TEST_SUITE(live_configuration)

struct live_home : scratch {
    // Each writing has a modification time of its own.
    void write(const std::string& document)
    {
        std::ofstream(file->path(), std::ios::binary) << document;
        fs::last_write_time(
            file->path(), fs::file_time_type::clock::now() + ++writings * std::chrono::seconds(10));
    }

    void write_hooks(const std::string& name)
    {
        write(R"({"hooks":[{"phase":"pre_turn","argv":["turn-)" + name +
              R"("]},{"phase":"session_end","argv":["end-)" + name + R"("]}]})");
    }

    std::vector<std::string> errors() const
    {
        std::vector<std::string> all;
        for (const auto& one : h.log.of("config_not_used")) {
            all.push_back(kept_log::text(one, "error"));
        }
        return all;
    }

    std::shared_ptr<config_file> file = std::make_shared<config_file>(path / "config.json");
    host h;
    int writings = 0;
};

BOOST_FIXTURE_TEST_CASE(a_session_is_built_from_the_file_as_it_is_at_that_moment, live_home)
{
    write_hooks("1");
    h.hooks.follow(file).value();
    auto first = h.open({.id = "s-1"});
    write_hooks("2");
    auto second = h.open({.id = "s-2"});
    h.begin(first, "go");
    h.begin(second, "go");
    BOOST_TEST(h.programs.names() == (names{"turn-1", "turn-2"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(observers_are_looked_up_at_their_event, live_home)
{
    write_hooks("1");
    h.hooks.follow(file).value();
    auto session = h.open();
    write_hooks("2");
    session.close(session_end::cause::closed);
    h.drain();
    BOOST_TEST(h.programs.names() == (names{"end-2"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(the_last_valid_configuration_stays_and_each_bad_change_is_logged_once,
                        live_home)
{
    write_hooks("1");
    h.hooks.follow(file).value();
    write(R"({"hooks":[{"phase":"pre_turn","argv":["half)");
    auto session = h.open();
    h.begin(session, "go");
    session.close(session_end::cause::closed);
    h.drain();
    BOOST_TEST(h.programs.names() == (names{"turn-1", "end-1"}), boost::test_tools::per_element());
    BOOST_REQUIRE(errors().size() == 1);
    BOOST_TEST(errors()[0].starts_with(file->path().string() + ": not valid JSON at line 1"));

    write_hooks("2");
    auto next = h.open({.id = "s-2"});
    h.begin(next, "go");
    BOOST_TEST(h.programs.names().back() == "turn-2");
    BOOST_TEST(errors().size() == 1);
}

BOOST_FIXTURE_TEST_CASE(a_limit_is_judged_when_a_session_is_created_and_names_the_entry, live_home)
{
    write_hooks("1");
    h.hooks.follow(file).value();
    auto open = h.open();
    write(R"({"hooks":[{"phase":"pre_turn","argv":["x"],"timeout_ms":30001}]})");
    const auto refused = h.hooks.create_session({.id = "s-2"});
    BOOST_TEST((refused.error().code == errc::invalid_config));
    BOOST_TEST(refused.error().message ==
               file->path().string() +
                   ": hooks[0].timeout_ms: Command hook timeout must be between "
                   "1 and 30000ms, not 30001");
    BOOST_TEST(errors() == (std::vector{refused.error().message}),
               boost::test_tools::per_element());
    open.close(session_end::cause::closed);
    h.drain();
    BOOST_TEST(h.programs.names() == (names{"end-1"}), boost::test_tools::per_element());

    write_hooks("2");
    BOOST_TEST(h.hooks.create_session({.id = "s-3"}).has_value());
}

BOOST_FIXTURE_TEST_CASE(without_a_configuration_that_was_ever_valid_there_is_no_session, live_home)
{
    write("{");
    const auto followed = h.hooks.follow(file);
    BOOST_TEST((followed.error().code == errc::invalid_config));
    BOOST_TEST(h.hooks.create_session({.id = "s-1"}).error().message == followed.error().message);
    write_hooks("1");
    auto session = h.open();
    h.begin(session, "go");
    BOOST_TEST(h.programs.names() == (names{"turn-1"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_file_that_the_host_looks_at_too_is_followed_all_the_same, live_home)
{
    write_hooks("1");
    BOOST_REQUIRE(file->load().has_value());
    h.hooks.follow(file).value();
    write_hooks("2");
    BOOST_TEST(file->refresh().value());
    auto session = h.open();
    h.begin(session, "go");
    BOOST_TEST(h.programs.names() == (names{"turn-2"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(another_configuration_ends_the_following, live_home)
{
    write_hooks("1");
    h.hooks.follow(file).value();
    h.use("[]");
    write_hooks("2");
    auto session = h.open();
    h.begin(session, "go");
    BOOST_TEST(h.programs.runs.empty());
}

BOOST_FIXTURE_TEST_CASE(keys_that_mean_nothing_are_logged_at_each_change, live_home)
{
    const std::string misspelt = R"({"hooks":[{"phase":"pre_turn","argv":["x"],"timeout":5}],"n":)";
    write(misspelt + "1}");
    h.hooks.follow(file).value();
    write(misspelt + "22}");
    h.open();
    const auto told = h.log.of("config_warning");
    BOOST_REQUIRE(told.size() == 2u);
    BOOST_TEST(kept_log::text(told[1], "error") ==
               file->path().string() +
                   ": hooks[0].timeout means nothing (did you mean timeout_ms?)");
}

BOOST_FIXTURE_TEST_CASE(nothing_to_follow_is_no_configuration, live_home)
{
    write_hooks("1");
    h.hooks.follow(file).value();
    h.hooks.follow(nullptr).value();
    auto session = h.open();
    h.begin(session, "go");
    BOOST_TEST(h.programs.runs.empty());
}

BOOST_FIXTURE_TEST_CASE(a_log_may_put_another_configuration_in_the_place_of_one_that_is_bad,
                        live_home)
{
    struct replacing_log final : log_sink {
        void on_record(const boost::json::object&) noexcept override
        {
            ++records;
            hooks->use(nullptr).value();
        }
        belay::hooks::registry* hooks = nullptr;
        int records = 0;
    } log;
    auto with = h.options();
    with.log = &log;
    h.hooks = belay::hooks::registry(h.io.get_executor(), with);
    log.hooks = &h.hooks;
    write_hooks("1");
    h.hooks.follow(file).value();
    write("{");
    auto session = h.open();
    h.begin(session, "go");
    BOOST_TEST(log.records == 1);
    BOOST_TEST(h.programs.runs.empty());
}

BOOST_FIXTURE_TEST_CASE(a_subagent_has_its_starters_hooks_after_a_change_too, live_home)
{
    write_hooks("1");
    h.hooks.follow(file).value();
    auto session = h.open();
    write_hooks("2");
    auto subagent = session.create_subagent({.id = "s-1-a"}).value();
    h.finish(subagent.async_start(session_start::cause::start));
    h.begin(subagent, "go");
    BOOST_TEST(h.programs.names() == (names{"turn-1"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

// A home with the programs in executables/, started for real.
struct real_programs {
    real_programs()
    {
        fs::create_directory(home.path / "hooks");
        for (const auto& one :
             fs::directory_iterator(fs::path(BELAY_TEST_SOURCE_DIR) / "hooks/executables")) {
            fs::copy_file(one.path(), home.path / "hooks" / one.path().filename());
        }
    }

    // Entries of a configuration, without their timeouts.
    void use(std::string entries)
    {
        auto document = boost::json::parse("{\"hooks\":[" + entries + "]}");
        for (auto& entry : document.at("hooks").as_array()) {
            entry.as_object()["timeout_ms"] = 30000;
        }
        auto parsed = config::from_json(std::move(document), home.path).value();
        hooks.use(std::make_shared<const config>(std::move(parsed))).value();
    }

    template <class Op>
    auto finish(Op op)
    {
        auto future = host::launch(std::move(op));
        io.restart();
        io.run();
        return std::get<1>(future.get());
    }

    registry_options options()
    {
        registry_options made;
        made.time = &time;
        made.log = &log;
        return made;
    }

    scratch home;
    boost::asio::io_context io;
    test::manual_clock time;  // stands still: however slow this machine is, no deadline passes
    kept_log log;
    belay::hooks::registry hooks{io.get_executor(), options()};
};

BOOST_FIXTURE_TEST_SUITE(real_executables, real_programs)

BOOST_AUTO_TEST_CASE(a_conversation_goes_through_hooks_in_python_and_shell)
{
    const auto book = (home.path / "ledger").string();
    use(R"({"phase":"session_start","argv":["greet.sh"]},
           {"phase":"pre_turn","argv":["remember.sh"]},
           {"phase":"pre_tool_use","argv":["guard.py"]},
           {"phase":"post_tool_use","argv":["redact.py"]},
           {"phase":"turn_ending","argv":["map-check.sh"]},
           {"phase":"session_end","argv":["ledger.sh",")" +
        book + R"("]},
           {"phase":"session_end","argv":["no-such-program"]})");

    auto s = hooks.create_session({.id = "s-1", .workspace = "/nest"}).value();
    BOOST_TEST(finish(s.async_start(session_start::cause::start)).message() ==
               "## Session start hook 1\n\nShort answers, please.");

    turn_settings settings{"model-a", {}, {"bash"}};
    const auto begun = finish(s.async_begin_turn("where is the treasure?", settings));
    BOOST_REQUIRE(begun.contexts.size() == 1u);
    BOOST_TEST(begun.contexts[0].source == "remember.sh");
    BOOST_TEST(begun.contexts[0].context == "It lies under the third palm.");
    BOOST_TEST(begun.contexts[0].display == "Spotted: a palm");

    tool_call remove{"c1", "bash", {}};
    remove.input.emplace("command", "rm treasure/chest.yaml");
    tool_call list{"c2", "bash", {}};
    list.input.emplace("command", "cat notes");
    const auto records =
        finish(s.async_run_tools({.calls = {remove, list}}, obliging("the key-0badcafe opens it")));
    BOOST_REQUIRE(records.size() == 2u);
    BOOST_TEST((records[0].fate == call_fate::blocked));
    BOOST_TEST(text_of(records[0].result.content) == "The treasure stays.");
    BOOST_TEST(records[0].before->decided_by == "guard.py");
    BOOST_TEST(text_of(records[1].result.content) == "the [redacted] opens it");

    const auto first = finish(s.async_end_turn({.text = "done"}));
    BOOST_REQUIRE(first.continuation.has_value());
    BOOST_TEST(first.continuation->context == "Draw the map first.");
    BOOST_TEST(!finish(s.async_end_turn({.text = "done, see the map"})).continuation);

    s.close(session_end::cause::closed);
    BOOST_TEST(!fs::exists(book));  // nothing waits for it, and it has not even started
    io.restart();
    io.run();
    const auto told = boost::json::parse(contents(book)).as_object();
    BOOST_TEST(kept_log::text(told, "type") == "session_end");
    BOOST_TEST(kept_log::text(told, "reason") == "closed");
    BOOST_TEST((told.at("turns") == 1));
    BOOST_REQUIRE(log.of("session_end_hook_failed").size() == 1u);
    BOOST_TEST(kept_log::text(log.of("session_end_hook_failed")[0], "command") ==
               "no-such-program");
}

BOOST_AUTO_TEST_CASE(a_conversation_goes_through_hooks_of_the_claude_protocol)
{
    use(R"({"phase":"SessionStart","protocol":"claude","argv":["claude-branch.sh"]},
           {"phase":"UserPromptSubmit","protocol":"claude","argv":["claude-branch.sh"]},
           {"phase":"PreToolUse","protocol":"claude","argv":["claude-guard.py"]},
           {"phase":"Stop","protocol":"claude","argv":["claude-map-check.py"]},
           {"phase":"SubagentStop","protocol":"claude","argv":["claude-map-check.py"]},
           {"phase":"PreCompact","protocol":"claude","argv":["no-such-program"]})");

    auto s = hooks.create_session({.id = "s-1", .workspace = "/nest"}).value();
    BOOST_TEST(finish(s.async_start(session_start::cause::start)).message() ==
               "## Session start hook 1\n\nThe branch is main.");

    turn_settings settings{"model-a", {}, {"bash", "read"}};
    BOOST_TEST(finish(s.async_begin_turn("it is key-0badcafe", settings)).blocked_text() ==
               "pre_turn hook blocked this turn: No secrets in prompts, please.");
    const auto begun = finish(s.async_begin_turn("where is it?", settings));
    BOOST_REQUIRE(begun.contexts.size() == 1u);
    BOOST_TEST(begun.contexts[0].source == "claude-branch.sh");
    BOOST_TEST(begun.contexts[0].context == "The tree is clean.");

    const auto call = [](const char* id, const char* tool, const char* command) {
        tool_call made{id, tool, {}};
        made.input.emplace("command", command);
        return made;
    };
    const auto records = finish(
        s.async_run_tools({.calls = {call("c1", "bash", "rm treasure"), call("c2", "bash", "ls"),
                                     call("c3", "read", "treasure")}},
                          obliging()));
    BOOST_REQUIRE(records.size() == 3u);
    BOOST_TEST((records[0].fate == call_fate::blocked));
    BOOST_TEST(text_of(records[0].result.content) == "Leave the treasure where it is.");
    BOOST_TEST(text_of(records[1].result.content) == "fine");
    BOOST_TEST(text_of(records[2].result.content) == "fine");

    auto agent = s.create_subagent({.id = "s-2"}).value();
    finish(agent.async_start(session_start::cause::start));
    // It may tell its own model what it likes.
    BOOST_TEST(finish(agent.async_begin_turn("it is key-0badcafe", settings)).contexts.empty());
    BOOST_TEST(finish(agent.async_end_turn({.text = "done"})).continuation->context ==
               "Draw the map before you say done.");
    BOOST_TEST(!finish(agent.async_end_turn({.text = "done"})).continuation);

    BOOST_TEST(!finish(s.async_end_turn({.text = "done, see the map"})).continuation);
    BOOST_TEST(!s.begin_compaction(pre_compact::cause::automatic, 9, {}));
    io.restart();
    io.run();
    BOOST_TEST(log.of("pre_compact_hook_failed").size() == 1u);
    BOOST_TEST(log.records.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(host_log)

BOOST_AUTO_TEST_CASE(a_record_becomes_one_line_with_its_time)
{
    scratch home;
    jsonl_file file(host_log_path(home.path.string()));
    BOOST_TEST(file.path() == (home.path / "runtime/logs/host.jsonl").string());
    boost::json::object record;
    record.emplace("type", "session_start_hook_failed");
    record.emplace("error", "two\nlines");
    file.on_record(record);
    file.on_record(record);

    std::istringstream lines(contents(file.path()));
    std::string line;
    int count = 0;
    for (; std::getline(lines, line); ++count) {
        const auto parsed = boost::json::parse(line).as_object();
        BOOST_TEST(kept_log::text(parsed, "type") == "session_start_hook_failed");
        BOOST_TEST(kept_log::text(parsed, "error") == "two\nlines");
        const auto time = kept_log::text(parsed, "time");
        BOOST_REQUIRE(time.size() == 24u);
        BOOST_TEST(time[10] == 'T');
        BOOST_TEST(time[23] == 'Z');
    }
    BOOST_TEST(count == 2);
}

BOOST_AUTO_TEST_CASE(several_writers_do_not_tear_each_others_lines)
{
    scratch home;
    const auto path = host_log_path(home.path.string());
    std::vector<std::thread> writers;
    for (int i = 0; i != 4; ++i) {
        writers.emplace_back([&path, i] {
            jsonl_file file(path);
            boost::json::object record;
            record.emplace("writer", i);
            record.emplace("pad", std::string(3000, 'x'));
            for (int n = 0; n != 50; ++n) file.on_record(record);
        });
    }
    for (auto& one : writers) one.join();
    std::istringstream lines(contents(path));
    std::string line;
    int count = 0;
    for (; std::getline(lines, line); ++count) {
        boost::system::error_code ec;
        BOOST_TEST(boost::json::parse(line, ec).is_object());
        BOOST_TEST(!ec);
    }
    BOOST_TEST(count == 200);
}

BOOST_AUTO_TEST_CASE(a_log_that_cannot_be_written_disturbs_nothing)
{
    host h;
    // Nor does a FIFO that nobody reads.
    scratch folder;
    const auto fifo = (folder.path / "fifo").string();
    BOOST_REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    jsonl_file unread(fifo);
    unread.on_record(boost::json::object());

    jsonl_file nowhere("/dev/null/logs/host.jsonl");
    auto options = h.options();
    options.log = &nowhere;
    belay::hooks::registry hooks(h.io.get_executor(), options);
    hooks.on<session_start>([](const session_start&) { throw 1; }, "x");
    auto s = hooks.create_session({.id = "s-1"}).value();
    auto [ec, started] = h.finish(s.async_start(session_start::cause::start));
    BOOST_TEST(!ec);
    BOOST_TEST(started.failures.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
