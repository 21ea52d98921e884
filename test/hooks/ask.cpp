#include <belay/hooks/ask.hpp>
#include <belay/hooks/coroutine.hpp>
#include <belay/hooks/extension.hpp>
#include <belay/hooks/registry.hpp>
#include <belay/hooks/session.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

using namespace belay;
using namespace belay::hooks;
using belay::test::host;

namespace {

using names = std::vector<std::string>;
namespace json = boost::json;

struct kept_usage final : usage_sink {
    void on_usage(const usage_record& record) noexcept override { records.push_back(record); }
    std::vector<usage_record> records;
};

// A host with a model for side questions, which a test may replace.
struct asked_host : host {
    explicit asked_host(bool real_time = false)
    {
        auto with = options();
        if (real_time) with.time = nullptr;
        with.usage = &books;
        with.ask_model = [this](const side_question& asked, model_answer_reply reply) {
            questions.push_back(asked);
            model(asked, std::move(reply));
        };
        hooks = belay::hooks::registry(io.get_executor(), with);
    }

    // Answers at once.
    static void oblige(const side_question& asked, model_answer_reply reply)
    {
        reply({.text = "about " + asked.question,
               .model = asked.settings.model,
               .usage = json::value(7)});
    }
    // Answers when the test does.
    void wait()
    {
        model = [this](const side_question&, model_answer_reply reply) {
            owed.push_back(std::move(reply));
        };
    }

    // A session that is in a turn and has called its model.
    session open_asked(std::string id = "s-1")
    {
        auto made = open({.id = std::move(id)});
        begin(made, "go");
        made.record_request(request);
        return made;
    }

    struct outcome {
        error_code ec;
        std::string text;
        std::string error;
    };
    outcome ask(session& whom, std::string question = "where?")
    {
        auto [ec, said] = finish(whom.async_ask(std::move(question)));
        return {ec, said.text, said.error};
    }

    kept_usage books;
    std::function<void(const side_question&, model_answer_reply)> model = oblige;
    std::vector<side_question> questions;
    std::vector<model_answer_reply> owed;
    std::shared_ptr<const json::value> request =
        std::make_shared<const json::value>(json::object{{"messages", 3}});
};

// An extension that asks.
struct asking_extension {
    explicit asking_extension(asked_host& where, names capabilities = {"sessions.ask"})
        : h(where),
          id(h.hooks
                 .activate({.name = "crow",
                            .capabilities = std::move(capabilities),
                            .activate = [this](registrar& hooks) { self = hooks; }})
                 .value())
    {}

    asked_host::outcome ask(std::string session)
    {
        auto [ec, said] = h.finish(self->async_ask(std::move(session), "where?"));
        return {ec, said.text, said.error};
    }

    asked_host& h;
    std::optional<registrar> self;
    extension_id id;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(ask_suite)

BOOST_AUTO_TEST_CASE(the_last_request_goes_to_the_same_model_again_with_the_question)
{
    asked_host h;
    h.hooks.on<pre_turn>(
        [](const pre_turn&) {
            return pre_turn::mutate{.tools = names{"read"}, .reasoning_effort = "high"};
        },
        "x");
    auto s = h.open();
    h.begin(s, "go");
    s.record_request(std::make_shared<const json::value>(1));
    s.record_request(h.request);
    const auto said = h.ask(s, "the island?");
    BOOST_TEST(!said.ec);
    BOOST_TEST(said.text == "about the island?");
    BOOST_TEST(said.error == "");
    BOOST_REQUIRE(h.questions.size() == 1u);
    const auto& asked = h.questions[0];
    BOOST_TEST(asked.session_id == "s-1");
    BOOST_TEST((asked.request == h.request));  // not a copy
    BOOST_TEST(asked.question == "the island?");
    BOOST_TEST(asked.settings.model == "model-a");
    BOOST_TEST((asked.settings.reasoning_effort == "high"));
    BOOST_TEST(asked.settings.tools == names{"read"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_settings_are_those_of_the_request_that_is_repeated)
{
    asked_host h;
    auto s = h.open_asked();
    h.finish(s.async_end_turn({.text = "done"}));
    turn_settings others{"model-b", {}, {}};
    h.finish(s.async_begin_turn("next", others));
    BOOST_TEST(!h.ask(s).ec);
    BOOST_TEST(h.questions.at(0).settings.model == "model-a");
    s.record_request(h.request);
    BOOST_TEST(!h.ask(s).ec);
    BOOST_TEST(h.questions.at(1).settings.model == "model-b");
}

BOOST_AUTO_TEST_CASE(each_answer_of_the_model_is_billed_once_as_ask)
{
    asked_host h;
    auto s = h.open_asked();
    h.ask(s);
    h.ask(s);
    BOOST_REQUIRE(h.books.records.size() == 2u);
    for (const auto& one : h.books.records) {
        BOOST_TEST(one.session_id == "s-1");
        BOOST_TEST(one.counted_as == "ask");
        BOOST_TEST(one.model == "model-a");
        BOOST_TEST((one.usage == 7));
    }
}

BOOST_AUTO_TEST_CASE(it_is_billed_before_the_question_completes)
{
    asked_host h;
    auto s = h.open_asked();
    std::optional<std::size_t> billed;
    s.async_ask("where?", [&](error_code, side_answer) { billed = h.books.records.size(); });
    h.drain();
    BOOST_TEST((billed == 1u));
}

BOOST_AUTO_TEST_CASE(it_waits_for_nothing_and_several_may_be_asked_at_once)
{
    asked_host h;
    std::optional<reply<turn_ending>> ending;
    h.hooks.on<turn_ending>(
        [&](const turn_ending&, reply<turn_ending> answer) { ending.emplace(std::move(answer)); },
        "slow");
    h.wait();
    auto s = h.open_asked();
    auto first = h.start(s.async_ask("first?"));
    auto turn = h.start(s.async_end_turn({.text = "done"}));
    auto second = h.start(s.async_ask("second?"));
    BOOST_REQUIRE(h.owed.size() == 2u);
    h.owed[1]({.text = "two", .model = "model-a"});
    h.drain();
    BOOST_REQUIRE(host::is_done(second));
    BOOST_TEST(std::get<1>(second.get()).text == "two");
    BOOST_TEST(!host::is_done(first));
    BOOST_TEST(!host::is_done(turn));
    (*ending)();
    h.drain();
    BOOST_TEST(host::is_done(turn));
    BOOST_TEST(!s.begin_compaction(pre_compact::cause::manual, 1, {}));
    auto third = h.start(s.async_ask("third?"));
    h.owed[2]({.text = "three", .model = "model-a"});
    h.owed[0]({.text = "one", .model = "model-a"});
    h.drain();
    BOOST_TEST(std::get<1>(third.get()).text == "three");
    BOOST_TEST(std::get<1>(first.get()).text == "one");
    BOOST_TEST(!s.fail_compaction());
}

BOOST_AUTO_TEST_CASE(the_conversation_gains_nothing)
{
    asked_host h;
    h.wait();
    auto s = h.open_asked();
    names seen;
    const auto watch = [&]<class E>(std::type_identity<E>) {
        h.hooks.on<E>([&](const E&) { seen.emplace_back(E::event_name); }, "watcher");
    };
    watch(std::type_identity<session_start>());
    watch(std::type_identity<pre_turn>());
    watch(std::type_identity<pre_tool_use>());
    watch(std::type_identity<post_tool_use>());
    watch(std::type_identity<turn_ending>());
    watch(std::type_identity<turn_finished>());
    auto asking = h.start(s.async_ask("where?"));
    h.owed.at(0)({.text = "there", .model = "model-a"});
    h.drain();
    BOOST_TEST(host::is_done(asking));
    BOOST_TEST(seen.empty());
    BOOST_TEST(s.turns() == 1u);
    BOOST_TEST(s.turn_running());
    BOOST_TEST(s.settings().model == "model-a");
    BOOST_TEST(s.settings().tools == (names{"bash", "read"}), boost::test_tools::per_element());
    BOOST_TEST(h.log.records.empty());
}

BOOST_AUTO_TEST_CASE(a_reply_that_asks_for_a_tool_is_an_error_and_paid_for)
{
    asked_host h;
    h.model = [](const side_question&, model_answer_reply reply) {
        reply({.text = "let me look", .calls = {{"c1", "bash", {}}}, .model = "model-a"});
    };
    auto s = h.open_asked();
    const auto said = h.ask(s);
    BOOST_TEST((said.ec == errc::invalid_answer));
    BOOST_TEST(said.text == "");
    BOOST_TEST(said.error == "the model asked for the tool bash, and a side question runs none");
    BOOST_TEST(h.books.records.size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_answer_of_another_model_is_an_error_and_paid_for)
{
    asked_host h;
    h.model = [](const side_question&, model_answer_reply reply) {
        reply({.text = "yes", .model = "model-b"});
    };
    auto s = h.open_asked();
    const auto said = h.ask(s);
    BOOST_TEST((said.ec == errc::invalid_answer));
    BOOST_TEST(said.text == "");
    BOOST_TEST(said.error ==
               "the question was answered by model-b, not by the session's model model-a");
    BOOST_REQUIRE(h.books.records.size() == 1u);
    BOOST_TEST(h.books.records[0].model == "model-b");
}

BOOST_AUTO_TEST_CASE(a_model_that_is_out_of_reach_is_an_error_and_costs_nothing)
{
    asked_host h;
    auto s = h.open_asked();
    h.model = [](const side_question&, model_answer_reply reply) { reply.fail("no route"); };
    auto said = h.ask(s);
    BOOST_TEST((said.ec == errc::unreachable));
    BOOST_TEST(said.error == "no route");
    h.model = [](const side_question&, model_answer_reply) { throw std::runtime_error("boom"); };
    said = h.ask(s);
    BOOST_TEST((said.ec == errc::unreachable));
    BOOST_TEST(said.error == "boom");  // not that it dropped its reply
    h.model = [](const side_question&, model_answer_reply) {};
    said = h.ask(s);
    BOOST_TEST((said.ec == errc::unreachable));
    BOOST_TEST(said.error == "it gave no answer");
    BOOST_TEST(h.books.records.empty());
}

BOOST_AUTO_TEST_CASE(an_answer_counts_also_if_the_function_throws_after_it)
{
    asked_host h;
    auto s = h.open_asked();
    h.model = [](const side_question& asked, model_answer_reply reply) {
        asked_host::oblige(asked, std::move(reply));
        throw std::runtime_error("boom");
    };
    BOOST_TEST(h.ask(s).text == "about where?");
    BOOST_TEST(h.books.records.size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_asked_says_why)
{
    asked_host h;
    auto s = h.open();
    auto said = h.ask(s);
    BOOST_TEST((said.ec == errc::not_begun));
    BOOST_TEST(said.error == "session s-1 has not called its model yet");
    h.begin(s, "go");
    s.record_request(h.request);
    s.close(session_end::cause::closed);
    said = h.ask(s);
    BOOST_TEST((said.ec == errc::closed));
    BOOST_TEST(said.error == "session s-1 is closed");
    BOOST_TEST(h.questions.empty());

    host without;
    auto other = without.open_in_turn();
    other.record_request(h.request);
    auto [ec, answer] = without.finish(other.async_ask("where?"));
    BOOST_TEST((ec == errc::unreachable));
    BOOST_TEST(answer.error == "this host has no model for side questions");
}

BOOST_AUTO_TEST_CASE(a_cancelled_question_completes_at_once_and_its_answer_is_paid_for)
{
    asked_host h;
    h.wait();
    auto s = h.open_asked();
    boost::asio::cancellation_signal stop;
    std::optional<error_code> seen;
    std::string error;
    s.async_ask("where?", boost::asio::bind_cancellation_slot(stop.slot(),
                                                              [&](error_code ec, side_answer said) {
                                                                  seen = ec;
                                                                  error = said.error;
                                                              }));
    h.drain();
    int told = 0;
    h.owed.at(0).get_cancellation_slot().assign([&](boost::asio::cancellation_type) { ++told; });
    stop.emit(boost::asio::cancellation_type::total);
    h.drain();
    BOOST_TEST((seen == error_code(errc::cancelled)));
    BOOST_TEST(error == "the question was cancelled");
    BOOST_TEST(told == 1);
    BOOST_TEST(h.books.records.empty());
    BOOST_TEST(s.turn_running());

    h.owed[0]({.text = "late", .model = "model-a", .usage = json::value(9)});
    h.drain();
    BOOST_REQUIRE(h.books.records.size() == 1u);
    BOOST_TEST((h.books.records[0].usage == 9));
    stop.emit(boost::asio::cancellation_type::total);  // nothing is connected any more
    h.drain();
    BOOST_TEST(told == 1);
}

BOOST_AUTO_TEST_CASE(a_cancelled_question_that_is_never_answered_costs_nothing)
{
    asked_host h(true);
    h.wait();
    auto s = h.open_asked();
    boost::asio::cancellation_signal stop;
    s.async_ask("where?",
                boost::asio::bind_cancellation_slot(stop.slot(), [](error_code, side_answer) {}));
    h.drain();
    stop.emit(boost::asio::cancellation_type::total);
    h.drain();
    BOOST_TEST(!h.io.stopped());  // the answer is waited for, since it would have to be paid
    h.owed.clear();
    h.drain();
    BOOST_TEST(h.io.stopped());
    BOOST_TEST(h.books.records.empty());
}

BOOST_AUTO_TEST_CASE(a_cancellation_that_meets_an_answer_on_its_way_tells_nobody)
{
    asked_host h;
    h.wait();
    auto s = h.open_asked();
    auto asking = h.start(s.async_ask("where?"));
    int told = 0;
    h.owed.at(0).get_cancellation_slot().assign([&](boost::asio::cancellation_type) { ++told; });
    h.owed[0]({.text = "there", .model = "model-a"});
    s.close(session_end::cause::closed);
    h.drain();
    BOOST_TEST((std::get<0>(asking.get()) == errc::closed));
    BOOST_TEST(told == 0);
    BOOST_TEST(h.books.records.size() == 1u);
}

BOOST_AUTO_TEST_CASE(closing_a_session_ends_its_questions)
{
    asked_host h;
    h.wait();
    auto parent = h.open_asked();
    auto child = parent.create_subagent({.id = "s-2"}).value();
    h.finish(child.async_start(session_start::cause::start));
    h.begin(child, "dig");
    child.record_request(h.request);
    auto first = h.start(parent.async_ask("one?"));
    auto second = h.start(parent.async_ask("two?"));
    auto third = h.start(child.async_ask("three?"));
    parent.close(session_end::cause::closed);
    h.drain();
    for (auto* one : {&first, &second, &third}) {
        BOOST_REQUIRE(host::is_done(*one));
        auto [ec, said] = one->get();
        BOOST_TEST((ec == errc::closed));
        BOOST_TEST(said.error ==
                   (one == &third ? "session s-2 was closed" : "session s-1 was closed"));
    }
    h.owed.at(0)({.text = "late", .model = "model-a"});
    h.owed.at(1).fail("late");
    h.drain();
    BOOST_TEST(h.books.records.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_turn_that_is_stopped_leaves_its_questions_alone)
{
    asked_host h;
    h.wait();
    auto s = h.open_asked();
    auto asking = h.start(s.async_ask("where?"));
    BOOST_TEST(s.cancel_turn());
    h.drain();
    BOOST_TEST(!host::is_done(asking));
    h.owed.at(0)({.text = "there", .model = "model-a"});
    h.drain();
    BOOST_TEST(std::get<1>(asking.get()).text == "there");
}

BOOST_AUTO_TEST_CASE(a_question_outlives_its_session_and_its_registry)
{
    asked_host h;
    h.wait();
    std::future<std::tuple<error_code, side_answer>> asking;
    {
        auto s = h.open_asked();
        asking = h.start(s.async_ask("where?"));
    }
    h.hooks = belay::hooks::registry(h.io.get_executor());
    h.owed.at(0)({.text = "there", .model = "model-a"});
    h.drain();
    BOOST_TEST(std::get<1>(asking.get()).text == "there");
    BOOST_TEST(h.books.records.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_event_loop_may_go_while_a_question_is_open)
{
    std::vector<model_answer_reply> owed;
    std::future<std::tuple<error_code, side_answer>> asking;
    {
        asked_host h;
        h.wait();
        auto s = h.open_asked();
        asking = h.start(s.async_ask("where?"));
        owed = std::move(h.owed);
    }
    BOOST_CHECK_THROW(asking.get(), std::future_error);
    owed.at(0)({.text = "there", .model = "model-a"});
}

BOOST_AUTO_TEST_CASE(the_model_may_be_a_plain_function_a_coroutine_or_answer_on_another_thread)
{
    host h;
    kept_usage books;
    const auto text_with = [&](model_function model) {
        auto with = h.options();
        with.usage = &books;
        with.ask_model = std::move(model);
        belay::hooks::registry hooks(h.io.get_executor(), with);
        auto s = hooks.create_session({.id = "s-1"}).value();
        h.finish(s.async_start(session_start::cause::start));
        h.begin(s, "go");
        s.record_request(std::make_shared<const json::value>(1));
        auto asking = h.start(s.async_ask("where?"));
        h.wait(asking);
        return std::get<1>(asking.get()).text;
    };
    BOOST_TEST(text_with([](const side_question& asked) {
                   return model_answer{.text = "plain", .model = asked.settings.model};
               }) == "plain");
    BOOST_TEST(text_with([](const side_question& asked) -> boost::asio::awaitable<model_answer> {
                   model_answer said{.text = "coroutine", .model = asked.settings.model};
                   co_return said;
               }) == "coroutine");
    std::thread elsewhere;
    BOOST_TEST(text_with([&](const side_question& asked, model_answer_reply reply) {
                   elsewhere = std::thread([&asked, reply = std::move(reply)]() mutable {
                       reply({.text = "thread", .model = asked.settings.model});
                   });
               }) == "thread");
    elsewhere.join();
    BOOST_TEST(books.records.size() == 3u);
}

BOOST_AUTO_TEST_CASE(an_answer_of_a_model_without_a_name_is_one_of_another_model)
{
    asked_host h;
    h.model = [](const side_question&, model_answer_reply reply) { reply({.text = "yes"}); };
    auto s = h.open_asked();
    const auto said = h.ask(s);
    BOOST_TEST((said.ec == errc::invalid_answer));
    BOOST_TEST(said.error ==
               "the question was answered by a model without a name, not by the "
               "session's model model-a");
}

BOOST_AUTO_TEST_CASE(an_extension_may_ask_an_open_session_by_its_id)
{
    asked_host h;
    h.model = [](const side_question& asked, model_answer_reply reply) {
        reply({.text = asked.settings.model + " of " + asked.session_id,
               .model = asked.settings.model});
    };
    asking_extension crow(h);
    const auto open = [&](std::string model) {
        auto made = h.open({.id = "s-1"});
        turn_settings settings{std::move(model), {}, {}};
        h.finish(made.async_begin_turn("go", settings));
        made.record_request(h.request);
        return made;
    };

    auto older = open("old");
    BOOST_TEST(crow.ask("s-1").text == "old of s-1");
    {
        auto newer = open("new");
        BOOST_TEST(crow.ask("s-1").text == "new of s-1");  // the newest of one id
        {
            auto newest = open("newest");
            BOOST_TEST(crow.ask("s-1").text == "newest of s-1");
            newest.close(session_end::cause::closed);
            BOOST_TEST(crow.ask("s-1").text == "new of s-1");
        }
        older.close(session_end::cause::closed);
        BOOST_TEST(crow.ask("s-1").text == "new of s-1");
        auto child = newer.create_subagent({.id = "s-2"}).value();
        BOOST_TEST((crow.ask("s-2").ec == errc::not_begun));
        child.close(session_end::cause::closed);
        BOOST_TEST((crow.ask("s-2").ec == errc::closed));
    }
    const auto crashed = crow.ask("s-1");
    BOOST_TEST((crashed.ec == errc::closed));
    BOOST_TEST(crashed.error == "no session s-1 is open");
    BOOST_TEST((crow.ask("nobody").ec == errc::closed));
}

BOOST_AUTO_TEST_CASE(an_extension_needs_its_capability_to_ask_and_no_other)
{
    asked_host h;
    auto s = h.open_asked();
    asking_extension mute(h, {"hooks.command", "hooks.pre_turn"});
    const auto refused = mute.ask("s-1");
    BOOST_TEST((refused.ec == errc::undeclared));
    BOOST_TEST(refused.error ==
               "extension \"crow\": the capability sessions.ask is needed and was not declared");
    BOOST_TEST(h.questions.empty());
    BOOST_TEST(asking_extension(h).ask("s-1").text == "about where?");
}

BOOST_AUTO_TEST_CASE(an_extension_that_has_ended_asks_nothing)
{
    asked_host h;
    auto s = h.open_asked();
    asking_extension crow(h);
    h.hooks.deactivate(crow.id);
    const auto refused = crow.ask("s-1");
    BOOST_TEST((refused.ec == errc::closed));
    BOOST_TEST(refused.error == "extension \"crow\": it is not active any more");
    h.hooks = belay::hooks::registry(h.io.get_executor());
    BOOST_TEST((crow.ask("s-1").ec == errc::closed));
}

BOOST_AUTO_TEST_CASE(a_bare_session_may_be_asked)
{
    asked_host h;
    auto s = h.open({.id = "s-1", .bare = true});
    h.begin(s, "go");
    s.record_request(h.request);
    BOOST_TEST(h.ask(s).text == "about where?");
}

BOOST_AUTO_TEST_SUITE_END()
