#include <belay/core/matcher.hpp>
#include <belay/core/trace.hpp>
#include <belay/hooks/command_hooks.hpp>
#include <belay/hooks/extension.hpp>
#include <belay/hooks/registry.hpp>
#include <belay/hooks/run_tools.hpp>

#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include "../process/support.hpp"
#include "host.hpp"
#include <chrono>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

using namespace belay;
using namespace belay::hooks;
using namespace std::chrono_literals;
using belay::test::host;
using ::test::scratch_folder;

namespace {

using names = std::vector<std::string>;

pre_tool_use call_of(const std::string& tool)
{
    return {.call = {.id = "call_1", .name = tool}};
}

post_tool_use result_of(const std::string& tool)
{
    return {.call = {.id = "call_1", .name = tool}, .result = text_result("done")};
}

// Asks about a call of that tool, and about its result.
void ask(host& h, const std::string& tool)
{
    h.finish(h.hooks.async_dispatch<pre_tool_use>(call_of(tool)));
    h.finish(h.hooks.async_dispatch<post_tool_use>(result_of(tool)));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tools_suite)

BOOST_AUTO_TEST_CASE(an_entry_is_asked_about_its_tools_alone_and_in_its_place)
{
    host h;
    h.use(R"([{"phase":"pre_tool_use","argv":["any"]},
              {"phase":"pre_tool_use","argv":["writes"],"tools":["edit","write"]},
              {"phase":"post_tool_use","argv":["shell"],"tools":["bash"]},
              {"phase":"pre_tool_use","argv":["last"]}])");
    ask(h, "edit");
    BOOST_TEST(h.programs.names() == (names{"any", "writes", "last"}));
    h.programs.runs.clear();
    ask(h, "bash");
    BOOST_TEST(h.programs.names() == (names{"any", "last", "shell"}));
    h.programs.runs.clear();
    for (const std::string other : {"Edit", "edi", "edits", ""}) {
        ask(h, other);
        BOOST_TEST(h.programs.names() == (names{"any", "last"}), "a tool named " << other);
        h.programs.runs.clear();
    }
}

BOOST_AUTO_TEST_CASE(calls_of_one_reply_have_the_hooks_of_their_tools)
{
    host h;
    h.use(R"([{"phase":"pre_tool_use","argv":["shell"],"tools":["bash"]}])");
    h.programs.prints["shell"] = R"({"power":"block","reason":"no shell today"})";
    auto session = h.open_in_turn();
    model_reply reply;
    reply.calls = {{.id = "c1", .name = "bash"}, {.id = "c2", .name = "read"}};
    tool_host tools;
    tools.permit = [](const tool_call&) { return permission::grant(); };
    tools.run = [](const tool_call&) { return text_result("done"); };
    const auto [ec, records] = h.finish(session.async_run_tools(std::move(reply), tools));
    BOOST_REQUIRE(records.size() == 2u);
    BOOST_TEST((records[0].fate == call_fate::blocked));
    BOOST_TEST((records[1].fate == call_fate::ran));
    BOOST_TEST(h.programs.runs.size() == 1u);
}

BOOST_AUTO_TEST_CASE(under_claude_a_tool_has_the_name_that_the_model_used)
{
    host h;
    h.use(R"([{"phase":"PreToolUse","protocol":"claude","argv":["a"],"tools":["bash"]},
              {"phase":"PreToolUse","protocol":"claude","argv":["b"],"tools":["Bash"]}])");
    h.programs.prints["a"] = "";
    ask(h, "bash");
    BOOST_TEST(h.programs.names() == names{"a"});
    BOOST_TEST(h.programs.runs[0].input.at("tool_name").as_string() == "Bash");
}

BOOST_AUTO_TEST_CASE(no_process_is_started_for_a_tool_that_no_hook_wants)
{
    scratch_folder folder;
    boost::asio::io_context io;
    registry hooks(io.get_executor());
    const auto add = [&](executable_spec spec, const std::string& mark) {
        spec.phase = "pre_tool_use";
        spec.argv = {"/bin/sh", "-c", "echo started >>\"$0\"; read -r line; exit 3", folder / mark};
        spec.timeout = 30s;
        spec.tools = {"bash"};
        hooks.on_executable(spec, mark).value();
    };
    add({}, "once");
    add({.mode = run_mode::worker}, "worker");
    const auto ask_about = [&](const std::string& tool) {
        std::size_t failures = 0;
        hooks.async_dispatch<pre_tool_use>(
            call_of(tool),
            [&](error_code, const pre_tool_use::outcome& said) { failures = said.ignored.size(); });
        io.restart();
        io.run();
        return failures;
    };
    BOOST_TEST(ask_about("read") == 0u);
    BOOST_TEST(!std::filesystem::exists(folder / "once"));
    BOOST_TEST(!std::filesystem::exists(folder / "worker"));
    BOOST_TEST(ask_about("bash") == 2u);
    BOOST_TEST(std::filesystem::exists(folder / "once"));
    BOOST_TEST(std::filesystem::exists(folder / "worker"));
}

BOOST_AUTO_TEST_CASE(a_function_may_be_for_some_tools)
{
    host h;
    names asked;
    const auto id = h.hooks.on<pre_tool_use>(
        glob("mcp__*"), [&](const pre_tool_use& event) { asked.push_back(event.call.name); },
        "remote");
    h.hooks.on<post_tool_use>(
        exact("read"),
        [&](const post_tool_use& event, reply<post_tool_use> answer) {
            asked.push_back("after " + event.call.name);
            answer();
        },
        "reader", 5s);
    for (const auto* tool : {"mcp__pg", "read", "bash"}) ask(h, tool);
    BOOST_TEST(asked == (names{"mcp__pg", "after read"}));
    BOOST_TEST(h.hooks.remove(id));
    ask(h, "mcp__pg");
    BOOST_TEST(asked.size() == 2u);
}

BOOST_AUTO_TEST_CASE(an_extension_may_register_for_some_tools)
{
    host h;
    names asked;
    extension acme;
    acme.name = "acme";
    acme.capabilities = {"hooks.pre_tool_use", "hooks.command"};
    acme.activate = [&](registrar& hooks) {
        (void)hooks.on<pre_tool_use>(any_of({"edit", "write"}), [&](const pre_tool_use& event) {
            asked.push_back(event.call.name);
        });
        (void)hooks.on_executable(
            {.phase = "pre_tool_use", .argv = {"/opt/acme/guard"}, .tools = {"write"}});
    };
    const auto id = h.hooks.activate(acme).value();
    for (const auto* tool : {"edit", "read", "write"}) ask(h, tool);
    BOOST_TEST(asked == (names{"edit", "write"}));
    BOOST_TEST(h.programs.names() == names{"guard"});
    BOOST_TEST(h.hooks.deactivate(id));
    ask(h, "write");
    BOOST_TEST(asked.size() == 2u);
    BOOST_TEST(h.programs.runs.size() == 1u);

    acme.activate = [&](registrar& hooks) {
        (void)hooks.on_executable({.phase = "pre_turn", .argv = {"/x"}, .tools = {"write"}});
    };
    const auto refused = h.hooks.activate(acme);
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().message ==
               "extension \"acme\": Command hook tools mean nothing in the phase pre_turn");
}

BOOST_AUTO_TEST_CASE(the_ready_made_extension_takes_tools_too)
{
    host h;
    const boost::json::value own{
        {"hooks",
         {{{"phase", "pre_tool_use"}, {"argv", {"/x/guard", "a"}}, {"tools", {"bash", "edit"}}}}}};
    h.hooks.activate(command_hooks(), own).value();
    for (const auto* tool : {"bash", "read"}) ask(h, tool);
    BOOST_TEST(h.programs.runs.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_trace_tells_which_hooks_are_not_for_the_tool)
{
    struct kept_trace final : trace_sink {
        void on_span(const trace_span& span) noexcept override
        {
            seen.push_back(span.handler.name + (span.matched ? " matched" : " is for others"));
        }
        names seen;
    } trace;
    host h;
    auto options = h.options();
    options.trace = &trace;
    h.hooks = registry(h.io.get_executor(), options);
    h.use(R"([{"phase":"pre_tool_use","argv":["writes"],"tools":["edit"]},
              {"phase":"pre_tool_use","argv":["any"]}])");
    h.finish(h.hooks.async_dispatch<pre_tool_use>(call_of("bash")));
    BOOST_TEST(trace.seen == (names{"writes is for others", "any matched"}));
}

BOOST_AUTO_TEST_SUITE_END()
