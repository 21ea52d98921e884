#include <belay/modules/command.hpp>
#include <belay/modules/runner.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace belay;
using namespace belay::modules;
using namespace belay::test;
using strings = std::vector<std::string>;

namespace {

struct with_builtins : module_host {
    with_builtins() : module_host({.builtin_commands = {"help", "model"}}) {}

    // Registers commands, each with its description: {"name", "description"}.
    void module(std::string name, std::vector<std::pair<std::string, std::string>> commands)
    {
        add(name, [&](api& its) {
            for (const auto& [one, description] : commands) {
                its.register_command(one, description, [this, one](const command& given) {
                    ran.push_back(one + "(" + given.arguments + ")");
                });
            }
        });
    }

    bool run(std::string_view text)
    {
        std::optional<bool> handled;
        runner->async_run_command(text, [&](error_code ec, bool was) {
            BOOST_TEST(!ec);
            handled = was;
        });
        BOOST_TEST(!handled.has_value());  // never from inside the call
        poll();
        BOOST_REQUIRE(handled.has_value());
        return *handled;
    }

    strings listed() const
    {
        strings all;
        for (const auto& one : runner->commands().commands) {
            all.push_back(one.name + ": " + one.description + " (" + one.module + ")");
        }
        return all;
    }

    strings ran;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(commands, with_builtins)

BOOST_AUTO_TEST_CASE(the_name_ends_at_the_first_space_and_the_rest_is_raw)
{
    module("a", {{"deploy", ""}});
    BOOST_TEST(run("/deploy"));
    BOOST_TEST(run("/deploy  prod now "));
    BOOST_TEST(run("/deploy "));
    BOOST_TEST(ran == (strings{"deploy()", "deploy( prod now )", "deploy()"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_no_command_is_not_handled)
{
    module("a", {{"deploy", ""}});
    for (const auto* text : {"", "/", "deploy", " /deploy", "/deploy\tprod", "/deploy\n", "/Deploy",
                             "//deploy", "/ deploy", "/other"}) {
        BOOST_TEST(!run(text), text);
    }
    BOOST_TEST(ran.empty());
}

BOOST_AUTO_TEST_CASE(the_later_registration_wins_at_the_place_of_the_first)
{
    module("a", {{"deploy", "old"}, {"zap", "z"}});
    module("b", {{"deploy", "new"}, {"aid", "a"}});
    BOOST_TEST(listed() == (strings{"deploy: new (b)", "zap: z (a)", "aid: a (b)"}),
               boost::test_tools::per_element());
    BOOST_TEST(runner->find_command("deploy")->description == "new");
    BOOST_TEST(!runner->find_command("nope"));
    BOOST_TEST(
        told == (strings{"b: extension b registers the command /deploy, as extension a does: "
                         "the later one counts"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_clash_is_reported_once_for_each_name)
{
    for (const auto* one : {"a", "b", "c"}) module(one, {{"deploy", one}, {"help", one}});
    BOOST_TEST(told.size() == 2u);
    for (int i = 0; i != 3; ++i) BOOST_TEST(runner->commands().diagnostics.size() == 3u);
    BOOST_TEST(told.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_module_that_replaces_its_own_command_clashes_with_nobody)
{
    module("a", {{"deploy", "old"}, {"deploy", "new"}});
    BOOST_TEST(listed() == strings{"deploy: new (a)"}, boost::test_tools::per_element());
    BOOST_TEST(told.empty());
}

BOOST_AUTO_TEST_CASE(a_built_in_name_is_left_out_of_the_list_and_found_by_name)
{
    module("/ext/a.so", {{"help", "mine"}, {"ok", "k"}});
    BOOST_TEST(listed() == strings{"ok: k (/ext/a.so)"}, boost::test_tools::per_element());
    const auto left_out = runner->commands().diagnostics;
    BOOST_REQUIRE_EQUAL(left_out.size(), 1u);
    BOOST_TEST(left_out[0].module == "/ext/a.so");
    BOOST_TEST(left_out[0].message ==
               "extension /ext/a.so registers the command /help, which is built in");
    BOOST_TEST(runner->find_command("help")->description == "mine");
    BOOST_TEST(told.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_command_that_throws_is_handled_and_reported)
{
    add("a", [](api& its) {
        its.register_command("boom", "", [](const command&) { throw std::runtime_error("bad"); });
    });
    BOOST_TEST(run("/boom x"));
    BOOST_TEST(errors == strings{"command:boom | command | bad"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_command_gets_the_command_safe_context)
{
    struct busy final : agent {
        void wait_for_idle(host_reply<bool> reply) override { waiting.emplace(std::move(reply)); }
        std::optional<host_reply<bool>> waiting;
    };
    const auto host = std::make_shared<busy>();
    module_host it({.agent = host});
    bool done = false;
    it.add("a", [&](api& its) {
        its.register_command("wait", "",
                             [&](const command&, command_context here) -> asio::awaitable<void> {
                                 co_await here.async_wait_for_idle(asio::use_awaitable);
                                 done = true;
                             });
    });
    std::optional<bool> handled;
    it.runner->async_run_command("/wait", [&](error_code, bool was) { handled = was; });
    it.poll();
    BOOST_TEST(!handled.has_value());
    (*host->waiting)(true);
    it.poll();
    BOOST_TEST(done);
    BOOST_TEST(handled.value_or(false));
}

BOOST_AUTO_TEST_CASE(a_command_has_no_timeout_and_can_be_cancelled)
{
    std::optional<reply<command>> kept;
    add("a", [&](api& its) {
        its.register_command("wait", "",
                             [&](const command&, const command_context&, reply<command> answer) {
                                 kept.emplace(std::move(answer));
                             });
    });
    asio::cancellation_signal stop;
    std::optional<error_code> ended;
    runner->async_run_command("/wait", asio::bind_cancellation_slot(
                                           stop.slot(), [&](error_code ec, bool) { ended = ec; }));
    poll();
    time.advance(std::chrono::hours(24));
    poll();
    BOOST_TEST(!ended.has_value());
    stop.emit(asio::cancellation_type::terminal);
    poll();
    BOOST_REQUIRE(ended.has_value());
    BOOST_TEST((*ended == errc::cancelled));
    BOOST_TEST(errors.empty());
}

BOOST_AUTO_TEST_CASE(a_name_that_nobody_could_type_is_refused)
{
    for (const auto* name :
         {"", "a b", "/a", "a/b", "a\tb", "a\n", "\x7f", "\xc2\x9b", "\xc2\xa0", "\xff"}) {
        const auto refused = runner->add(
            "m", [&](api& its) { its.register_command(name, "", [](const command&) {}); });
        BOOST_REQUIRE_MESSAGE(!refused, name);
        BOOST_TEST(refused.error().message ==
                   "Failed to load extension: \"" + std::string(name) +
                       "\" is no name of a command: it is empty, or has a slash, a space or a "
                       "control character, or is no UTF-8");
    }
    BOOST_TEST(!runner->add("m", [&](api& its) {
        its.register_command("x", "", std::function<void(const command&)>());
    }));
    BOOST_TEST(listed().empty());
}

BOOST_AUTO_TEST_SUITE_END()
