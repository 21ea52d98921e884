#include <belay/modules/context.hpp>
#include <belay/modules/runner.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace asio = boost::asio;
namespace json = boost::json;
using namespace belay;
using namespace belay::modules;
using namespace belay::test;
using namespace std::chrono_literals;
using asio::use_awaitable;
using strings = std::vector<std::string>;

namespace {

std::string message_of(const std::exception_ptr& why)
{
    try {
        if (why) std::rethrow_exception(why);
    } catch (const std::exception& e) {
        return e.what();
    }
    return "";
}

struct recorder final : modules::agent {
    struct writer final : session_writer {
        explicit writer(strings& to) : log(to) {}
        void append_message(json::object message) override
        {
            log.push_back("message of " + std::string(message.at("role").as_string()));
        }
        void append_entry(std::string custom_type, json::value) override
        {
            log.push_back("entry " + custom_type);
        }
        strings& log;
    };
    struct kept_session final : session_manager {
        std::optional<std::string> session_file() const override { return "/s/1.jsonl"; }
    };
    struct two_models final : model_registry {
        std::vector<model_info> models() const override
        {
            return {{.provider = "p", .id = "small"}, {.provider = "p", .id = "big"}};
        }
    };

    std::string cwd() const override { return "/project"; }
    std::shared_ptr<const session_manager> session() const override
    {
        return std::make_shared<kept_session>();
    }
    std::shared_ptr<const model_registry> models() const override
    {
        return std::make_shared<two_models>();
    }
    std::optional<model_info> model() const override { return current; }
    bool is_idle() const override { return idle; }
    bool has_queued_messages() const override { return queued; }
    void abort() override { log.emplace_back("abort"); }
    void send_message(custom_message message, const delivery_options& options) override
    {
        if (fails) throw std::runtime_error("the session is read-only");
        log.push_back("send " + message.custom_type + (message.display ? " shown" : " hidden") +
                      (options.trigger_turn ? " with a turn" : ""));
        last_sent = std::move(message);
    }
    void append_entry(std::string custom_type, json::value data) override
    {
        log.push_back("append " + custom_type + (data.is_null() ? " without data" : ""));
    }
    void new_session(const new_session_options& options, host_reply<session_change> reply) override
    {
        log.push_back("new session from " + options.parent_session.value_or("nothing"));
        if (!cancels && options.setup) {
            writer to(log);
            options.setup(to);
        }
        reply({.cancelled = cancels});
    }
    void branch(const std::string& entry_id, host_reply<session_change> reply) override
    {
        if (entry_id != "user-1") throw std::runtime_error("Invalid entry ID for branching");
        reply({.cancelled = false});
    }
    void navigate_tree(const std::string& target_id, const navigate_options& options,
                       host_reply<session_change> reply) override
    {
        log.push_back("go to " + target_id + (options.summarize ? " with a summary" : ""));
        reply({.cancelled = false});
    }

    std::optional<model_info> current;
    bool idle = true;
    bool queued = false;
    bool fails = false;
    custom_message last_sent{};
    bool cancels = false;
    strings log;
};

// Answers when the test says so.
struct slow_person final : modules::ui {
    void confirm(std::string_view title, std::string_view message, host_reply<bool> reply) override
    {
        asked.push_back(std::string(title) + ": " + std::string(message));
        reply.get_cancellation_slot().assign(
            [this](asio::cancellation_type) { asked.emplace_back("taken back"); });
        waiting.emplace(std::move(reply));
    }
    void select(std::string_view, const std::vector<select_option>& options,
                text_reply reply) override
    {
        reply(options.back().label);
    }
    void input(std::string_view, std::string_view placeholder, text_reply reply) override
    {
        reply(std::string(placeholder));
    }
    void editor(std::string_view, std::string_view, text_reply) override
    {
        throw std::runtime_error("no editor here");
    }
    void custom(const json::value& what, host_reply<json::value> reply) override { reply(what); }
    void notify(std::string_view text, notice about) override
    {
        asked.push_back(std::string(text) + (about == notice::error ? " (error)" : ""));
    }
    void set_status(std::string_view key, std::optional<std::string> text) override
    {
        asked.push_back(std::string(key) + "=" + text.value_or("(none)"));
    }
    void set_editor_text(std::string text) override { written = std::move(text); }
    std::string editor_text() const override { return written; }
    json::object theme() const override { return {{"accent", "blue"}}; }

    strings asked;
    std::string written;
    std::optional<host_reply<bool>> waiting;
};

struct with_agent : module_host {
    explicit with_agent(std::shared_ptr<recorder> a, std::shared_ptr<modules::ui> person = nullptr)
        : module_host({.agent = a, .ui = std::move(person)}), host(std::move(a))
    {
        add("it", [this](api& given) {
            its = given;
            given.on<agent_start>(
                [this](const agent_start&, const handler_context& where) { here = where; });
            given.register_command(
                "there", "",
                [this](const command&, const command_context& where) { there = where; });
        });
        emit(agent_start{});
        runner->async_run_command("/there", [](error_code, bool) {});
        poll();
    }

    with_agent() : with_agent(std::make_shared<recorder>()) {}

    std::shared_ptr<recorder> host;
    std::optional<api> its;
    std::optional<handler_context> here;
    std::optional<command_context> there;
};

struct with_person : with_agent {
    with_person() : with_person(std::make_shared<slow_person>()) {}
    explicit with_person(std::shared_ptr<slow_person> who)
        : with_agent(std::make_shared<recorder>(), who), person(std::move(who))
    {}

    std::shared_ptr<slow_person> person;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(handler_context_suite, with_agent)

BOOST_AUTO_TEST_CASE(it_shows_the_agent_as_it_is_now)
{
    BOOST_TEST(here->cwd() == "/project");
    BOOST_TEST(*here->session()->session_file() == "/s/1.jsonl");
    BOOST_TEST(here->models()->find("p", "big")->id == "big");
    BOOST_TEST(!here->models()->find("q", "big"));
    BOOST_TEST(!here->model());
    host->current = model_info{.provider = "p", .id = "small"};
    BOOST_TEST(here->model()->id == "small");
    host->current = model_info{.provider = "p", .id = "big"};
    BOOST_TEST(here->model()->id == "big");
    BOOST_TEST(here->is_idle());
    host->idle = false;
    BOOST_TEST(!here->is_idle());
    BOOST_TEST(!here->has_queued_messages());
    host->queued = true;
    BOOST_TEST(here->has_queued_messages());
    here->abort();
    BOOST_TEST(host->log == strings{"abort"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_agent_that_overrides_nothing_is_idle_and_empty)
{
    module_host bare;
    std::optional<handler_context> seen;
    std::optional<command_context> commanded;
    bare.add("it", [&](api& its_api) {
        its_api.on<agent_start>(
            [&](const agent_start&, const handler_context& where) { seen = where; });
        its_api.register_command(
            "c", "", [&](const command&, const command_context& where) { commanded = where; });
    });
    bare.emit(agent_start{});
    bare.runner->async_run_command("/c", [](error_code, bool) {});
    bare.poll();
    BOOST_TEST(seen->is_idle());
    BOOST_TEST(!seen->has_queued_messages());
    BOOST_TEST(!seen->model());
    BOOST_TEST(seen->models()->models().empty());
    BOOST_TEST(!seen->session()->session_file());
    BOOST_TEST(seen->session()->entries().empty());
    BOOST_TEST(!seen->has_ui());
    bool idle = false;
    std::optional<bool> cancelled;
    commanded->async_wait_for_idle([&](std::exception_ptr, bool is) { idle = is; });
    commanded->async_new_session(
        {}, [&](std::exception_ptr, session_change change) { cancelled = change.cancelled; });
    bare.poll();
    std::vector<bool> changes;
    const auto note = [&](const std::exception_ptr& why, session_change change) {
        changes.push_back(!why && !change.cancelled);
    };
    commanded->async_branch("e1", note);
    commanded->async_navigate_tree("e1", {}, note);
    bare.poll();
    BOOST_TEST(changes == std::vector<bool>(2, true), boost::test_tools::per_element());
    BOOST_TEST(idle);
    BOOST_TEST(!cancelled.value_or(true));
}

BOOST_AUTO_TEST_CASE(messages_and_entries_go_to_the_agent)
{
    its->send_message("hello");
    its->send_message({.custom_type = "note", .content = "x"}, {.trigger_turn = true});
    its->append_entry("state", {{"n", 1}});
    its->append_entry("mark");
    BOOST_TEST(host->log == (strings{"send custom-message shown", "send note hidden with a turn",
                                     "append state", "append mark without data"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_missing_of_a_message_is_made_up)
{
    its->send_message({.custom_type = "", .content = 7, .attribution = "somebody"});
    BOOST_TEST(host->last_sent.custom_type == "custom-message");
    BOOST_TEST(host->last_sent.content == json::value(""));
    BOOST_TEST(host->last_sent.attribution.value_or("") == "agent");
    its->send_message({.content = json::array{text_block("x")}, .attribution = "user"});
    BOOST_TEST(host->last_sent.content == (json::value{{{"type", "text"}, {"text", "x"}}}));
    BOOST_TEST(host->last_sent.attribution.value_or("") == "user");
}

BOOST_AUTO_TEST_CASE(an_agent_that_cannot_take_a_message_is_reported_and_hurts_no_module)
{
    host->fails = true;
    its->send_message("hello");
    BOOST_TEST(errors == strings{"it | send_message | the session is read-only"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(command_context_suite, with_agent)

BOOST_AUTO_TEST_CASE(the_setup_of_a_new_session_runs_unless_somebody_cancels)
{
    for (const bool cancels : {false, true}) {
        host->log.clear();
        host->cancels = cancels;
        std::optional<bool> cancelled;
        there->async_new_session({.parent_session = there->session()->session_file(),
                                  .setup =
                                      [](session_writer& to) {
                                          to.append_message({{"role", "user"}});
                                          to.append_entry("state", nullptr);
                                      }},
                                 [&](const std::exception_ptr& why, session_change change) {
                                     BOOST_TEST(!why);
                                     cancelled = change.cancelled;
                                 });
        poll();
        BOOST_TEST(cancelled.has_value());
        BOOST_TEST(*cancelled == cancels);
        strings expected{"new session from /s/1.jsonl"};
        if (!cancels) expected.insert(expected.end(), {"message of user", "entry state"});
        BOOST_TEST(host->log == expected, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(what_the_agent_throws_reaches_the_command)
{
    std::string why;
    bool done = false;
    there->async_branch("tool-9", [&](const std::exception_ptr& thrown, session_change change) {
        why = message_of(thrown);
        BOOST_TEST(change.cancelled);  // it did not happen
    });
    there->async_branch("user-1", [&](const std::exception_ptr& thrown, session_change change) {
        done = !thrown && !change.cancelled;
    });
    poll();
    BOOST_TEST(why == "Invalid entry ID for branching");
    BOOST_TEST(done);
}

BOOST_AUTO_TEST_CASE(it_goes_to_another_place_of_the_tree)
{
    std::optional<bool> cancelled;
    there->async_navigate_tree(
        "e7", {.summarize = true},
        [&](const std::exception_ptr&, session_change change) { cancelled = change.cancelled; });
    poll();
    BOOST_TEST(!cancelled.value_or(true));
    BOOST_TEST(host->log == strings{"go to e7 with a summary"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_a_command_waits_for_can_be_cancelled_and_then_did_not_happen)
{
    struct never_idle final : modules::agent {
        void wait_for_idle(host_reply<bool> reply) override { waiting.emplace(std::move(reply)); }
        std::optional<host_reply<bool>> waiting;
    };
    const auto busy = std::make_shared<never_idle>();
    module_host it({.agent = busy});
    std::optional<command_context> where;
    it.add("it", [&](api& mine) {
        mine.register_command("c", "",
                              [&](const command&, const command_context& own) { where = own; });
    });
    it.runner->async_run_command("/c", [](error_code, bool) {});
    it.poll();
    asio::cancellation_signal stop;
    std::exception_ptr why;
    bool idle = true;
    where->async_wait_for_idle(
        asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr thrown, bool is) {
            why = std::move(thrown);
            idle = is;
        }));
    it.poll();
    stop.emit(asio::cancellation_type::terminal);
    it.poll();
    BOOST_REQUIRE(why);
    BOOST_TEST(!idle);
    try {
        std::rethrow_exception(why);
    } catch (const boost::system::system_error& thrown) {
        BOOST_TEST((thrown.code() == errc::cancelled));
    }
}

BOOST_AUTO_TEST_CASE(a_change_of_session_that_nobody_made_did_not_happen)
{
    BOOST_TEST(session_change().cancelled);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(person_suite, with_person)

BOOST_AUTO_TEST_CASE(a_handler_may_ask_and_wait)
{
    add("gate", [](api& mine) {
        mine.on<tool_call>([](const tool_call& event,
                              handler_context where) -> asio::awaitable<tool_call::answer> {
            const bool fine = co_await where.ui().async_confirm("Allow", event.tool_name);
            if (!fine) co_return block{"the person said no"};
            co_return observe{};
        });
    });
    const auto ended = start(tool_call{.tool_name = "bash"});
    BOOST_TEST(!ended->has_value());
    BOOST_TEST(person->asked == strings{"Allow: bash"}, boost::test_tools::per_element());
    (*person->waiting)(false);
    poll();
    BOOST_REQUIRE(ended->has_value());
    BOOST_TEST((*ended)->reason == "the person said no");
}

BOOST_AUTO_TEST_CASE(a_handler_that_runs_out_of_time_takes_its_question_back)
{
    add("gate", [](api& mine) {
        mine.on<tool_call>(
            [](const tool_call&, handler_context where) -> asio::awaitable<tool_call::answer> {
                co_await where.ui().async_confirm("Allow", "it", use_awaitable);
                co_return observe{};
            });
    });
    const auto ended = start(tool_call{});
    time.advance(30s);
    poll();
    BOOST_REQUIRE(ended->has_value());
    BOOST_TEST((*ended)->reason == "Extension gate timed out after 30000ms");
    BOOST_TEST(person->asked == (strings{"Allow: it", "taken back"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_dialog_whose_time_is_over_ends_as_without_a_ui)
{
    std::optional<bool> said;
    here->ui().within(5s).async_confirm("t", "m", [&](const std::exception_ptr& why, bool yes) {
        BOOST_TEST(!why);
        said = yes;
    });
    poll();
    time.advance(4999ms);
    poll();
    BOOST_TEST(!said.has_value());
    time.advance(1ms);
    poll();
    BOOST_REQUIRE(said.has_value());
    BOOST_TEST(!*said);
    BOOST_TEST(person->asked.back() == "taken back");
    (*person->waiting)(true);  // nobody waits for it any more
    poll();
    BOOST_TEST(!*said);
}

BOOST_AUTO_TEST_CASE(a_dialog_that_is_cancelled_ends_as_without_a_ui)
{
    asio::cancellation_signal stop;
    std::optional<bool> said;
    here->ui().async_confirm(
        "t", "m",
        asio::bind_cancellation_slot(stop.slot(), [&](const std::exception_ptr& why, bool yes) {
            BOOST_TEST(!why);
            said = yes;
        }));
    poll();
    stop.emit(asio::cancellation_type::total);
    poll();
    BOOST_TEST(said.has_value());
    BOOST_TEST(!said.value_or(true));
    BOOST_TEST(person->asked.back() == "taken back");
}

BOOST_AUTO_TEST_CASE(a_person_who_never_answers_is_a_failure_of_the_dialog)
{
    std::string why;
    here->ui().async_confirm(
        "t", "m", [&](const std::exception_ptr& thrown, bool) { why = message_of(thrown); });
    poll();
    person->waiting.reset();
    poll();
    BOOST_TEST(why == "it gave no answer");
}

BOOST_AUTO_TEST_CASE(every_other_dialog_gets_its_answer)
{
    std::optional<std::string> chosen;
    std::optional<std::string> line;
    std::string failed;
    json::value custom;
    here->ui().async_select("t", {{"a"}, {"b"}},
                            [&](std::exception_ptr, auto said) { chosen = said; });
    here->ui().async_input("t", "what you like",
                           [&](std::exception_ptr, auto said) { line = said; });
    here->ui().async_editor(
        "t", "", [&](const std::exception_ptr& why, const std::optional<std::string>& said) {
            failed = message_of(why);
            BOOST_TEST(!said);
        });
    here->ui().async_custom(
        {{"card", 1}}, [&](std::exception_ptr, json::value said) { custom = std::move(said); });
    poll();
    BOOST_TEST(chosen.value_or("") == "b");
    BOOST_TEST(line.value_or("") == "what you like");
    BOOST_TEST(failed == "no editor here");
    BOOST_TEST(custom == json::value({{"card", 1}}));
}

BOOST_AUTO_TEST_CASE(the_rest_is_passed_on_as_it_is)
{
    const auto ui = here->ui();
    BOOST_TEST(here->has_ui());
    ui.notify("careful", notice::error);
    ui.set_status("k", "\x1b[31mred");
    ui.set_status("k", std::nullopt);
    ui.set_editor_text("draft");
    BOOST_TEST(ui.editor_text() == "draft");
    BOOST_TEST(ui.theme() == (json::object{{"accent", "blue"}}));
    BOOST_TEST(person->asked == (strings{"careful (error)", "k=\x1b[31mred", "k=(none)"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_limit_is_of_the_person_that_it_was_given_to)
{
    const auto patient = here->ui();
    (void)patient.within(5s);
    std::optional<bool> said;
    patient.async_confirm("t", "m", [&](const std::exception_ptr&, bool yes) { said = yes; });
    poll();
    time.advance(24h);
    poll();
    BOOST_TEST(!said.has_value());
    (*person->waiting)(true);
    poll();
    BOOST_TEST(said.value_or(false));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(headless, with_agent)

BOOST_AUTO_TEST_CASE(without_a_ui_the_answers_are_the_documents)
{
    int answers = 0;
    const auto ui = here->ui();
    const auto nothing = [&](const std::exception_ptr& why,
                             const std::optional<std::string>& said) {
        BOOST_TEST(!why);
        BOOST_TEST(!said);
        ++answers;
    };
    ui.async_select("t", {{"a"}, {"b"}}, nothing);
    ui.async_input("t", "p", nothing);
    ui.async_editor("t", "p", nothing);
    ui.async_confirm("t", "m", [&](const std::exception_ptr& why, bool said) {
        BOOST_TEST(!why);
        BOOST_TEST(!said);
        ++answers;
    });
    ui.async_custom({}, [&](const std::exception_ptr& why, const json::value& said) {
        BOOST_TEST(!why);
        BOOST_TEST(said.is_null());
        ++answers;
    });
    poll();
    BOOST_TEST(answers == 5);
    ui.notify("m");
    ui.set_status("k", "v");
    ui.set_editor_text("x");
    BOOST_TEST(ui.editor_text() == "");
    BOOST_TEST(ui.theme().empty());
    BOOST_TEST(!here->has_ui());
}

BOOST_AUTO_TEST_CASE(any_ui_counts_as_one_however_little_it_can)
{
    with_agent limited(std::make_shared<recorder>(), std::make_shared<modules::ui>());
    BOOST_TEST(limited.here->has_ui());
}

BOOST_AUTO_TEST_SUITE_END()
