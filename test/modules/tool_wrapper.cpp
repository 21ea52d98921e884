#include <belay/modules/tool_wrapper.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace belay;
using namespace belay::modules;
using namespace belay::test;
using namespace std::chrono_literals;
using strings = std::vector<std::string>;

namespace {

// How a call has ended.
struct ended_call {
    std::exception_ptr thrown{};
    tool_output output{};

    bool was_cancelled() const
    {
        try {
            if (thrown) std::rethrow_exception(thrown);
        } catch (const boost::system::system_error& why) {
            return why.code() == errc::cancelled;
        }
        return false;
    }

    // What it threw, if that is an E.
    template <class E = std::exception>
    std::string what() const
    {
        try {
            if (thrown) std::rethrow_exception(thrown);
        } catch (const E& why) {
            return why.what();
        } catch (...) {
        }
        return "";
    }
};

using ended_ptr = std::shared_ptr<std::optional<ended_call>>;

// A person who answers at once, or later, or whose terminal is broken.
struct fake_person final : ui {
    void select(std::string_view title, const std::vector<select_option>& options,
                text_reply reply) override
    {
        titles.emplace_back(title);
        labels.clear();
        for (const auto& one : options) labels.push_back(one.label);
        if (broken) throw std::runtime_error("no terminal");
        if (thinks) {
            reply.get_cancellation_slot().assign(
                [this](asio::cancellation_type) { told_to_stop = true; });
            owed.emplace(std::move(reply));
        } else {
            reply(answer);
        }
    }

    std::optional<std::string> answer = "Approve";
    bool broken = false;
    bool thinks = false;
    std::optional<text_reply> owed;
    strings titles;
    strings labels;
    bool told_to_stop = false;
};

tool_output text(const char* what)
{
    return {{text_block(what)}, {{"d", 1}}, false};
}

boost::json::array block_of(const char* what)
{
    return {text_block(what)};
}

// A tool that answers when the test wants it to.
struct slow_tool {
    std::shared_ptr<std::optional<host_reply<tool_output>>> owed =
        std::make_shared<std::optional<host_reply<tool_output>>>();
    std::shared_ptr<bool> told_to_stop = std::make_shared<bool>(false);

    void operator()(const tool_call&, host_reply<tool_output> reply) const
    {
        reply.get_cancellation_slot().assign(
            [told = told_to_stop](asio::cancellation_type) { *told = true; });
        owed->emplace(std::move(reply));
    }
};

struct wrapper_host : module_host {
    wrapper_host() : wrapper_host(runner_options{.handler_timeout = 40ms}) {}
    explicit wrapper_host(runner_options options)
        : module_host(std::move(options)), tools(std::make_unique<tool_wrapper>(*runner))
    {}

    // A tool that returns `ok`, and notes that it ran.
    tool demo(tool_tier tier = tool_tier::read)
    {
        return doing([](const tool_call&) { return text("ok"); }, tier);
    }

    template <class F>
    tool doing(F work, tool_tier tier = tool_tier::read)
    {
        return {.name = "demo",
                .approval = tool_approval{.tier = tier},
                .execute = [this, work](const tool_call& call) {
                    calls.push_back("tool");
                    return work(call);
                }};
    }

    template <class Exception>
    tool failing(Exception why)
    {
        return doing([why](const tool_call&) -> tool_output { throw why; });
    }

    ended_ptr start_call(const tool& what)
    {
        auto ended = std::make_shared<std::optional<ended_call>>();
        boost::json::object input{{"x", 1}};
        tools->async_execute(
            what, "c1", std::move(input),
            asio::bind_cancellation_slot(stop.slot(),
                                         [ended](std::exception_ptr thrown, tool_output output) {
                                             ended->emplace(ended_call{thrown, std::move(output)});
                                         }));
        poll();
        return ended;
    }

    ended_call run(const tool& what)
    {
        const auto ended = start_call(what);
        BOOST_REQUIRE_MESSAGE(ended->has_value(), "it has not ended");
        return **ended;
    }

    void cancel()
    {
        stop.emit(asio::cancellation_type::terminal);
        poll();
    }

    // Modules that note that they were asked.
    void watch()
    {
        add("watch", [this](api& its) {
            its.on<tool_call>([this](const tool_call&) { calls.emplace_back("before"); });
            its.on<tool_result>([this](const tool_result& event) {
                calls.emplace_back("after");
                seen.push_back(event);
            });
        });
    }

    std::unique_ptr<tool_wrapper> tools;
    asio::cancellation_signal stop;
    strings calls;
    std::vector<tool_result> seen;
};

// One with a person in front of it, in the mode `ask`.
struct asking_host : wrapper_host {
    asking_host() : asking_host(std::make_shared<fake_person>()) {}
    explicit asking_host(std::shared_ptr<fake_person> who)
        : wrapper_host(runner_options{.ui = who, .handler_timeout = 40ms}), person(std::move(who))
    {
        tools->set_approval({.mode = "ask"});
    }

    std::shared_ptr<fake_person> person;
};

// After a call that was not to run.
void check_nobody_heard(const wrapper_host& host)
{
    BOOST_TEST(host.calls == strings(), boost::test_tools::per_element());
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(tool_wrapper_suite, wrapper_host)

// --- the stages --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(without_modules_a_tool_runs_and_gives_its_own_output)
{
    const auto ended = run(demo());
    BOOST_TEST(!ended.thrown);
    BOOST_TEST(ended.output.content == block_of("ok"));
    BOOST_TEST(ended.output.details == boost::json::value({{"d", 1}}));
    BOOST_TEST(!ended.output.is_error);
}

BOOST_AUTO_TEST_CASE(modules_are_asked_before_the_tool_and_told_after_it)
{
    watch();
    run(demo());
    BOOST_TEST(calls == (strings{"before", "tool", "after"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(modules_and_tool_see_the_call_and_modules_see_the_result)
{
    std::vector<tool_call> asked;
    add("look", [&](api& its) {
        its.on<tool_call>([&](const tool_call& event) { asked.push_back(event); });
    });
    watch();
    run(doing([&](const tool_call& call) {
        asked.push_back(call);
        return text("ok");
    }));
    BOOST_TEST_REQUIRE(asked.size() == 2U);
    for (const auto& call : asked) {
        BOOST_TEST(call.tool_name == "demo");
        BOOST_TEST(call.tool_call_id == "c1");
        BOOST_TEST(call.input == (boost::json::object{{"x", 1}}));
    }
    BOOST_TEST_REQUIRE(seen.size() == 1U);
    BOOST_TEST(seen[0].tool_name == "demo");
    BOOST_TEST(seen[0].tool_call_id == "c1");
    BOOST_TEST(seen[0].input == (boost::json::object{{"x", 1}}));
    BOOST_TEST(seen[0].content == block_of("ok"));
    BOOST_TEST(seen[0].details == boost::json::value({{"d", 1}}));
    BOOST_TEST(!seen[0].is_error);
}

BOOST_AUTO_TEST_CASE(a_call_that_a_module_blocks_throws_the_reason_and_does_not_run)
{
    add("guard",
        [](api& its) { its.on<tool_call>([](const tool_call&) { return block{"not today"}; }); });
    watch();
    BOOST_TEST(run(demo()).what<tool_blocked>() == "not today");
    check_nobody_heard(*this);
}

BOOST_AUTO_TEST_CASE(a_module_that_throws_blocks_the_call_and_is_named)
{
    add("/ext/a.so", [](api& its) {
        its.on<tool_call>([](const tool_call&) -> block { throw std::runtime_error("kaboom"); });
    });
    const auto reason = run(demo()).what<tool_blocked>();
    BOOST_TEST(reason.find("/ext/a.so") != reason.npos);
    BOOST_TEST(reason.find("kaboom") != reason.npos);
    BOOST_TEST(errors == strings{"/ext/a.so | tool_call | kaboom"},
               boost::test_tools::per_element());
    check_nobody_heard(*this);
}

BOOST_AUTO_TEST_CASE(a_module_that_does_not_answer_blocks_the_call_and_is_named)
{
    std::optional<reply<tool_call>> owed;
    add("/ext/a.so", [&](api& its) {
        its.on<tool_call>(
            [&](const tool_call&, reply<tool_call> answer) { owed.emplace(std::move(answer)); });
    });
    const auto ended = start_call(demo());
    BOOST_TEST(!ended->has_value());
    time.advance(40ms);
    poll();
    BOOST_TEST_REQUIRE(ended->has_value());
    const auto reason = (*ended)->what<tool_blocked>();
    BOOST_TEST(reason.find("/ext/a.so") != reason.npos);
    BOOST_TEST(reason.find("40ms") != reason.npos);
    check_nobody_heard(*this);
}

// --- results -----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_failure_is_told_as_an_error_and_its_own_exception_is_thrown)
{
    struct disk_full : std::runtime_error {
        using std::runtime_error::runtime_error;
    };
    watch();
    BOOST_TEST(run(failing(disk_full("disk full"))).what<disk_full>() == "disk full");
    BOOST_TEST_REQUIRE(seen.size() == 1U);
    BOOST_TEST(seen[0].is_error);
    BOOST_TEST(seen[0].content == block_of("disk full"));
    BOOST_TEST(seen[0].details.is_null());
}

BOOST_AUTO_TEST_CASE(a_failure_is_thrown_where_no_module_listens)
{
    BOOST_TEST(run(failing(std::runtime_error("disk full"))).what() == "disk full");
}

// What modules return about a failure, and how the call ends.
BOOST_AUTO_TEST_CASE(an_override_is_returned_in_the_place_of_a_failure)
{
    tool_result::result said;
    add("edit", [&](api& its) { its.on<tool_result>([&](const tool_result&) { return said; }); });
    const auto failed = failing(std::runtime_error("disk full"));

    said = {};
    BOOST_TEST(run(failed).what() == "disk full");

    said = {.is_error = true};
    auto ended = run(failed);
    BOOST_TEST(!ended.thrown);
    BOOST_TEST(ended.output.content == block_of("disk full"));
    BOOST_TEST(ended.output.is_error);

    said = {.content = block_of("hint")};
    ended = run(failed);
    BOOST_TEST(!ended.thrown);
    BOOST_TEST(ended.output.content == block_of("hint"));
    BOOST_TEST(ended.output.is_error);

    said = {.content = block_of("recovered"), .is_error = false};
    ended = run(failed);
    BOOST_TEST(!ended.thrown);
    BOOST_TEST(ended.output.content == block_of("recovered"));
    BOOST_TEST(!ended.output.is_error);
}

BOOST_AUTO_TEST_CASE(a_success_may_be_made_an_error)
{
    add("edit", [&](api& its) {
        its.on<tool_result>([&](const tool_result&) {
            return tool_result::result{.content = block_of("now failing"), .is_error = true};
        });
    });
    const auto ended = run(demo());
    BOOST_TEST(!ended.thrown);
    BOOST_TEST(ended.output.content == block_of("now failing"));
    BOOST_TEST(ended.output.details == boost::json::value({{"d", 1}}));
    BOOST_TEST(ended.output.is_error);
}

BOOST_AUTO_TEST_CASE(an_error_that_the_tool_returns_is_told_and_kept)
{
    add("edit", [&](api& its) {
        its.on<tool_result>(
            [&](const tool_result&) { return tool_result::result{.content = block_of("hint")}; });
    });
    watch();
    const auto ended =
        run(doing([](const tool_call&) { return tool_output{block_of("soft fail"), {}, true}; }));
    BOOST_TEST(!ended.thrown);
    BOOST_TEST(ended.output.content == block_of("hint"));
    BOOST_TEST(ended.output.is_error);
    BOOST_TEST_REQUIRE(seen.size() == 1U);
    BOOST_TEST(seen[0].is_error);
}

BOOST_AUTO_TEST_CASE(a_module_that_fails_after_the_tool_changes_nothing)
{
    add("bad", [&](api& its) {
        its.on<tool_result>(
            [](const tool_result&) -> tool_result::result { throw std::runtime_error("bad"); });
    });
    const auto ended = run(demo());
    BOOST_TEST(!ended.thrown);
    BOOST_TEST(ended.output.content == block_of("ok"));
    BOOST_TEST(errors == strings{"bad | tool_result | bad"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_tool_has_no_timeout)
{
    const slow_tool slow;
    const auto ended = start_call({.name = "demo", .execute = slow});
    time.advance(24h);
    poll();
    BOOST_TEST(!ended->has_value());
    BOOST_TEST(!*slow.told_to_stop);
    (**slow.owed)(text("ok"));
    poll();
    BOOST_TEST_REQUIRE(ended->has_value());
    BOOST_TEST(!(*ended)->thrown);
}

BOOST_AUTO_TEST_CASE(a_cancellation_passes_as_it_was_thrown_and_no_module_hears_of_it)
{
    watch();
    BOOST_TEST(run(failing(tool_cancelled("stopped by user"))).what<tool_cancelled>() ==
               "stopped by user");
    const boost::system::system_error aborted(asio::error::operation_aborted);
    BOOST_TEST(run(failing(aborted)).what<boost::system::system_error>() == aborted.what());
    BOOST_TEST(calls == (strings{"before", "tool", "before", "tool"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_tool_that_drops_its_reply_has_failed)
{
    watch();
    const tool drops{.name = "demo",
                     .execute = [](const tool_call&, const host_reply<tool_output>&) {}};
    BOOST_TEST(run(drops).what() != "");
    BOOST_TEST_REQUIRE(seen.size() == 1U);
    BOOST_TEST(seen[0].is_error);
}

BOOST_AUTO_TEST_CASE(a_tool_without_a_function_has_failed)
{
    BOOST_TEST(run({.name = "demo"}).what<std::logic_error>() == "tool demo executes nothing");
}

// --- approval ----------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(a_person_is_asked_once_with_two_choices, asking_host)
{
    watch();
    const auto ended = run(demo(tool_tier::exec));
    BOOST_TEST(!ended.thrown);
    BOOST_TEST(person->titles == strings{"Allow tool: demo"}, boost::test_tools::per_element());
    BOOST_TEST(person->labels == (strings{"Approve", "Deny"}), boost::test_tools::per_element());
    BOOST_TEST(calls == (strings{"before", "tool", "after"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_call_that_the_person_does_not_approve_reaches_nobody, asking_host)
{
    watch();
    for (const std::optional<std::string>& answer :
         {std::optional<std::string>(), std::optional<std::string>("Deny"),
          std::optional<std::string>("approve")}) {
        person->answer = answer;
        BOOST_TEST(run(demo(tool_tier::exec)).what<tool_denied>() ==
                   "Tool call denied by user: demo");
    }
    check_nobody_heard(*this);
}

BOOST_FIXTURE_TEST_CASE(what_the_mode_allows_asks_nobody, asking_host)
{
    run(demo(tool_tier::read));
    BOOST_TEST(person->titles.empty());
    BOOST_TEST(calls == strings{"tool"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(where_nobody_is_there_to_ask_the_call_is_denied)
{
    watch();
    tools->set_approval({.mode = "ask"});
    const auto what = run(demo(tool_tier::exec)).what<tool_denied>();
    BOOST_TEST(what.starts_with("Tool call denied by user: demo\n"));
    BOOST_TEST(what.find("no interactive UI available") != what.npos);
    BOOST_TEST(what.find("tools.approval.demo: allow") != what.npos);
    check_nobody_heard(*this);
}

BOOST_FIXTURE_TEST_CASE(a_policy_denies_without_a_prompt_also_under_auto_approve, asking_host)
{
    watch();
    for (const bool auto_approve : {false, true}) {
        tools->set_approval({.mode = "yolo",
                             .policies = {{"demo", approval_policy::deny}},
                             .auto_approve = auto_approve});
        const auto what = run(demo()).what<tool_denied>();
        BOOST_TEST(what.starts_with("Tool call denied by user: demo\n"));
        BOOST_TEST(what.find("Tool \"demo\" is blocked by user policy") != what.npos);
    }
    BOOST_TEST(person->titles.empty());
    check_nobody_heard(*this);
}

BOOST_FIXTURE_TEST_CASE(a_prompt_that_fails_is_what_the_call_throws, asking_host)
{
    watch();
    person->broken = true;
    BOOST_TEST(run(demo(tool_tier::exec)).what() == "no terminal");

    person->broken = false;
    person->thinks = true;
    const auto ended = start_call(demo(tool_tier::exec));
    person->owed->fail("the terminal has gone");
    poll();
    BOOST_TEST_REQUIRE(ended->has_value());
    BOOST_TEST((*ended)->what() == "the terminal has gone");
    check_nobody_heard(*this);
}

BOOST_FIXTURE_TEST_CASE(a_prompt_has_no_timeout, asking_host)
{
    person->thinks = true;
    const auto ended = start_call(demo(tool_tier::exec));
    time.advance(24h);
    poll();
    BOOST_TEST(!ended->has_value());
    (*person->owed)("Approve");
    poll();
    BOOST_TEST_REQUIRE(ended->has_value());
    BOOST_TEST(!(*ended)->thrown);
}

BOOST_FIXTURE_TEST_CASE(a_prompt_shows_why_and_what, asking_host)
{
    auto what = demo();
    what.name = "mcp__sea__dredge";
    what.approval = [](const boost::json::object& input) {
        return tool_approval{.tier = input.contains("x") ? tool_tier::exec : tool_tier::read,
                             .reason = "it looks critical"};
    };
    what.prompt_details = [](const boost::json::object& input) {
        return strings{"x: " + serialize(input.at("x")), "", std::string(2001, 'y')};
    };
    run(what);
    what.approval = tool_approval{};
    what.prompt_details = nullptr;
    run(what);
    BOOST_TEST(person->titles ==
                   (strings{"Allow tool: mcp__sea__dredge\nReason: it looks critical\nx: 1\n" +
                                std::string(2000, 'y') + "[\u20261ch elided\u2026]",
                            "Allow tool: mcp__sea__dredge\nOrigin: MCP server tool"}),
               boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_prompt_that_a_policy_asks_for_is_not_for_the_tools_reason, asking_host)
{
    auto what = demo();
    what.approval = tool_approval{
        .tier = tool_tier::exec, .reason = "it looks critical", .always_prompts = true};
    tools->set_approval({.mode = "yolo", .policies = {{"demo", approval_policy::prompt}}});
    BOOST_TEST(!run(what).thrown);
    BOOST_TEST(person->titles == strings{"Allow tool: demo"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_tool_that_cannot_say_what_it_is_does_not_run, asking_host)
{
    watch();
    auto what = demo();
    what.approval = [](const boost::json::object&) -> tool_approval {
        throw std::runtime_error("no idea");
    };
    BOOST_TEST(run(what).what() == "no idea");

    what.approval = tool_approval{.tier = tool_tier::exec};
    what.prompt_details = [](const boost::json::object&) -> strings {
        throw std::runtime_error("no words");
    };
    BOOST_TEST(run(what).what() == "no words");
    BOOST_TEST(person->titles.empty());
    check_nobody_heard(*this);
}

BOOST_FIXTURE_TEST_CASE(settings_count_for_the_calls_that_come, asking_host)
{
    tools->set_approval({.mode = "yolo"});
    BOOST_TEST((tools->approval().mode == "yolo"));
    run(demo(tool_tier::exec));
    BOOST_TEST(person->titles.empty());
}

BOOST_FIXTURE_TEST_CASE(a_handler_that_comes_while_a_person_is_asked_is_asked_too, asking_host)
{
    person->thinks = true;
    const auto ended = start_call(demo(tool_tier::exec));
    watch();
    (*person->owed)("Approve");
    poll();
    BOOST_TEST(ended->has_value());
    BOOST_TEST(calls == (strings{"before", "tool", "after"}), boost::test_tools::per_element());
}

// --- cancellation ------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(a_cancellation_ends_the_dialog, asking_host)
{
    watch();
    person->thinks = true;
    const auto ended = start_call(demo(tool_tier::exec));
    cancel();
    BOOST_TEST_REQUIRE(ended->has_value());
    BOOST_TEST((*ended)->was_cancelled());
    BOOST_TEST(person->told_to_stop);
    (*person->owed)("Approve");
    poll();
    check_nobody_heard(*this);
}

BOOST_AUTO_TEST_CASE(a_cancellation_abandons_a_module_that_is_asked)
{
    std::optional<reply<tool_call>> owed;
    add("slow", [&](api& its) {
        its.on<tool_call>(
            [&](const tool_call&, reply<tool_call> answer) { owed.emplace(std::move(answer)); });
    });
    watch();
    const auto ended = start_call(demo());
    cancel();
    BOOST_TEST_REQUIRE(ended->has_value());
    BOOST_TEST((*ended)->was_cancelled());
    (*owed)();
    poll();
    check_nobody_heard(*this);
    BOOST_TEST(errors.empty());
}

BOOST_AUTO_TEST_CASE(a_cancellation_tells_the_tool_and_no_module)
{
    watch();
    const slow_tool slow;
    const auto ended = start_call({.name = "demo", .execute = slow});
    cancel();
    BOOST_TEST_REQUIRE(ended->has_value());
    BOOST_TEST((*ended)->was_cancelled());
    BOOST_TEST(*slow.told_to_stop);
    (**slow.owed)(text("too late"));
    poll();
    BOOST_TEST(calls == strings{"before"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_cancellation_abandons_a_module_that_is_told)
{
    std::optional<reply<tool_result>> owed;
    add("slow", [&](api& its) {
        its.on<tool_result>([&](const tool_result&, reply<tool_result> answer) {
            owed.emplace(std::move(answer));
        });
    });
    watch();
    const auto ended = start_call(demo());
    cancel();
    BOOST_TEST_REQUIRE(ended->has_value());
    BOOST_TEST((*ended)->was_cancelled());
    (*owed)();
    poll();
    BOOST_TEST(calls == (strings{"before", "tool"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_cancellation_after_the_end_does_nothing)
{
    const auto ended = start_call(demo());
    BOOST_TEST_REQUIRE(ended->has_value());
    cancel();
    BOOST_TEST(!(*ended)->thrown);
}

BOOST_AUTO_TEST_CASE(a_coroutine_hears_of_a_cancellation)
{
    watch();
    bool stopped = false;
    const auto ended = start_call(
        {.name = "demo", .execute = [&](const tool_call&) -> asio::awaitable<tool_output> {
             asio::steady_timer never(co_await asio::this_coro::executor);
             never.expires_at(asio::steady_timer::time_point::max());
             try {
                 co_await never.async_wait(asio::use_awaitable);
             } catch (const boost::system::system_error&) {
                 stopped = true;
             }
             co_return tool_output();
         }});
    BOOST_TEST(!ended->has_value());
    cancel();
    BOOST_TEST_REQUIRE(ended->has_value());
    BOOST_TEST((*ended)->was_cancelled());
    BOOST_TEST(stopped);
}

// --- lifetimes ---------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_coroutine_awaits_a_tool_and_its_exception)
{
    std::string caught;
    std::optional<tool_output> output;
    asio::co_spawn(
        io,
        [&]() -> asio::awaitable<void> {
            const auto fine = demo();
            const auto bad = failing(std::runtime_error("disk full"));
            boost::json::object input{{"x", 1}};
            output = co_await tools->async_execute(fine, "c1", input, asio::use_awaitable);
            try {
                co_await tools->async_execute(bad, "c2", input, asio::use_awaitable);
            } catch (const std::runtime_error& why) {
                caught = why.what();
            }
        },
        [](std::exception_ptr thrown) { BOOST_TEST(!thrown); });
    poll();
    BOOST_TEST_REQUIRE(output.has_value());
    BOOST_TEST(output->content == block_of("ok"));
    BOOST_TEST(caught == "disk full");
}

BOOST_AUTO_TEST_CASE(calls_run_beside_each_other)
{
    watch();
    const slow_tool first;
    const slow_tool second;
    const auto one = start_call({.name = "demo", .execute = first});
    const auto other = start_call({.name = "demo", .execute = second});
    (**second.owed)(text("second"));
    poll();
    BOOST_TEST(!one->has_value());
    BOOST_TEST_REQUIRE(other->has_value());
    BOOST_TEST((*other)->output.content == block_of("second"));
    (**first.owed)(text("first"));
    poll();
    BOOST_TEST_REQUIRE(one->has_value());
    BOOST_TEST((*one)->output.content == block_of("first"));
}

BOOST_AUTO_TEST_CASE(a_tool_may_answer_from_another_thread)
{
    watch();
    const slow_tool slow;
    const auto ended = start_call({.name = "demo", .execute = slow});
    std::thread worker([&] { (**slow.owed)(text("ok")); });
    io.restart();
    io.run();  // the call keeps it at work
    worker.join();
    BOOST_TEST_REQUIRE(ended->has_value());
    BOOST_TEST((*ended)->output.content == block_of("ok"));
    BOOST_TEST(seen.size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_call_outlives_the_wrapper_and_the_runner, asking_host)
{
    watch();
    person->thinks = true;
    const slow_tool slow;
    const auto ended = start_call({.name = "demo", .execute = slow});
    tools.reset();
    runner.reset();
    (*person->owed)("Approve");
    poll();
    BOOST_TEST(calls == strings{"before"}, boost::test_tools::per_element());
    (**slow.owed)(text("ok"));
    poll();
    BOOST_TEST_REQUIRE(ended->has_value());
    BOOST_TEST((*ended)->output.content == block_of("ok"));
    BOOST_TEST(seen.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

// The event loop may go at any moment; completion handlers go with it, uncalled.
BOOST_AUTO_TEST_SUITE(tool_wrapper_without_a_loop_suite)

namespace {

// A call that is waiting at some stage when its event loop goes.
struct abandoned {
    std::shared_ptr<fake_person> person = std::make_shared<fake_person>();
    slow_tool slow;
    std::optional<reply<tool_call>> before;
    std::optional<reply<tool_result>> after;
    std::shared_ptr<int> handler_alive = std::make_shared<int>();

    template <class Prepare>
    void run(Prepare prepare)
    {
        {
            asio::io_context io;
            runner modules(io.get_executor(), {.ui = person});
            prepare(modules);
            tool_wrapper tools(modules, {.mode = "ask"});
            tools.async_execute(
                {.name = "demo",
                 .approval = tool_approval{.tier = tool_tier::exec},
                 .execute = slow},
                "c1", {}, [alive = handler_alive](const std::exception_ptr&, const tool_output&) {
                    BOOST_ERROR("nobody is there to complete it");
                });
            io.poll();
            if (slow.owed->has_value() && after_the_tool) {
                (**slow.owed)(text("ok"));
                io.restart();
                io.poll();
            }
        }
        BOOST_TEST(handler_alive.use_count() == 1);
    }

    bool after_the_tool = false;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_dialog_may_answer_after_the_loop_has_gone, abandoned)
{
    person->thinks = true;
    run([](runner&) {});
    BOOST_TEST_REQUIRE(person->owed.has_value());
    (*person->owed)("Approve");
    BOOST_TEST(!slow.owed->has_value());
}

BOOST_FIXTURE_TEST_CASE(a_ui_that_keeps_a_question_does_not_keep_itself, abandoned)
{
    person->thinks = true;
    run([](runner&) {});
    const std::weak_ptr<fake_person> alive = person;
    person.reset();
    BOOST_TEST(alive.expired());
}

BOOST_FIXTURE_TEST_CASE(a_module_may_answer_after_the_loop_has_gone, abandoned)
{
    run([&](runner& modules) {
        const auto added = modules.add("slow", [&](api& its) {
            its.on<tool_call>([&](const tool_call&, reply<tool_call> answer) {
                before.emplace(std::move(answer));
            });
        });
        BOOST_TEST(added.has_value());
    });
    BOOST_TEST_REQUIRE(before.has_value());
    (*before)();
    BOOST_TEST(!slow.owed->has_value());
}

BOOST_FIXTURE_TEST_CASE(a_tool_may_answer_after_the_loop_has_gone, abandoned)
{
    run([](runner&) {});
    BOOST_TEST_REQUIRE(slow.owed->has_value());
    (**slow.owed)(text("ok"));
    BOOST_TEST(!*slow.told_to_stop);
}

BOOST_FIXTURE_TEST_CASE(a_module_may_be_told_when_the_loop_goes, abandoned)
{
    after_the_tool = true;
    run([&](runner& modules) {
        const auto added = modules.add("slow", [&](api& its) {
            its.on<tool_result>([&](const tool_result&, reply<tool_result> answer) {
                after.emplace(std::move(answer));
            });
        });
        BOOST_TEST(added.has_value());
    });
    BOOST_TEST_REQUIRE(after.has_value());
    (*after)();
}

BOOST_AUTO_TEST_CASE(a_loop_that_goes_before_the_call_has_begun_takes_it_along)
{
    bool ran = false;
    {
        asio::io_context io;
        runner modules(io.get_executor());
        tool_wrapper tools(modules);
        tools.async_execute({.name = "demo",
                             .execute =
                                 [&](const tool_call&) {
                                     ran = true;
                                     return tool_output();
                                 }},
                            "c1", {}, [](const std::exception_ptr&, const tool_output&) {});
    }
    BOOST_TEST(!ran);
}

BOOST_AUTO_TEST_SUITE_END()
