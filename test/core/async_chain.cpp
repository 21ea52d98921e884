#include <belay/core/any_handler.hpp>
#include <belay/core/async_chain.hpp>
#include <belay/core/coroutine.hpp>
#include <belay/core/observers.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include "../common/manual_clock.hpp"
#include "events.hpp"
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace belay;
using namespace belay::test;
using namespace std::chrono_literals;

namespace {

// What a dispatch completed with.
template <class E>
struct completion {
    std::optional<error_code> ec;
    outcome_of<E> outcome;

    auto handler()
    {
        return [this](error_code e, outcome_of<E> o) {
            BOOST_TEST(!ec.has_value());
            ec = e;
            outcome = std::move(o);
        };
    }
    bool done() const { return ec.has_value(); }
};

struct fixture {
    asio::io_context io;
    manual_clock time;
    int copies = 0;

    template <class E = gate>
    E event(std::string text = "x")
    {
        E made{.text = std::move(text)};
        made.copies.copies = &copies;
        return made;
    }

    void run()
    {
        io.restart();
        io.poll();
    }

    template <class E>
    auto keeper_of(std::optional<reply<E>>& kept)
    {
        return [&kept](const E&, reply<E> answer) { kept.emplace(std::move(answer)); };
    }

    // Keeps the replies it is given.
    template <class E>
    auto keeper(std::vector<reply<E>>& kept)
    {
        return [&kept](const E&, reply<E> answer) { kept.push_back(std::move(answer)); };
    }
};

// An event with an answer whose copy throws.
struct picky {
    static constexpr std::string_view event_name = "picky";
    struct uncopyable {
        uncopyable() = default;
        uncopyable(const uncopyable&) { throw std::runtime_error("no copy"); }
        uncopyable(uncopyable&&) = default;
        uncopyable& operator=(const uncopyable&) = delete;
        uncopyable& operator=(uncopyable&&) = default;
        ~uncopyable() = default;
    };
    using answer = std::variant<observe, uncopyable>;
    struct outcome {
        bool accepted = false;
    };
    struct fold {
        flow accept(uncopyable&&, const handler_info&, draft<picky>&)
        {
            accepted = true;
            return flow::stop;
        }
        flow fail(failure&&, const handler_info&, draft<picky>&) { return flow::stop; }
        outcome finish(draft<picky>&) && { return {accepted}; }
        bool accepted = false;
    };
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(async_chain_suite, fixture)

BOOST_AUTO_TEST_CASE(handlers_that_answer_at_once_run_where_the_dispatch_starts)
{
    async_chain<gate> handlers(io.get_executor(), time);
    bool asked = false;
    handlers.add({}, [&](const gate& e) {
        asked = true;
        return gate::rewrite{e.text + "1"};
    });
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    BOOST_TEST(asked);
    BOOST_TEST(!got.done());  // never from inside the initiating function
    run();
    BOOST_REQUIRE(got.done());
    BOOST_TEST(!got.ec->failed());
    BOOST_TEST(got.outcome.text == "x1");
    BOOST_TEST(copies == 1);
}

BOOST_AUTO_TEST_CASE(later_answers_are_folded_in_the_order_of_the_handlers)
{
    async_chain<gate> handlers(io.get_executor(), time);
    std::vector<reply<gate>> kept;
    handlers.add({}, [](const gate& e) { return gate::rewrite{e.text + "1"}; });
    handlers.add({}, keeper(kept));
    handlers.add({}, [](const gate& e) { return gate::rewrite{e.text + "3"}; });
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    run();
    BOOST_REQUIRE(kept.size() == 1U);
    BOOST_TEST(!got.done());
    BOOST_TEST(kept[0].awaited());
    BOOST_TEST(kept[0].info().position == 2U);
    kept[0](gate::rewrite{"y2"});
    run();
    BOOST_REQUIRE(got.done());
    BOOST_TEST(got.outcome.text == "y23");
}

BOOST_AUTO_TEST_CASE(a_reply_takes_whatever_a_handler_may_return)
{
    async_chain<gate> handlers(io.get_executor(), time);
    using r = reply<gate>;
    handlers.add({}, [](const gate&, r answer) { answer(); });
    handlers.add({}, [](const gate&, r answer) { answer(observe{}); });
    handlers.add({}, [](const gate& e, r answer) { answer(gate::rewrite{e.text + "1"}); });
    handlers.add({}, [](const gate&, r answer) { answer(std::optional<block>()); });
    handlers.add(
        {}, [](const gate& e, r answer) { answer(std::optional(gate::rewrite{e.text + "2"})); });
    handlers.add(
        {}, [](const gate& e, r answer) { answer(gate::answer(gate::rewrite{e.text + "3"})); });
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    run();
    BOOST_REQUIRE(got.done());
    BOOST_TEST(got.outcome.text == "x123");
    BOOST_TEST(got.outcome.failures.empty());
}

BOOST_AUTO_TEST_CASE(a_dropped_reply_is_a_failure)
{
    async_chain<gate> handlers(io.get_executor(), time);
    handlers.add({.name = "forgetful"}, [](const gate&, reply<gate>) {});
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    run();
    BOOST_REQUIRE(got.done());
    BOOST_TEST(!got.outcome.allowed);
    BOOST_REQUIRE(got.outcome.failures.size() == 1U);
    BOOST_TEST((got.outcome.failures[0].code == errc::unanswered));
    BOOST_TEST(got.outcome.failures[0].handler.name == "forgetful");
}

BOOST_AUTO_TEST_CASE(a_handler_that_throws_has_failed_whatever_it_had_said)
{
    async_chain<gate> handlers(io.get_executor(), time);
    handlers.add({.from = origin::extension},
                 [](const gate&, reply<gate>) { throw std::runtime_error("before"); });
    handlers.add({.from = origin::extension}, [](const gate&, reply<gate> answer) {
        answer(gate::rewrite{"said"});
        throw std::runtime_error("after");
    });
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    run();
    BOOST_REQUIRE(got.done());
    BOOST_TEST(got.outcome.text == "x");
    BOOST_REQUIRE(got.outcome.failures.size() == 2U);
    BOOST_TEST((got.outcome.failures[0].code == errc::threw));
    BOOST_TEST(got.outcome.failures[0].message == "before");
    BOOST_TEST(got.outcome.failures[1].message == "after");
}

BOOST_AUTO_TEST_CASE(a_failure_given_to_the_reply_reaches_the_fold_as_it_is)
{
    async_chain<gate> handlers(io.get_executor(), time);
    handlers.add({.name = "probe"}, [](const gate&, reply<gate> answer) {
        answer.fail(errc::exited, "exited with status 3");
    });
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    run();
    BOOST_REQUIRE(got.done());
    BOOST_TEST((got.outcome.failures.at(0).code == errc::exited));
    BOOST_TEST(got.outcome.reason == "exited with status 3");
}

BOOST_AUTO_TEST_CASE(a_handler_past_its_timeout_is_abandoned_and_the_chain_moves_on_at_once)
{
    async_chain<gate> handlers(io.get_executor(), time);
    std::vector<reply<gate>> kept;
    handlers.add({.name = "slow", .from = origin::extension, .timeout = 100ms}, keeper(kept));
    handlers.add({}, [](const gate& e) { return gate::rewrite{e.text + "2"}; });
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    run();
    time.advance(99ms);
    run();
    BOOST_TEST(!got.done());
    time.advance(1ms);
    run();
    BOOST_REQUIRE(got.done());
    BOOST_TEST(got.outcome.text == "x2");
    BOOST_REQUIRE(got.outcome.failures.size() == 1U);
    BOOST_TEST((got.outcome.failures[0].code == errc::timed_out));
    BOOST_TEST(got.outcome.failures[0].message == "slow timed out after 100ms");
    // What it says later is dropped, and what it holds is still there.
    BOOST_TEST(!kept[0].awaited());
    BOOST_TEST(kept[0].info().name == "slow");
    kept[0](block{"too late"});
    run();
    BOOST_TEST(got.outcome.allowed);
}

BOOST_AUTO_TEST_CASE(an_abandoned_handler_keeps_its_version_of_the_event)
{
    async_chain<gate> handlers(io.get_executor(), time);
    std::optional<reply<gate>> kept;
    const gate* seen = nullptr;
    handlers.add({}, [](const gate&) { return gate::rewrite{"one"}; });
    handlers.add({.from = origin::extension, .timeout = 1ms},
                 [&](const gate& e, reply<gate> answer) {
                     seen = &e;
                     kept.emplace(std::move(answer));
                 });
    handlers.add({}, [](const gate&) { return gate::rewrite{"two"}; });
    handlers.add({}, [](const gate&) { return gate::rewrite{"three"}; });
    {
        completion<gate> got;
        handlers.async_dispatch(event(), got.handler());
        run();
        time.advance(1ms);
        run();
        BOOST_REQUIRE(got.done());
        BOOST_TEST(got.outcome.text == "three");
    }
    BOOST_TEST(copies == 2);  // the first change, and one after the abandoned handler
    BOOST_TEST(seen->text == "one");
    kept.reset();
}

BOOST_AUTO_TEST_CASE(an_abandoned_handler_outlives_its_removal_and_its_chain)
{
    auto held = std::make_shared<int>(7);
    std::optional<reply<gate>> kept;
    completion<gate> got;
    {
        async_chain<gate> handlers(io.get_executor(), time);
        const auto id = handlers.add(
            {.from = origin::extension, .timeout = 1ms},
            [&kept, held](const gate&, reply<gate> answer) { kept.emplace(std::move(answer)); });
        handlers.async_dispatch(event(), got.handler());
        run();
        handlers.remove(id);
    }
    time.advance(1ms);
    run();
    BOOST_TEST(got.done());
    BOOST_TEST(held.use_count() == 2);
    kept.reset();
    BOOST_TEST(held.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(abandoning_fires_the_handlers_own_cancellation)
{
    async_chain<gate> handlers(io.get_executor(), time);
    std::optional<error_code> waited;
    handlers.add({.from = origin::extension, .timeout = 1ms}, [&](const gate&, reply<gate> answer) {
        auto timer = std::make_shared<asio::steady_timer>(answer.get_executor(), 1h);
        auto slot = answer.get_cancellation_slot();
        timer->async_wait(asio::bind_cancellation_slot(
            slot, [&waited, timer, answer = std::move(answer)](error_code ec) { waited = ec; }));
    });
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    run();
    time.advance(1ms);
    run();
    BOOST_TEST(got.done());
    BOOST_REQUIRE(waited.has_value());
    BOOST_TEST((*waited == asio::error::operation_aborted));
}

BOOST_AUTO_TEST_CASE(a_shared_deadline_is_charged_to_all_and_who_gets_no_time_is_not_started)
{
    async_chain<gate_shared> handlers(io.get_executor(), time);
    std::vector<reply<gate_shared>> kept;
    const auto lenient = [](std::string name) {
        return handler_info{.name = std::move(name), .from = origin::extension};
    };
    bool started = false;
    handlers.add(lenient("a"), keeper(kept));
    handlers.add(lenient("b"), keeper(kept));
    handlers.add(lenient("c"), [&](const gate_shared&) { started = true; });
    completion<gate_shared> got;
    handlers.async_dispatch(event<gate_shared>(), got.handler());
    run();
    time.advance(40s);
    kept[0]();
    run();
    BOOST_REQUIRE(kept.size() == 2U);
    BOOST_TEST((kept[1].deadline() - time.now() == 20s));
    time.advance(20s);
    run();
    BOOST_REQUIRE(got.done());
    BOOST_TEST(!started);
    BOOST_REQUIRE(got.outcome.failures.size() == 2U);
    BOOST_TEST((got.outcome.failures[0].code == errc::deadline));
    BOOST_TEST(got.outcome.failures[0].handler.name == "b");
    BOOST_TEST(got.outcome.failures[0].message == "gate hooks timed out after 60000ms");
    BOOST_TEST((got.outcome.failures[1].code == errc::not_started));
    BOOST_TEST(got.outcome.failures[1].handler.name == "c");
}

BOOST_AUTO_TEST_CASE(a_deadline_per_handler_starts_anew_for_each)
{
    async_chain<gate_per_handler> handlers(io.get_executor(), time);
    std::vector<reply<gate_per_handler>> kept;
    handlers.add({}, keeper(kept));
    handlers.add({}, keeper(kept));
    completion<gate_per_handler> got;
    handlers.async_dispatch(event<gate_per_handler>(), got.handler());
    run();
    time.advance(50s);
    kept[0]();
    run();
    time.advance(59s);
    run();
    BOOST_REQUIRE(kept.size() == 2U);
    BOOST_TEST(kept[1].awaited());
    time.advance(1s);
    run();
    BOOST_REQUIRE(got.done());
    BOOST_TEST((got.outcome.failures.at(0).code == errc::deadline));
}

BOOST_AUTO_TEST_CASE(a_function_that_blocks_past_its_budget_has_timed_out_also_when_it_answers)
{
    async_chain<gate> handlers(io.get_executor(), time);
    handlers.add({.name = "blocker", .from = origin::extension, .timeout = 1s}, [&](const gate&) {
        time.advance(1s);
        return gate::rewrite{"late"};
    });
    handlers.add({.name = "watcher", .from = origin::extension, .timeout = 1s},
                 [&](const gate&) { time.advance(2s); });
    handlers.add({.name = "replier", .from = origin::extension, .timeout = 1s},
                 [&](const gate&, reply<gate> answer) {
                     time.advance(3s);
                     answer(gate::rewrite{"late"});
                 });
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    run();
    BOOST_REQUIRE(got.done());
    BOOST_TEST(got.outcome.text == "x");
    BOOST_REQUIRE(got.outcome.failures.size() == 3U);
    for (const auto& why : got.outcome.failures) BOOST_TEST((why.code == errc::timed_out));
}

BOOST_AUTO_TEST_CASE(what_is_late_and_invalid_is_reported_as_invalid)
{
    async_chain<gate> handlers(io.get_executor(), time);
    handlers.add({.timeout = 1s}, [&](const gate&) {
        time.advance(1s);
        return block{};
    });
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    run();
    BOOST_TEST((got.outcome.failures.at(0).code == errc::invalid_answer));
}

BOOST_AUTO_TEST_CASE(an_answer_counts_by_when_it_was_given_not_by_when_the_loop_got_to_it)
{
    async_chain<gate> handlers(io.get_executor(), time);
    std::vector<reply<gate>> kept;
    handlers.add({.timeout = 1s}, keeper(kept));
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    run();
    time.advance(999ms);
    kept[0](gate::rewrite{"in time"});
    time.advance(1h);
    run();
    BOOST_REQUIRE(got.done());
    BOOST_TEST(got.outcome.text == "in time");
}

BOOST_AUTO_TEST_CASE(cancelling_completes_with_cancelled_also_when_the_handler_ignores_it)
{
    async_chain<gate> handlers(io.get_executor(), time);
    std::vector<reply<gate>> kept;
    bool asked = false;
    handlers.add({}, keeper(kept));
    handlers.add({}, [&](const gate&) { asked = true; });
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
        asio::cancellation_signal stop;
        completion<gate> got;
        handlers.async_dispatch(event(), asio::bind_cancellation_slot(stop.slot(), got.handler()));
        run();
        stop.emit(type);
        run();
        BOOST_REQUIRE(got.done());
        BOOST_TEST((*got.ec == errc::cancelled));
        BOOST_TEST(!got.outcome.allowed);  // a default outcome is the safe one
        BOOST_TEST(!kept.back().awaited());
        kept.back()();
        run();
        BOOST_TEST(!asked);
    }
}

BOOST_AUTO_TEST_CASE(cancelling_from_inside_a_handler_stops_the_rest)
{
    for (const bool waits : {false, true}) {
        async_chain<gate> handlers(io.get_executor(), time);
        asio::cancellation_signal stop;
        bool asked = false;
        handlers.add({}, [&](const gate&) {
            stop.emit(asio::cancellation_type::total);
            return gate::rewrite{"y"};
        });
        handlers.add({}, [&](const gate&) { asked = true; });
        if (waits) handlers.add({}, [](const gate&, reply<gate> answer) { answer(); });
        completion<gate> got;
        handlers.async_dispatch(event(), asio::bind_cancellation_slot(stop.slot(), got.handler()));
        run();
        BOOST_REQUIRE(got.done());
        BOOST_TEST((*got.ec == errc::cancelled));
        BOOST_TEST(!asked);
    }
}

BOOST_AUTO_TEST_CASE(a_timeout_runs_from_the_call_of_its_handler_whatever_came_before)
{
    async_chain<gate> handlers(io.get_executor(), time);
    handlers.add({}, [&](const gate&) { time.advance(1h); });
    handlers.add({.timeout = 50ms}, [](const gate&) { return gate::rewrite{"1"}; });
    handlers.add({.from = origin::extension}, [&](const gate&) -> block {
        time.advance(1h);
        throw std::runtime_error("slow and broken");
    });
    handlers.add({.timeout = 50ms},
                 [](const gate& e, reply<gate> answer) { answer(gate::rewrite{e.text + "2"}); });
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    time.advance(1h);  // the loop was busy
    run();
    BOOST_REQUIRE(got.done());
    BOOST_TEST(got.outcome.text == "12");
    BOOST_TEST(got.outcome.failures.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_handler_that_fails_late_leaves_no_time_to_the_next)
{
    async_chain<gate_shared> handlers(io.get_executor(), time);
    handlers.add({.from = origin::extension}, [&](const gate_shared&) -> block {
        time.advance(60s);
        throw std::runtime_error("slow and broken");
    });
    bool asked = false;
    handlers.add({.from = origin::extension}, [&](const gate_shared&) { asked = true; });
    completion<gate_shared> got;
    handlers.async_dispatch(event<gate_shared>(), got.handler());
    run();
    BOOST_TEST(!asked);
    BOOST_TEST((got.outcome.failures.at(1).code == errc::not_started));
}

BOOST_AUTO_TEST_CASE(cancelling_fires_no_slot_of_a_handler_that_has_answered)
{
    async_chain<gate> handlers(io.get_executor(), time);
    std::optional<reply<gate>> kept;
    int fired = 0;
    handlers.add({}, [&](const gate&, reply<gate> answer) {
        answer.get_cancellation_slot().assign([&](asio::cancellation_type) { ++fired; });
        kept.emplace(std::move(answer));
    });
    asio::cancellation_signal stop;
    completion<gate> got;
    handlers.async_dispatch(event(), asio::bind_cancellation_slot(stop.slot(), got.handler()));
    run();
    stop.emit(asio::cancellation_type::total);  // is on its way
    (*kept)();                                  // and what the slot was for may be gone from here
    run();
    BOOST_REQUIRE(got.done());
    BOOST_TEST((*got.ec == errc::cancelled));
    BOOST_TEST(fired == 0);
}

BOOST_AUTO_TEST_CASE(cancelling_may_race_with_the_end_on_a_pool)
{
    asio::thread_pool pool(4);
    async_chain<gate> handlers(pool.get_executor());
    handlers.add({}, [&pool](const gate&, reply<gate> answer) {
        asio::post(pool, [answer = std::move(answer)]() mutable { answer(); });
    });
    constexpr int events = 200;
    std::atomic<int> completed{0};
    for (int i = 0; i != events; ++i) {
        // As a coroutine does: the operation and its cancellation on a strand of their own.
        const auto strand = asio::make_strand(pool);
        asio::post(strand, [&, strand] {
            const auto stop = std::make_shared<asio::cancellation_signal>();
            handlers.async_dispatch(
                gate{},
                asio::bind_cancellation_slot(
                    stop->slot(), asio::bind_executor(strand, [&, stop](error_code, gate::outcome) {
                        ++completed;
                    })));
            asio::post(strand, [stop] { stop->emit(asio::cancellation_type::total); });
        });
    }
    pool.join();
    BOOST_TEST(completed.load() == events);
}

BOOST_AUTO_TEST_CASE(the_destructor_of_a_removed_handler_may_use_the_chain)
{
    struct remover {
        async_chain<gate>* from;
        handler_id* other;
        ~remover() { from->remove(*other); }
    };
    async_chain<gate> handlers(io.get_executor(), time);
    handler_id other{};
    auto held = std::make_unique<remover>();
    held->from = &handlers;
    held->other = &other;
    const auto guard = handlers.add({}, [h = std::move(held)](const gate&) {});
    other = handlers.add({}, [](const gate&) {});
    BOOST_TEST(handlers.remove(guard));
    BOOST_TEST(handlers.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_fold_that_throws_ends_the_dispatch_with_the_safe_outcome)
{
    for (const bool later : {false, true}) {
        async_chain<brittle> handlers(io.get_executor(), time);
        std::optional<reply<brittle>> kept;
        if (later) {
            handlers.add({}, [&](const brittle&, reply<brittle> answer) {
                kept.emplace(std::move(answer));
            });
        } else {
            handlers.add({}, [](const brittle&) { return block{"crack"}; });
        }
        std::optional<error_code> ec;
        bool allowed = true;
        handlers.async_dispatch({}, [&](error_code e, brittle::outcome outcome) {
            ec = e;
            allowed = outcome.allowed;
        });
        run();
        if (kept) (*kept)(block{"crack"});
        run();
        BOOST_REQUIRE(ec.has_value());
        BOOST_TEST((*ec == errc::threw));
        BOOST_TEST(!allowed);
    }
}

BOOST_AUTO_TEST_CASE(an_answer_that_cannot_be_copied_is_still_owed)
{
    async_chain<picky> handlers(io.get_executor(), time);
    std::optional<reply<picky>> kept;
    handlers.add({}, keeper_of(kept));
    std::optional<bool> moved_in;
    handlers.async_dispatch({}, [&](error_code, picky::outcome o) { moved_in = o.accepted; });
    run();
    picky::uncopyable said;
    BOOST_CHECK_THROW((*kept)(said), std::runtime_error);
    BOOST_TEST(kept->awaited());
    auto& same = *kept;
    *kept = std::move(same);  // to itself
    BOOST_TEST(kept->awaited());
    (*kept)(std::move(said));
    run();
    BOOST_REQUIRE(moved_in.has_value());
    BOOST_TEST(*moved_in);
}

BOOST_AUTO_TEST_CASE(a_reply_that_outlives_its_throwing_handler_keeps_its_version_of_the_event)
{
    async_chain<gate> handlers(io.get_executor(), time);
    std::optional<reply<gate>> kept;
    const gate* seen = nullptr;
    handlers.add({}, [](const gate&) { return gate::rewrite{"one"}; });
    handlers.add({.from = origin::extension}, [&](const gate& e, reply<gate> answer) {
        seen = &e;
        kept.emplace(std::move(answer));
        throw std::runtime_error("boom");
    });
    handlers.add({}, [](const gate&) { return gate::rewrite{"two"}; });
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    run();
    BOOST_TEST(got.outcome.text == "two");
    BOOST_TEST(seen->text == "one");
}

BOOST_AUTO_TEST_CASE(a_cancelled_dispatch_is_traced_to_its_end)
{
    recorder seen;
    async_chain<gate> handlers(io.get_executor(), time, &seen);
    std::vector<reply<gate>> kept;
    handlers.add({.name = "a"}, keeper(kept));
    handlers.add({.name = "b"}, [](const gate&) {});
    asio::cancellation_signal stop;
    completion<gate> got;
    handlers.async_dispatch(event(), asio::bind_cancellation_slot(stop.slot(), got.handler()));
    run();
    stop.emit(asio::cancellation_type::total);
    run();
    BOOST_REQUIRE(seen.spans.size() == 2U);
    BOOST_TEST((seen.spans[0].ran && seen.spans[0].failed));
    BOOST_TEST(!seen.spans[1].ran);
}

BOOST_AUTO_TEST_CASE(cancelling_after_the_end_changes_nothing)
{
    async_chain<gate> handlers(io.get_executor(), time);
    handlers.add({}, [](const gate&, reply<gate> answer) { answer(); });
    asio::cancellation_signal stop;
    completion<gate> got;
    handlers.async_dispatch(event(), asio::bind_cancellation_slot(stop.slot(), got.handler()));
    run();
    stop.emit(asio::cancellation_type::terminal);
    run();
    BOOST_REQUIRE(got.done());
    BOOST_TEST(!got.ec->failed());
    BOOST_TEST(got.outcome.allowed);
}

BOOST_AUTO_TEST_CASE(a_chain_in_flight_keeps_the_handlers_that_it_started_with)
{
    async_chain<gate> handlers(io.get_executor(), time);
    std::vector<reply<gate>> kept;
    std::string asked;
    handlers.add({}, keeper(kept));
    const auto second = handlers.add({}, [&](const gate&) { asked += "2"; });
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    run();
    BOOST_TEST(handlers.remove(second));
    BOOST_TEST(!handlers.remove(second));
    handlers.add({}, [&](const gate&) { asked += "3"; });
    BOOST_TEST(handlers.size() == 2U);
    kept[0]();
    run();
    BOOST_TEST(got.done());
    BOOST_TEST(asked == "2");
    asked.clear();
    completion<gate> next;
    handlers.async_dispatch(event(), next.handler());
    run();
    kept[1]();
    run();
    BOOST_TEST(next.done());
    BOOST_TEST(asked == "3");
}

BOOST_AUTO_TEST_CASE(dispatches_may_overlap)
{
    async_chain<gate> handlers(io.get_executor(), time);
    std::vector<reply<gate>> kept;
    handlers.add({}, keeper(kept));
    completion<gate> first, second;
    handlers.async_dispatch(event("1"), first.handler());
    handlers.async_dispatch(event("2"), second.handler());
    run();
    BOOST_REQUIRE(kept.size() == 2U);
    kept[1](block{"no"});
    run();
    BOOST_TEST(second.done());
    BOOST_TEST(!first.done());
    kept[0]();
    run();
    BOOST_TEST(first.outcome.allowed);
}

BOOST_AUTO_TEST_CASE(the_event_loop_may_die_while_a_call_is_pending)
{
    auto destroyed = std::make_shared<int>(0);
    std::optional<reply<gate>> kept;
    auto loop = std::make_unique<asio::io_context>();
    async_chain<gate> handlers(loop->get_executor());
    handlers.add({}, [&](const gate&, reply<gate> answer) { kept.emplace(std::move(answer)); });
    handlers.async_dispatch(event(), [destroyed](error_code, gate::outcome) {
        BOOST_TEST(false, "the handler of a destroyed loop was called");
    });
    loop->poll();
    BOOST_REQUIRE(kept.has_value());
    BOOST_TEST(destroyed.use_count() == 2);
    loop.reset();
    BOOST_TEST(destroyed.use_count() == 1);
    BOOST_TEST(!kept->awaited());
    (*kept)(block{"to nobody"});
}

BOOST_AUTO_TEST_CASE(the_event_loop_may_die_with_an_answer_on_its_way)
{
    std::optional<reply<gate>> kept;
    auto loop = std::make_unique<asio::io_context>();
    async_chain<gate> handlers(loop->get_executor());
    handlers.add({}, [&](const gate&, reply<gate> answer) { kept.emplace(std::move(answer)); });
    handlers.async_dispatch(event(), [](error_code, gate::outcome) { BOOST_TEST(false); });
    loop->poll();
    (*kept)(block{"posted"});
    loop.reset();
    kept.reset();
}

BOOST_AUTO_TEST_CASE(a_pending_call_keeps_the_event_loop_at_work)
{
    async_chain<gate> handlers(io.get_executor());
    std::thread answerer;
    handlers.add({}, [&](const gate&, reply<gate> answer) {
        answerer = std::thread([answer = std::move(answer)]() mutable { answer(block{"thread"}); });
    });
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    io.run();  // without a limit: it ends because the dispatch does
    answerer.join();
    BOOST_REQUIRE(got.done());
    BOOST_TEST(got.outcome.reason == "thread");
}

BOOST_AUTO_TEST_CASE(answers_may_come_from_many_threads_on_a_pool)
{
    asio::thread_pool pool(4);
    async_chain<gate> handlers(pool.get_executor());
    for (int i = 0; i != 4; ++i) {
        handlers.add({}, [&pool](const gate& e, reply<gate> answer) {
            asio::post(pool, [text = e.text, answer = std::move(answer)]() mutable {
                answer(gate::rewrite{text + "+"});
            });
        });
    }
    constexpr int events = 200;
    std::atomic<int> right{0};
    for (int i = 0; i != events; ++i) {
        handlers.async_dispatch(gate{.text = std::to_string(i)},
                                [&right, i](error_code ec, gate::outcome outcome) {
                                    if (!ec && outcome.text == std::to_string(i) + "++++") ++right;
                                });
        if (i % 10 == 0) handlers.remove(handlers.add({}, [](const gate&) {}));
    }
    pool.join();
    BOOST_TEST(right.load() == events);
}

BOOST_AUTO_TEST_CASE(timeouts_and_answers_may_race_on_a_pool)
{
    asio::thread_pool pool(4);
    async_chain<gate> handlers(pool.get_executor());
    handlers.add({.from = origin::extension, .timeout = 1ms},
                 [&pool](const gate&, reply<gate> answer) {
                     auto timer = std::make_shared<asio::steady_timer>(pool, 1ms);
                     timer->async_wait([timer, answer = std::move(answer)](error_code) mutable {
                         answer(gate::rewrite{"answered"});
                     });
                 });
    constexpr int events = 300;
    std::atomic<int> whole{0};
    for (int i = 0; i != events; ++i) {
        handlers.async_dispatch(gate{.text = "x"}, [&whole](error_code ec, gate::outcome outcome) {
            const bool answered = outcome.text == "answered" && outcome.failures.empty();
            const bool late = outcome.text == "x" && outcome.failures.size() == 1 &&
                              outcome.failures[0].code == errc::timed_out;
            if (!ec && (answered || late)) ++whole;
        });
    }
    pool.join();
    BOOST_TEST(whole.load() == events);
}

BOOST_AUTO_TEST_CASE(a_trace_covers_handlers_that_answer_later)
{
    recorder seen;
    async_chain<gate_shared> handlers(io.get_executor(), time, &seen);
    std::vector<reply<gate_shared>> kept;
    handlers.add({.name = "a", .from = origin::extension}, keeper(kept));
    handlers.add({.name = "b", .from = origin::extension}, [](const gate_shared&) {});
    completion<gate_shared> got;
    handlers.async_dispatch(event<gate_shared>(), got.handler());
    run();
    time.advance(60s);
    run();
    completion<gate_shared> next;
    handlers.async_dispatch(event<gate_shared>(), next.handler());
    run();
    kept[1](block{"no"});
    run();
    BOOST_REQUIRE(seen.spans.size() == 4U);
    BOOST_TEST((seen.spans[0].failed && seen.spans[0].ran));
    BOOST_TEST((seen.spans[1].failed && !seen.spans[1].ran));
    BOOST_TEST((seen.spans[2].said == "block" && seen.spans[2].decided));
    BOOST_TEST((!seen.spans[3].failed && !seen.spans[3].ran));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(clock_suite)

BOOST_AUTO_TEST_CASE(the_steady_clock_knows_what_is_still_to_come)
{
    const auto& time = clock::steady();
    BOOST_TEST(time.before(time.now() + 1h));
    BOOST_TEST(time.before(clock::time_point::max()));
    // within what the last tick leaves in doubt
    BOOST_TEST(time.before(time.now() + 900ms));
    BOOST_TEST(!time.before(time.now()));
    BOOST_TEST(!time.before(time.now() - 1h));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(async_matcher_suite)

namespace {

template <class E>
outcome_of<E> ask(async_chain<E>& chain, E event)
{
    return chain.async_dispatch(std::move(event), asio::use_future).get();
}

}  // namespace

BOOST_AUTO_TEST_CASE(only_handlers_for_the_subject_are_asked_whatever_their_form)
{
    for (const bool waits : {false, true}) {
        asio::thread_pool pool(1);
        async_chain<use> handlers(pool.get_executor());
        handlers.add({}, says("1"));
        handlers.add({}, exact("bash"), says("2"));
        handlers.add({}, glob("e*"), says("3"));
        if (waits) {
            handlers.add({}, any_of({"bash", "edit"}),
                         [](const use&, reply<use> answer) { answer(use::note{"4"}); });
        } else {
            handlers.add({}, any_of({"bash", "edit"}), any_handler<use>(says("4")));
        }
        const auto removed = handlers.add({}, exact("bash"), says("5"));
        BOOST_TEST(handlers.size() == 5U);
        BOOST_TEST(ask(handlers, {"bash"}) == "1245");
        BOOST_TEST(ask(handlers, {"edit"}) == "134");
        BOOST_TEST(ask(handlers, {"read"}) == "1");
        BOOST_TEST(handlers.remove(removed));
        BOOST_TEST(ask(handlers, {"bash"}) == "124");
    }
}

BOOST_AUTO_TEST_CASE(the_trace_hears_of_every_handler_and_whether_it_is_for_the_subject)
{
    asio::thread_pool pool(1);
    recorder seen;
    async_chain<use> traced(pool.get_executor(), clock::steady(), &seen);
    traced.add({.name = "a"}, exact("edit"), says("1"));
    traced.add({.name = "b"}, exact("bash"),
               [](const use&, reply<use> answer) { answer(use::note{"2"}); });
    traced.add({.name = "c"}, glob("x*"), says("3"));
    traced.add({.name = "d"}, says("!"));
    traced.add({.name = "e"}, exact("bash"), says("5"));
    traced.add({.name = "f"}, exact("edit"), says("6"));
    const auto heard = [&] {
        std::string all;
        for (const auto& one : std::exchange(seen.spans, {})) {
            all += one.handler + (one.matched ? one.ran ? "+" : "-" : "/");
        }
        return all;
    };
    BOOST_TEST(ask(traced, {"bash"}) == "2!");
    BOOST_TEST(heard() == "a/b+c/d+e-f/");
    BOOST_TEST(ask(traced, {"read"}) == "!");
    BOOST_TEST(heard() == "a/b/c/d+e/f/");
}

BOOST_AUTO_TEST_CASE(observers_for_other_subjects_are_not_told)
{
    asio::io_context io;
    observers<used> watchers(io.get_executor());
    std::string told;
    const auto tell = [&](char c) { return [&told, c](const used&) { told += c; }; };
    watchers.add({}, exact("bash"), tell('1'));
    watchers.add({}, tell('2'));
    watchers.add({}, any_of({"edit", "bash"}), tell('3'));
    const auto notify = [&](std::string tool) {
        watchers.notify({std::move(tool)});
        io.restart();
        io.run();
        return std::exchange(told, {});
    };
    BOOST_TEST(notify("bash") == "123");
    BOOST_TEST(notify("edit") == "23");
    BOOST_TEST(notify("read") == "2");
}

BOOST_AUTO_TEST_CASE(the_trace_hears_of_observers_for_other_subjects)
{
    asio::io_context io;
    recorder seen;
    observers<used> watchers(io.get_executor(), clock::steady(), &seen);
    watchers.add({.name = "a"}, exact("bash"), [](const used&) {});
    watchers.add({.name = "b"}, exact("edit"), [](const used&) {});
    watchers.notify({"bash"});
    io.run();
    BOOST_REQUIRE(seen.spans.size() == 2U);
    BOOST_TEST(seen.spans[0].handler == "b");
    BOOST_TEST((!seen.spans[0].matched && !seen.spans[0].ran));
    BOOST_TEST(seen.spans[1].handler == "a");
    BOOST_TEST((seen.spans[1].matched && seen.spans[1].ran));
}

BOOST_AUTO_TEST_CASE(a_reply_that_outlives_its_dispatch_keeps_its_own_handler_and_no_other)
{
    asio::io_context io;
    auto other = std::make_shared<int>(1);
    const std::weak_ptr<int> gone = other;
    std::optional<reply<use>> owed;
    {
        async_chain<use> handlers(io.get_executor());
        handlers.add({.timeout = 0ms},
                     [&](const use&, reply<use> answer) { owed.emplace(std::move(answer)); });
        handlers.add({}, [other = std::move(other)](const use&) {});
        handlers.async_dispatch({"bash"}, [](error_code, std::string) {});
        io.run();
    }
    BOOST_TEST(owed.has_value());
    BOOST_TEST(gone.expired());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(coroutine_suite, fixture)

BOOST_AUTO_TEST_CASE(a_handler_may_be_a_coroutine_of_every_form)
{
    async_chain<gate> handlers(io.get_executor());
    const auto nap = []() -> asio::awaitable<void> {
        asio::steady_timer timer(co_await asio::this_coro::executor, 1ms);
        co_await timer.async_wait(asio::use_awaitable);
    };
    handlers.add({}, [&](const gate&) -> asio::awaitable<void> { co_await nap(); });
    handlers.add({}, [&](const gate& e) -> asio::awaitable<gate::rewrite> {
        co_await nap();
        gate::rewrite said{e.text + "1"};
        co_return said;
    });
    handlers.add({}, [&](const gate& e) -> asio::awaitable<std::optional<gate::rewrite>> {
        co_await nap();
        gate::rewrite said{e.text + "2"};
        co_return said;
    });
    handlers.add({}, [&](const gate& e) -> asio::awaitable<gate::answer> {
        co_await nap();
        gate::rewrite said{e.text + "3"};
        co_return said;
    });
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    io.run();
    BOOST_REQUIRE(got.done());
    BOOST_TEST(got.outcome.text == "x123");
}

BOOST_AUTO_TEST_CASE(a_coroutine_that_throws_has_failed)
{
    async_chain<gate> handlers(io.get_executor());
    handlers.add({.from = origin::extension}, [](const gate&) -> asio::awaitable<void> {
        throw std::runtime_error("boom");
        co_return;
    });
    handlers.add({}, [](const gate&) -> asio::awaitable<block> {
        throw std::runtime_error("bang");
        co_return block{};
    });
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    io.run();
    BOOST_REQUIRE(got.outcome.failures.size() == 2U);
    BOOST_TEST(got.outcome.failures[0].message == "boom");
    BOOST_TEST(got.outcome.reason == "bang");
}

BOOST_AUTO_TEST_CASE(an_overdue_coroutine_is_cancelled_at_its_suspension)
{
    async_chain<gate> handlers(io.get_executor(), time);
    bool finished = false;
    bool unwound = false;
    handlers.add({.name = "slow", .from = origin::extension, .timeout = 1s},
                 [&](const gate& e) -> asio::awaitable<block> {
                     struct notice {
                         bool& flag;
                         ~notice() { flag = true; }
                     } const at_end{unwound};
                     asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
                     co_await timer.async_wait(asio::use_awaitable);
                     finished = e.text.empty();
                     block said{"late"};
                     co_return said;
                 });
    completion<gate> got;
    handlers.async_dispatch(event(), got.handler());
    run();
    time.advance(1s);
    run();
    BOOST_REQUIRE(got.done());
    BOOST_TEST((got.outcome.failures.at(0).code == errc::timed_out));
    BOOST_TEST(got.outcome.allowed);
    BOOST_TEST(unwound);
    BOOST_TEST(!finished);
}

BOOST_AUTO_TEST_CASE(the_event_loop_may_die_while_a_coroutine_is_pending)
{
    auto loop = std::make_unique<asio::io_context>();
    async_chain<gate> handlers(loop->get_executor());
    handlers.add({}, [](const gate&) -> asio::awaitable<void> {
        asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
        co_await timer.async_wait(asio::use_awaitable);
    });
    handlers.async_dispatch(event(), [](error_code, gate::outcome) { BOOST_TEST(false); });
    loop->poll();
    loop.reset();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(observers_suite, fixture)

BOOST_AUTO_TEST_CASE(observers_start_in_order_never_in_the_callers_stack_and_nobody_waits)
{
    observers<note> watchers(io.get_executor(), time);
    std::string started;
    std::vector<reply<note>> kept;
    watchers.add({}, [&](const note& e, reply<note> answer) {
        started += "a" + std::to_string(e.value);
        kept.push_back(std::move(answer));
    });
    watchers.add({}, [&](const note& e) { started += "b" + std::to_string(e.value); });
    watchers.notify({.value = 7});
    BOOST_TEST(started == "");
    run();
    BOOST_TEST(started == "a7b7");
    kept[0]();
    run();
}

BOOST_AUTO_TEST_CASE(a_failing_or_hanging_observer_touches_no_other)
{
    observers<note> watchers(io.get_executor(), time);
    std::vector<failure> failures;
    std::vector<reply<note>> kept;
    int seen = 0;
    watchers.add({.name = "bad"}, [](const note&) { throw std::runtime_error("boom"); });
    watchers.add({.name = "slow", .timeout = 5s},
                 [&](const note&, reply<note> answer) { kept.push_back(std::move(answer)); });
    watchers.add({.name = "good"}, [&](const note& e) { seen = e.value; });
    watchers.notify({.value = 3}, [&](const failure& why) { failures.push_back(why); });
    run();
    BOOST_TEST(seen == 3);
    BOOST_REQUIRE(failures.size() == 1U);
    BOOST_TEST(failures[0].message == "boom");
    BOOST_TEST(failures[0].handler.position == 1U);
    time.advance(5s);
    run();
    BOOST_REQUIRE(failures.size() == 2U);
    BOOST_TEST((failures[1].code == errc::timed_out));
    BOOST_TEST(failures[1].handler.name == "slow");
    BOOST_TEST(failures[1].handler.position == 2U);
}

BOOST_AUTO_TEST_CASE(an_observer_that_is_removed_while_an_event_is_in_flight_still_gets_it)
{
    observers<note> watchers(io.get_executor(), time);
    int seen = 0;
    const auto id = watchers.add({}, [&](const note& e) { seen += e.value; });
    watchers.notify({.value = 1});
    BOOST_TEST(watchers.remove(id));
    watchers.notify({.value = 10});
    run();
    BOOST_TEST(seen == 1);
    BOOST_TEST(watchers.size() == 0U);
}

BOOST_AUTO_TEST_CASE(the_event_loop_may_die_with_observers_pending)
{
    auto loop = std::make_unique<asio::io_context>();
    observers<note> watchers(loop->get_executor());
    std::optional<reply<note>> kept;
    watchers.add({}, [&](const note&, reply<note> answer) { kept.emplace(std::move(answer)); });
    watchers.notify({.value = 1});
    loop->poll();
    BOOST_TEST(kept.has_value());
    watchers.notify({.value = 2});  // not even started
    loop.reset();
    kept.reset();
}

BOOST_AUTO_TEST_SUITE_END()
