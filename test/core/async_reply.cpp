#include <belay/core/async_chain.hpp>
#include <belay/core/reply.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include "../common/manual_clock.hpp"
#include "events.hpp"
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace belay;
using namespace belay::test;
using namespace std::chrono_literals;

namespace {

// Handlers that wait for their turn, and what their dispatches completed with.
template <class E = gate_shared>
struct turns {
    auto waiter()
    {
        return [this](const E&, reply<E> answer) {
            answer.await_turn();
            owed.push_back(std::move(answer));
        };
    }

    void dispatch()
    {
        handlers.async_dispatch(E{.text = "x"}, [this](error_code e, outcome_of<E> said) {
            ec = e;
            outcome = std::move(said);
        });
        run();
    }

    void pass(clock::time_point::duration by)
    {
        time.advance(by);
        run();
    }

    void run()
    {
        io.restart();
        io.poll();
    }

    std::vector<failure>& failures() { return outcome.failures; }

    asio::io_context io;
    manual_clock time;
    async_chain<E> handlers{io.get_executor(), time};
    std::vector<reply<E>> owed;
    std::optional<error_code> ec;
    outcome_of<E> outcome;
};

handler_info lenient(std::string name, std::optional<std::chrono::milliseconds> timeout = {})
{
    return {.name = std::move(name), .from = origin::extension, .timeout = timeout};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reply_suite)

BOOST_AUTO_TEST_CASE(the_wait_for_a_turn_is_charged_neither_to_the_timeout_nor_to_the_deadline)
{
    turns<> t;  // all handlers share 60 s
    t.handlers.add(lenient("a", 10s), t.waiter());
    t.dispatch();
    BOOST_REQUIRE(t.owed.size() == 1U);
    BOOST_TEST((t.owed[0].deadline() == clock::time_point::max()));
    t.pass(1h);
    BOOST_TEST(!t.ec);
    BOOST_TEST(t.owed[0].begin());
    t.run();
    BOOST_TEST((t.owed[0].deadline() - t.time.now() == 10s));
    t.pass(9999ms);
    BOOST_TEST(t.owed[0].awaited());
    t.pass(1ms);
    BOOST_REQUIRE(t.ec.has_value());
    BOOST_REQUIRE(t.failures().size() == 1U);
    BOOST_TEST((t.failures()[0].code == errc::timed_out));
    BOOST_TEST(t.failures()[0].message == "a timed out after 10000ms");
}

BOOST_AUTO_TEST_CASE(the_deadline_that_handlers_share_stands_still_while_one_waits_for_its_turn)
{
    turns<> t;
    t.handlers.add(lenient("a"), t.waiter());
    t.handlers.add(lenient("b"), t.waiter());
    t.dispatch();
    t.pass(1h);
    BOOST_TEST(t.owed[0].begin());
    t.pass(40s);
    t.owed[0]();
    t.run();
    BOOST_REQUIRE(t.owed.size() == 2U);
    t.pass(1h);
    BOOST_TEST(t.owed[1].begin());
    t.pass(19999ms);
    BOOST_TEST(!t.ec);
    t.pass(1ms);
    BOOST_REQUIRE(t.ec.has_value());
    BOOST_REQUIRE(t.failures().size() == 1U);
    BOOST_TEST(t.failures()[0].handler.name == "b");
    BOOST_TEST((t.failures()[0].code == errc::deadline));
}

BOOST_AUTO_TEST_CASE(what_ran_before_the_wait_for_a_turn_is_charged)
{
    turns<> t;
    t.handlers.add(lenient("a", 10s), [&](const gate_shared&, reply<gate_shared> answer) {
        t.time.advance(4s);
        answer.await_turn();
        t.owed.push_back(std::move(answer));
    });
    t.dispatch();
    t.pass(1h);
    BOOST_TEST(t.owed.at(0).begin());
    t.pass(5999ms);
    BOOST_TEST(!t.ec);
    t.pass(1ms);
    BOOST_TEST(t.ec.has_value());
}

BOOST_AUTO_TEST_CASE(a_turn_that_comes_at_once_changes_nothing)
{
    turns<> t;
    t.handlers.add(lenient("a", 10s), [&](const gate_shared&, reply<gate_shared> answer) {
        answer.await_turn();
        BOOST_TEST(answer.begin());
        t.owed.push_back(std::move(answer));
    });
    t.dispatch();
    t.pass(9999ms);
    BOOST_TEST(!t.ec);
    t.pass(1ms);
    BOOST_TEST(t.ec.has_value());
}

BOOST_AUTO_TEST_CASE(an_answer_without_a_turn_is_in_time)
{
    turns<> t;
    t.handlers.add(lenient("a", 10s), t.waiter());
    t.handlers.add(lenient("b"), t.waiter());
    t.dispatch();
    t.pass(1h);
    t.owed[0]();
    t.run();
    BOOST_REQUIRE(t.owed.size() == 2U);
    t.owed[1].fail(errc::threw, "there was no turn");
    t.run();
    BOOST_REQUIRE(t.ec.has_value());
    BOOST_REQUIRE(t.failures().size() == 1U);
    BOOST_TEST(t.failures()[0].message == "there was no turn");
}

BOOST_AUTO_TEST_CASE(a_turn_that_nobody_waits_for_any_more_does_not_begin)
{
    turns<> t;
    t.handlers.add({}, t.waiter());
    asio::cancellation_signal stop;
    t.handlers.async_dispatch(
        {.text = "x"}, asio::bind_cancellation_slot(
                           stop.slot(), [&](error_code e, gate_shared::outcome) { t.ec = e; }));
    t.run();
    stop.emit(asio::cancellation_type::terminal);
    t.run();
    BOOST_TEST((t.ec == error_code(errc::cancelled)));
    BOOST_TEST(!t.owed.at(0).begin());
}

BOOST_AUTO_TEST_CASE(the_event_loop_may_go_while_a_handler_waits_for_its_turn)
{
    std::optional<turns<>> t(std::in_place);
    t->handlers.add({}, t->waiter());
    t->dispatch();
    auto kept = std::move(t->owed.at(0));
    t.reset();
    BOOST_TEST(!kept.begin());
    BOOST_TEST(!kept.awaited());
}

BOOST_AUTO_TEST_CASE(a_turn_may_come_on_another_thread)
{
    asio::io_context io;
    asio::thread_pool pool(2);
    async_chain<gate_shared> handlers(io.get_executor());
    handlers.add({.timeout = 1min}, [&](const gate_shared&, reply<gate_shared> answer) {
        answer.await_turn();
        asio::post(pool, [answer = std::move(answer)]() mutable {
            if (answer.begin()) answer(gate_shared::rewrite{"there"});
        });
    });
    int done = 0;
    for (int i = 0; i != 200; ++i) {
        handlers.async_dispatch({.text = "x"}, [&](error_code ec, gate_shared::outcome said) {
            if (!ec && said.text == "there") ++done;
        });
    }
    io.run();
    BOOST_TEST(done == 200);
}

BOOST_AUTO_TEST_SUITE_END()
