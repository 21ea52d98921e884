#include <belay/core/detail/chain_fsm.hpp>

#include <boost/test/unit_test.hpp>

#include <optional>

using namespace belay;
using namespace std::chrono_literals;
using belay::detail::chain_fsm;
using action = chain_fsm::action;

namespace {

const chain_fsm::time_point start{};

// The machine, as far as `steps` calls have taken it.
chain_fsm after(int steps, deadline_rule rule = {})
{
    chain_fsm machine(rule, start);
    if (steps > 0) machine.next(start, std::nullopt);
    if (steps > 1) machine.settled(flow::proceed);
    if (steps > 2) machine.next(start, std::nullopt);
    if (steps > 3) machine.settled(flow::proceed);
    return machine;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(chain_fsm_suite)

BOOST_AUTO_TEST_CASE(it_asks_for_as_long_as_nobody_stops_it)
{
    chain_fsm machine({}, start);
    for (int i = 0; i != 3; ++i) {
        BOOST_TEST(!machine.finished());
        BOOST_TEST((machine.next(start, std::nullopt) == action::call));
        machine.settled(flow::proceed);
    }
    BOOST_TEST(!machine.finished());
    BOOST_TEST(!machine.cancelled());
}

BOOST_AUTO_TEST_CASE(stop_finishes_before_the_others)
{
    chain_fsm machine({}, start);
    machine.next(start, std::nullopt);
    machine.settled(flow::stop);
    BOOST_TEST(machine.finished());
}

BOOST_AUTO_TEST_CASE(without_any_limit_nothing_is_ever_late)
{
    auto machine = after(1);
    BOOST_TEST((machine.until() == chain_fsm::time_point::max()));
    BOOST_TEST(!machine.judge(start + 1000h).has_value());
}

BOOST_AUTO_TEST_CASE(a_handlers_own_timeout_runs_from_its_call)
{
    chain_fsm machine({}, start);
    machine.next(start + 5s, 100ms);
    BOOST_TEST((machine.until() == start + 5s + 100ms));
    BOOST_TEST(!machine.judge(start + 5s + 99ms).has_value());
    BOOST_TEST((machine.judge(start + 5s + 100ms) == errc::timed_out));
    machine.settled(flow::proceed);
    machine.next(start + 6s, std::nullopt);
    BOOST_TEST(!machine.judge(start + 100h).has_value());
}

BOOST_AUTO_TEST_CASE(a_shared_deadline_runs_from_the_start_of_the_chain)
{
    chain_fsm machine(shared_deadline(60s), start);
    BOOST_TEST((machine.next(start + 25s, std::nullopt) == action::call));
    BOOST_TEST((machine.until() == start + 60s));
    machine.settled(flow::proceed);
    BOOST_TEST((machine.next(start + 59s, std::nullopt) == action::call));
    BOOST_TEST((machine.judge(start + 60s) == errc::deadline));
    machine.settled(flow::proceed);
    BOOST_TEST((machine.next(start + 60s, std::nullopt) == action::not_started));
    machine.settled(flow::proceed);
    BOOST_TEST((machine.next(start + 61s, std::nullopt) == action::not_started));
}

BOOST_AUTO_TEST_CASE(a_deadline_per_handler_starts_anew_for_each)
{
    chain_fsm machine(deadline_per_handler(60s), start);
    machine.next(start, std::nullopt);
    machine.settled(flow::proceed);
    BOOST_TEST((machine.next(start + 100s, std::nullopt) == action::call));
    BOOST_TEST((machine.until() == start + 160s));
    BOOST_TEST((machine.judge(start + 160s) == errc::deadline));
}

BOOST_AUTO_TEST_CASE(what_a_handler_waits_for_its_turn_is_charged_to_nothing)
{
    chain_fsm machine(shared_deadline(60s), start);
    machine.next(start + 10s, 30s);
    machine.waited(100s);
    BOOST_TEST((machine.until() == start + 140s));
    BOOST_TEST((machine.judge(start + 140s) == errc::timed_out));
    machine.settled(flow::proceed);
    BOOST_TEST((machine.next(start + 150s, std::nullopt) == action::call));
    BOOST_TEST((machine.until() == start + 160s));
    BOOST_TEST((machine.judge(start + 160s) == errc::deadline));

    chain_fsm unlimited({}, start);
    unlimited.next(start, std::nullopt);
    unlimited.waited(100s);
    BOOST_TEST((unlimited.until() == chain_fsm::time_point::max()));
}

BOOST_AUTO_TEST_CASE(of_timeout_and_deadline_the_earlier_counts_and_a_tie_is_the_deadlines)
{
    chain_fsm machine(shared_deadline(1s), start);
    machine.next(start, 300ms);
    BOOST_TEST((machine.judge(start + 300ms) == errc::timed_out));
    machine.settled(flow::proceed);
    machine.next(start + 800ms, 300ms);
    BOOST_TEST((machine.judge(start + 1s) == errc::deadline));
    machine.settled(flow::proceed);
    machine.next(start + 700ms, 300ms);
    BOOST_TEST((machine.judge(start + 1s) == errc::deadline));
}

BOOST_AUTO_TEST_CASE(a_limit_beyond_the_clock_never_comes)
{
    chain_fsm machine({}, start + 1h);
    machine.next(start + 1h, std::chrono::milliseconds::max());
    BOOST_TEST((machine.until() == chain_fsm::time_point::max()));
}

BOOST_AUTO_TEST_CASE(cancellation_at_every_step_finishes_as_cancelled)
{
    for (int step = 0; step <= 4; ++step) {
        auto machine = after(step);
        machine.cancel();
        BOOST_TEST(machine.finished(), "step " << step);
        BOOST_TEST(machine.cancelled(), "step " << step);
        // What the running handler was still allowed to say changes nothing.
        if (step == 1 || step == 3) machine.settled(flow::proceed);
        BOOST_TEST(machine.finished(), "step " << step);
        BOOST_TEST(machine.cancelled(), "step " << step);
    }
}

BOOST_AUTO_TEST_SUITE_END()
