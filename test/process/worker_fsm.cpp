#include <belay/process/detail/worker_fsm.hpp>
#include <belay/process/invocation.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using belay::errc;
using belay::error_code;
using machine = belay::process::detail::worker_fsm;
using belay::process::no_limit;
using belay::process::detail::worker_end;
using belay::process::detail::worker_step;

using tickets = std::vector<std::uint64_t>;

const machine::time_point start{1000h};
const error_code success;

machine::rules rules(std::size_t in_flight = 1)
{
    return {.in_flight = in_flight,
            .recycle_after = no_limit,
            .idle_timeout = std::nullopt,
            .first_pause = 100ms,
            .longest_pause = 400ms,
            .grace = 1s};
}

bool is_nothing(const worker_step& step)
{
    return step.end == worker_end::none && step.complete.empty() && !step.launch &&
           step.send.empty() && step.wait_again.empty();
}

/// The tickets of what is sent.
tickets sent(const worker_step& step)
{
    tickets which;
    for (const auto& one : step.send) which.push_back(one.which);
    return which;
}

/// The tickets of what completes, if it all completes with this.
tickets completed(const worker_step& step, const error_code& with)
{
    tickets which;
    for (const auto& one : step.complete) {
        BOOST_TEST(one.error == with);
        which.push_back(one.which);
    }
    return which;
}

/// A machine whose child has the requests from 1 to `count`, with this timeout.
machine busy(std::size_t count, machine::rules by,
             std::optional<std::chrono::milliseconds> timeout = std::nullopt)
{
    machine fsm(by);
    BOOST_TEST(fsm.request(1, timeout, start).launch);
    BOOST_TEST((sent(fsm.launched(start)) == tickets{1}));
    for (std::uint64_t which = 2; which <= count; ++which)
        BOOST_TEST((sent(fsm.request(which, timeout, start)) == tickets{which}));
    return fsm;
}

/// A machine whose child has answered once, and has nothing to do.
machine idle(machine::rules by)
{
    machine fsm = busy(1, by);
    BOOST_TEST((completed(fsm.answered(1, start), success) == tickets{1}));
    return fsm;
}

/// A machine whose first request has crashed two children at once: the next is started after the first
/// pause.
machine crashed_twice(machine::rules by)
{
    machine fsm = busy(1, by);
    BOOST_TEST(fsm.exited(errc::exited, start).launch);
    BOOST_TEST((sent(fsm.launched(start)) == tickets{1}));
    BOOST_TEST((completed(fsm.exited(errc::exited, start), errc::exited) == tickets{1}));
    return fsm;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(worker_fsm)

// --- Turns

BOOST_AUTO_TEST_CASE(nothing_is_started_before_the_first_request)
{
    machine fsm(rules());
    BOOST_TEST(is_nothing(fsm.time_passed(start)));
    BOOST_TEST(!fsm.next_wake());
    const worker_step step = fsm.request(7, 1s, start);
    BOOST_TEST(step.launch);
    BOOST_TEST(step.send.empty());
    const worker_step next = fsm.launched(start);
    BOOST_REQUIRE(next.send.size() == 1U);
    BOOST_TEST(next.send[0].which == 7U);
    BOOST_TEST(next.send[0].id == 1U);
}

BOOST_AUTO_TEST_CASE(requests_beyond_the_window_wait_in_their_order)
{
    machine fsm = busy(2, rules(2));
    BOOST_TEST(is_nothing(fsm.request(3, 1s, start)));
    BOOST_TEST(is_nothing(fsm.request(4, 1s, start)));
    const worker_step step = fsm.answered(2, start);
    BOOST_TEST((completed(step, success) == tickets{2}));
    BOOST_TEST((sent(step) == tickets{3}));
    BOOST_TEST(step.send[0].id == 3U);
    BOOST_TEST((sent(fsm.answered(1, start)) == tickets{4}));
}

BOOST_AUTO_TEST_CASE(a_window_of_none_is_a_window_of_one)
{
    machine fsm = busy(1, rules(0));
    BOOST_TEST(is_nothing(fsm.request(2, 1s, start)));
}

BOOST_AUTO_TEST_CASE(an_answer_is_to_a_request_that_is_in_flight)
{
    machine fsm = busy(1, rules());
    BOOST_TEST(fsm.is_in_flight(1));
    BOOST_TEST(!fsm.is_in_flight(2));
    BOOST_TEST(!fsm.is_in_flight(0));
    BOOST_TEST(!fsm.was_sent(2));
    BOOST_TEST(!fsm.was_sent(0));
    fsm.answered(1, start);
    BOOST_TEST(!fsm.is_in_flight(1));
    BOOST_TEST(fsm.was_sent(1));
}

// --- Time

BOOST_AUTO_TEST_CASE(the_wait_for_a_turn_is_not_charged)
{
    machine fsm = busy(1, rules(), 10s);
    fsm.request(2, 1s, start);
    BOOST_TEST((fsm.next_wake() == start + 10s));
    BOOST_TEST((sent(fsm.answered(1, start + 5s)) == tickets{2}));
    BOOST_TEST((fsm.next_wake() == start + 6s));
    BOOST_TEST(is_nothing(fsm.time_passed(start + 6s - 1ms)));
    BOOST_TEST((completed(fsm.time_passed(start + 6s), errc::timed_out) == tickets{2}));
}

BOOST_AUTO_TEST_CASE(the_start_of_the_program_is_charged)
{
    machine fsm(rules());
    BOOST_TEST(fsm.request(1, 1s, start).launch);
    fsm.launched(start + 800ms);
    BOOST_TEST((fsm.next_wake() == start + 1s));
}

BOOST_AUTO_TEST_CASE(a_timeout_that_is_over_sends_nothing)
{
    for (const auto timeout : {0ms, -5ms}) {
        machine fsm(rules());
        const worker_step step = fsm.request(1, timeout, start);
        BOOST_TEST((completed(step, errc::timed_out) == tickets{1}));
        BOOST_TEST(!step.launch);
    }
}

BOOST_AUTO_TEST_CASE(a_request_without_a_timeout_is_waited_for)
{
    machine fsm = busy(1, rules());
    BOOST_TEST(!fsm.next_wake());
    BOOST_TEST(is_nothing(fsm.time_passed(start + 1000h)));
}

BOOST_AUTO_TEST_CASE(a_timeout_that_no_clock_can_show_is_none)
{
    machine fsm = busy(1, rules(), std::chrono::milliseconds::max());
    BOOST_TEST(!fsm.next_wake());
}

BOOST_AUTO_TEST_CASE(an_overdue_request_ends_the_child_and_the_next_one_gets_a_fresh_one)
{
    machine fsm = busy(1, rules(), 1s);
    fsm.request(2, 1s, start);
    const worker_step step = fsm.time_passed(start + 1s);
    BOOST_TEST((step.end == worker_end::terminate));
    BOOST_TEST((completed(step, errc::timed_out) == tickets{1}));
    BOOST_TEST(step.launch);
    const worker_step next = fsm.launched(start + 1s);
    BOOST_TEST((sent(next) == tickets{2}));
    BOOST_TEST(next.send[0].id == 1U);
}

BOOST_AUTO_TEST_CASE(what_an_overdue_child_had_not_answered_is_sent_once_more_each_alone)
{
    machine fsm = busy(1, rules(4), 1s);
    for (std::uint64_t which = 2; which <= 4; ++which) fsm.request(which, 5s, start);
    fsm.request(5, 5s, start);
    BOOST_TEST((completed(fsm.answered(3, start), success) == tickets{3}));  // 5 takes its place
    const worker_step step = fsm.time_passed(start + 1s);
    BOOST_TEST((completed(step, errc::timed_out) == tickets{1}));
    BOOST_TEST((step.wait_again == tickets{2, 4, 5}));
    BOOST_TEST(step.launch);
    BOOST_TEST((sent(fsm.launched(start + 1s)) == tickets{2}));
    BOOST_TEST((fsm.next_wake() == start + 6s));  // its whole timeout
    BOOST_TEST(is_nothing(fsm.request(6, 5s, start + 1s)));
    BOOST_TEST((sent(fsm.answered(1, start + 2s)) == tickets{4}));
    BOOST_TEST((sent(fsm.answered(2, start + 2s)) == tickets{5}));
    BOOST_TEST((sent(fsm.answered(3, start + 2s)) == tickets{6}));
    BOOST_TEST((sent(fsm.request(7, 5s, start + 2s)) == tickets{7}));  // together again
}

BOOST_AUTO_TEST_CASE(of_several_overdue_requests_each_has_failed)
{
    machine fsm = busy(3, rules(3), 1s);
    const worker_step step = fsm.time_passed(start + 1s);
    BOOST_TEST((completed(step, errc::timed_out) == tickets{1, 2, 3}));
    BOOST_TEST(!step.launch);
    BOOST_TEST(!fsm.next_wake());
}

BOOST_AUTO_TEST_CASE(a_request_that_is_overdue_the_second_time_has_failed)
{
    machine fsm = busy(1, rules(2), 1s);
    fsm.request(2, 2s, start);
    BOOST_TEST((completed(fsm.time_passed(start + 1s), errc::timed_out) == tickets{1}));
    BOOST_TEST((sent(fsm.launched(start + 1s)) == tickets{2}));
    const worker_step step = fsm.time_passed(start + 3s);
    BOOST_TEST((completed(step, errc::timed_out) == tickets{2}));
    BOOST_TEST((step.end == worker_end::terminate));
}

// --- Ends that nobody has asked for

BOOST_AUTO_TEST_CASE(requests_in_flight_at_a_crash_are_sent_once_more_each_alone)
{
    machine fsm = busy(2, rules(2));
    const worker_step step = fsm.exited(errc::exited, start);
    BOOST_TEST(step.launch);
    BOOST_TEST(step.complete.empty());
    BOOST_TEST((step.end == worker_end::none));
    BOOST_TEST((sent(fsm.launched(start)) == tickets{1}));
    BOOST_TEST((sent(fsm.answered(1, start)) == tickets{2}));
}

BOOST_AUTO_TEST_CASE(a_request_that_crashes_a_second_child_has_failed_and_the_others_have_not)
{
    machine fsm = busy(2, rules(2));
    fsm.exited(errc::exited, start);
    fsm.launched(start);
    const worker_step step = fsm.exited(errc::signalled, start);
    BOOST_TEST((completed(step, errc::signalled) == tickets{1}));
    BOOST_TEST(!step.launch);  // a pause first
    BOOST_TEST((fsm.next_wake() == start + 100ms));
    BOOST_TEST(fsm.time_passed(start + 100ms).launch);
    BOOST_TEST((sent(fsm.launched(start + 100ms)) == tickets{2}));
    BOOST_TEST((completed(fsm.answered(1, start + 100ms), success) == tickets{2}));
}

BOOST_AUTO_TEST_CASE(what_waits_comes_after_what_is_sent_once_more)
{
    machine fsm = busy(1, rules());
    fsm.request(2, 1s, start);
    fsm.exited(errc::exited, start);
    BOOST_TEST((sent(fsm.launched(start)) == tickets{1}));
}

BOOST_AUTO_TEST_CASE(pauses_double_up_to_their_limit_and_an_answer_ends_them)
{
    machine fsm = busy(1, rules());
    std::uint64_t which = 1;
    auto now = start;
    const auto crash = [&] {
        const worker_step step = fsm.exited(errc::exited, now);
        if (step.complete.empty()) return step;
        return fsm.request(++which, std::nullopt, now);
    };
    BOOST_TEST(crash().launch);  // the first time at once
    for (const auto pause : {100ms, 200ms, 400ms, 400ms, 400ms}) {
        fsm.launched(now);
        BOOST_TEST(!crash().launch);
        BOOST_TEST((fsm.next_wake() == now + pause));
        BOOST_TEST(!fsm.time_passed(now + pause - 1ms).launch);
        now += pause;
        BOOST_TEST(fsm.time_passed(now).launch);
    }
    fsm.launched(now);
    fsm.answered(1, now);
    fsm.request(++which, std::nullopt, now);
    BOOST_TEST(crash().launch);
}

BOOST_AUTO_TEST_CASE(a_pause_is_counted_from_the_start_of_the_child_that_failed)
{
    machine fsm = busy(1, rules());
    fsm.exited(errc::exited, start);
    fsm.launched(start);
    fsm.exited(errc::exited, start + 60ms);
    BOOST_TEST(is_nothing(fsm.request(2, std::nullopt, start + 60ms)));
    BOOST_TEST((fsm.next_wake() == start + 100ms));
    BOOST_TEST(fsm.time_passed(start + 100ms).launch);
    fsm.launched(start + 100ms);
    BOOST_TEST(fsm.exited(errc::exited, start + 400ms).launch);  // 200 ms have passed
}

BOOST_AUTO_TEST_CASE(a_child_that_hangs_again_and_again_is_started_after_longer_and_longer_pauses)
{
    machine fsm = busy(1, rules(), 10ms);
    auto now = start;
    std::uint64_t which = 1;
    const auto hang = [&] {
        now += 10ms;
        BOOST_TEST((completed(fsm.time_passed(now), errc::timed_out) == tickets{which}));
    };
    const auto ask = [&] { return fsm.request(++which, 10ms, now); };
    hang();
    BOOST_TEST(ask().launch);  // the first time at once
    for (const auto pause : {100ms, 200ms, 400ms, 400ms}) {
        const auto begun = now;
        fsm.launched(now);
        hang();
        const worker_step refused = ask();
        BOOST_TEST((completed(refused, errc::unavailable) == tickets{which}));
        BOOST_TEST((fsm.not_before() == begun + pause));
        now = begun + pause;
        BOOST_TEST(ask().launch);
    }
    fsm.launched(now);
    fsm.answered(1, now);
    const worker_step again = ask();
    BOOST_TEST((sent(again) == tickets{which}));
    hang();
    BOOST_TEST(ask().launch);
}

BOOST_AUTO_TEST_CASE(a_pause_that_is_over_when_the_request_comes_costs_it_nothing)
{
    machine fsm = busy(1, rules());
    fsm.exited(errc::exited, start);
    fsm.launched(start);
    BOOST_TEST((completed(fsm.exited(errc::exited, start), errc::exited) == tickets{1}));
    BOOST_TEST(!fsm.next_wake());
    BOOST_TEST(fsm.request(2, 1s, start + 100ms).launch);
}

BOOST_AUTO_TEST_CASE(a_pause_is_not_charged)
{
    machine fsm = busy(1, rules());
    fsm.exited(errc::exited, start);
    fsm.launched(start);
    fsm.exited(errc::exited, start);
    BOOST_TEST(is_nothing(fsm.request(2, 150ms, start)));
    BOOST_TEST(fsm.time_passed(start + 100ms).launch);
    BOOST_TEST((sent(fsm.launched(start + 100ms)) == tickets{2}));
    BOOST_TEST((fsm.next_wake() == start + 250ms));
}

BOOST_AUTO_TEST_CASE(a_request_does_not_wait_for_a_pause_that_is_longer_than_its_timeout)
{
    machine fsm = crashed_twice(rules());  // a pause of 100 ms
    BOOST_TEST((completed(fsm.request(3, 99ms, start), errc::unavailable) == tickets{3}));
    BOOST_TEST(!fsm.next_wake());
    BOOST_TEST(is_nothing(fsm.request(4, 100ms, start)));
    BOOST_TEST((completed(fsm.request(5, 39ms, start + 60ms), errc::unavailable) == tickets{5}));
    BOOST_TEST(is_nothing(fsm.request(6, 40ms, start + 60ms)));  // what is left of it
    BOOST_TEST(fsm.time_passed(start + 100ms).launch);
    BOOST_TEST((sent(fsm.launched(start + 100ms)) == tickets{4}));
}

BOOST_AUTO_TEST_CASE(what_waits_when_such_a_pause_begins_fails_too)
{
    machine fsm = busy(1, rules());
    fsm.exited(errc::exited, start);
    fsm.launched(start);
    fsm.request(2, 99ms, start);
    fsm.request(3, 100ms, start);
    fsm.request(4, 99ms, start);
    const worker_step step = fsm.exited(errc::exited, start);
    BOOST_REQUIRE(step.complete.size() == 3U);
    BOOST_TEST((step.complete[0].which == 1U && step.complete[0].error == errc::exited));
    BOOST_TEST((step.complete[1].which == 2U && step.complete[1].error == errc::unavailable));
    BOOST_TEST((step.complete[2].which == 4U && step.complete[2].error == errc::unavailable));
    BOOST_TEST((fsm.next_wake() == start + 100ms));
    fsm.time_passed(start + 100ms);
    BOOST_TEST((sent(fsm.launched(start + 100ms)) == tickets{3}));
}

BOOST_AUTO_TEST_CASE(what_crashes_before_such_a_pause_is_not_sent_once_more)
{
    machine fsm = crashed_twice(rules());
    fsm.request(3, 199ms, start);
    fsm.time_passed(start + 100ms);
    fsm.launched(start + 100ms);
    const worker_step step = fsm.exited(errc::signalled, start + 100ms);  // a pause of 200 ms
    BOOST_TEST((completed(step, errc::unavailable) == tickets{3}));
    BOOST_TEST(step.wait_again.empty());
    BOOST_TEST(!fsm.next_wake());
}

BOOST_AUTO_TEST_CASE(nobody_with_a_timeout_waits_longer_than_a_second)
{
    machine::rules by = rules();
    by.first_pause = by.longest_pause = 1001ms;
    machine fsm = crashed_twice(by);
    BOOST_TEST((completed(fsm.request(3, 30s, start), errc::unavailable) == tickets{3}));
    BOOST_TEST(is_nothing(fsm.request(4, 30s, start + 1ms)));  // 1000 ms are left
    BOOST_TEST(is_nothing(fsm.request(5, std::nullopt, start)));
    BOOST_TEST(fsm.time_passed(start + 1001ms).launch);
}

BOOST_AUTO_TEST_CASE(what_another_that_is_overdue_leaves_behind_does_not_wait_either)
{
    machine fsm = crashed_twice(rules(3));
    fsm.request(3, std::nullopt, start);
    fsm.time_passed(start + 100ms);
    fsm.launched(start + 100ms);
    fsm.request(4, 10ms, start + 100ms);
    BOOST_TEST((sent(fsm.request(5, 50ms, start + 100ms)) == tickets{5}));
    const worker_step step = fsm.time_passed(start + 110ms);  // 190 ms are left of 200
    BOOST_REQUIRE(step.complete.size() == 2U);
    BOOST_TEST((step.complete[0].which == 4U && step.complete[0].error == errc::timed_out));
    BOOST_TEST((step.complete[1].which == 5U && step.complete[1].error == errc::unavailable));
    BOOST_TEST((step.wait_again == tickets{3}));
    BOOST_TEST(fsm.failures() == 3U);
}

BOOST_AUTO_TEST_CASE(a_worker_that_crashes_at_each_request_keeps_none_for_longer_than_two_seconds)
{
    machine::rules by = rules();
    by.longest_pause = 5s;
    machine fsm(by);
    auto now = start;
    int refused = 0;
    for (std::uint64_t which = 1; which <= 100; ++which) {
        const auto asked = now;
        worker_step step = fsm.request(which, which % 2 == 0 ? 1s : 30s, now);
        while (step.complete.empty()) {
            if (step.launch) {
                fsm.launched(now);
                step = fsm.exited(errc::exited, now);
            } else {
                BOOST_REQUIRE(fsm.next_wake().has_value());
                now = *fsm.next_wake();
                step = fsm.time_passed(now);
            }
        }
        BOOST_TEST((now - asked <= 2s));
        refused += step.complete[0].error == errc::unavailable;
        now += 10ms;
    }
    BOOST_TEST(refused > 80);
}

BOOST_AUTO_TEST_CASE(a_child_that_ends_when_it_has_nothing_to_do_is_replaced_when_it_is_needed)
{
    machine fsm = idle(rules());
    BOOST_TEST(is_nothing(fsm.exited(errc::exited, start)));
    BOOST_TEST(fsm.request(2, 1s, start).launch);
}

BOOST_AUTO_TEST_CASE(nothing_is_sent_to_a_child_that_does_not_listen_any_more)
{
    machine fsm = busy(1, rules(2));
    BOOST_TEST((fsm.hung_up(start).end == worker_end::hang_up));
    BOOST_TEST(is_nothing(fsm.hung_up(start)));
    BOOST_TEST(is_nothing(fsm.request(2, 1s, start)));
    BOOST_TEST(fsm.exited(errc::exited, start).launch);
    BOOST_TEST((sent(fsm.launched(start)) == tickets{1}));
}

BOOST_AUTO_TEST_CASE(a_child_that_hangs_up_with_nothing_to_do_is_replaced_when_it_is_needed)
{
    machine fsm = idle(rules());
    BOOST_TEST((fsm.hung_up(start).end == worker_end::retire));
    BOOST_TEST(fsm.request(2, 1s, start).launch);
    BOOST_TEST((sent(fsm.launched(start)) == tickets{2}));
    // That is a failure like any other.
    fsm.hung_up(start);
    BOOST_TEST((fsm.answered(1, start).end == worker_end::retire));
    BOOST_TEST(fsm.request(3, 1s, start).launch);
    fsm.launched(start);
    fsm.hung_up(start);
    BOOST_TEST(!fsm.exited(errc::exited, start).launch);
    BOOST_TEST((fsm.next_wake() == start + 100ms));
}

BOOST_AUTO_TEST_CASE(a_child_that_has_hung_up_can_still_answer_and_still_be_overdue)
{
    machine fsm = busy(2, rules(2), 1s);
    fsm.hung_up(start);
    BOOST_TEST((completed(fsm.answered(2, start), success) == tickets{2}));
    const worker_step step = fsm.time_passed(start + 1s);
    BOOST_TEST((step.end == worker_end::terminate));
    BOOST_TEST((completed(step, errc::timed_out) == tickets{1}));
}

BOOST_AUTO_TEST_CASE(what_is_no_answer_fails_all_that_are_in_flight_and_ends_the_child)
{
    machine fsm = busy(2, rules(2));
    fsm.request(3, 1s, start);
    const worker_step step = fsm.misbehaved(errc::not_json, start);
    BOOST_TEST((step.end == worker_end::terminate));
    BOOST_TEST((completed(step, errc::not_json) == tickets{1, 2}));
    BOOST_TEST(step.launch);
    BOOST_TEST((sent(fsm.launched(start)) == tickets{3}));
}

BOOST_AUTO_TEST_CASE(noise_out_of_nothing_ends_the_child_and_fails_nobody)
{
    machine fsm = idle(rules());
    const worker_step step = fsm.misbehaved(errc::not_json, start);
    BOOST_TEST((step.end == worker_end::terminate));
    BOOST_TEST(step.complete.empty());
    BOOST_TEST(!step.launch);
}

// --- Starts that fail

BOOST_AUTO_TEST_CASE(a_program_that_cannot_be_started_fails_all_that_wait)
{
    machine fsm(rules());
    fsm.request(1, 1s, start);
    BOOST_TEST((completed(fsm.launch_failed(errc::spawn_failed, start), errc::spawn_failed) ==
                tickets{1}));
    BOOST_TEST(!fsm.next_wake());
    BOOST_TEST(fsm.request(2, 1s, start).launch);
}

BOOST_AUTO_TEST_CASE(a_busy_program_is_tried_again_for_a_while)
{
    machine fsm(rules());
    fsm.request(1, std::nullopt, start);
    auto now = start;
    int pauses = 0;
    worker_step step = fsm.launch_failed(errc::busy, now);
    for (; step.complete.empty(); step = fsm.launch_failed(errc::busy, now)) {
        BOOST_TEST((fsm.next_wake() == now + machine::busy_pause));
        now += machine::busy_pause;
        BOOST_TEST(fsm.time_passed(now).launch);
        ++pauses;
    }
    BOOST_TEST((completed(step, errc::busy) == tickets{1}));
    BOOST_TEST(pauses == machine::busy_window / machine::busy_pause);
    // The next request has a window of its own.
    BOOST_TEST(fsm.request(2, std::nullopt, now).launch);
    BOOST_TEST(is_nothing(fsm.launch_failed(errc::busy, now)));
    // Who has less time than its pause waits for it.
    BOOST_TEST(is_nothing(fsm.request(3, 1ms, now)));
}

// --- Cancellation

BOOST_AUTO_TEST_CASE(a_busy_program_that_nobody_waits_for_any_more_is_tried_anew_for_the_next)
{
    machine fsm(rules());
    fsm.request(1, 1s, start);
    BOOST_TEST(fsm.launch_failed(errc::busy, start).complete.empty());
    fsm.cancel(1, start);
    const auto later = start + 10s;
    BOOST_TEST(fsm.request(2, 1s, later).launch);
    BOOST_TEST(fsm.launch_failed(errc::busy, later).complete.empty());
    BOOST_TEST(fsm.time_passed(later + 5ms).launch);
}

BOOST_AUTO_TEST_CASE(a_request_that_waits_is_cancelled_without_a_trace)
{
    machine fsm = busy(1, rules());
    fsm.request(2, 1s, start);
    BOOST_TEST((completed(fsm.cancel(2, start), errc::cancelled) == tickets{2}));
    BOOST_TEST(is_nothing(fsm.cancel(2, start)));
    BOOST_TEST(sent(fsm.answered(1, start)).empty());
}

BOOST_AUTO_TEST_CASE(the_answer_to_a_cancelled_request_is_dropped_and_the_child_lives_on)
{
    machine fsm = busy(1, rules());
    fsm.request(2, 1s, start);
    const worker_step step = fsm.cancel(1, start);
    BOOST_TEST((completed(step, errc::cancelled) == tickets{1}));
    BOOST_TEST((step.end == worker_end::none));
    BOOST_TEST(sent(step).empty());  // it is still at it
    BOOST_TEST(is_nothing(fsm.cancel(1, start)));
    const worker_step next = fsm.answered(1, start);
    BOOST_TEST(next.complete.empty());
    BOOST_TEST((sent(next) == tickets{2}));
}

BOOST_AUTO_TEST_CASE(a_cancelled_request_still_has_its_timeout)
{
    machine fsm = busy(1, rules(), 5s);
    fsm.cancel(1, start);
    BOOST_TEST((fsm.next_wake() == start + 5s));
    const worker_step step = fsm.time_passed(start + 5s);
    BOOST_TEST((step.end == worker_end::terminate));
    BOOST_TEST(step.complete.empty());
}

BOOST_AUTO_TEST_CASE(a_cancelled_request_without_a_timeout_has_the_grace)
{
    machine fsm = busy(1, rules());
    fsm.request(2, 5s, start);
    fsm.cancel(1, start);
    BOOST_TEST((fsm.next_wake() == start + 1s));
    const worker_step step = fsm.time_passed(start + 1s);
    BOOST_TEST((step.end == worker_end::terminate));
    BOOST_TEST(step.launch);
    BOOST_TEST((sent(fsm.launched(start + 1s)) == tickets{2}));
}

BOOST_AUTO_TEST_CASE(a_cancelled_request_is_not_sent_once_more)
{
    machine fsm = busy(2, rules(2));
    fsm.cancel(1, start);
    BOOST_TEST(fsm.exited(errc::exited, start).complete.empty());
    BOOST_TEST((sent(fsm.launched(start)) == tickets{2}));
}

BOOST_AUTO_TEST_CASE(a_cancelled_request_does_not_fail_once_more)
{
    machine fsm = busy(2, rules(2));
    fsm.cancel(2, start);
    BOOST_TEST((completed(fsm.misbehaved(errc::not_json, start), errc::not_json) == tickets{1}));
}

BOOST_AUTO_TEST_CASE(a_request_in_a_pause_can_be_cancelled)
{
    machine fsm = crashed_twice(rules());
    fsm.request(2, 1s, start);
    BOOST_TEST((completed(fsm.cancel(2, start), errc::cancelled) == tickets{2}));
    BOOST_TEST(!fsm.next_wake());
    BOOST_TEST(!fsm.time_passed(start + 1s).launch);
}

BOOST_AUTO_TEST_CASE(a_request_that_was_completed_cannot_be_cancelled)
{
    machine fsm = idle(rules());
    BOOST_TEST(is_nothing(fsm.cancel(1, start)));
}

// --- Ends that somebody has asked for

BOOST_AUTO_TEST_CASE(a_child_that_has_done_its_share_is_retired_after_its_last_answer)
{
    machine::rules by = rules(2);
    by.recycle_after = 2;
    machine fsm = busy(2, by);
    BOOST_TEST(is_nothing(fsm.request(3, 1s, start)));
    BOOST_TEST((fsm.answered(1, start).end == worker_end::none));
    const worker_step step = fsm.answered(2, start);
    BOOST_TEST((completed(step, success) == tickets{2}));
    BOOST_TEST((step.end == worker_end::retire));
    BOOST_TEST(step.launch);
    const worker_step next = fsm.launched(start);
    BOOST_TEST((sent(next) == tickets{3}));
    BOOST_TEST(next.send[0].id == 1U);
}

BOOST_AUTO_TEST_CASE(a_child_that_has_done_its_share_is_replaced_when_it_is_needed)
{
    machine::rules by = rules();
    by.recycle_after = 0;  // is 1
    machine fsm = busy(1, by);
    const worker_step step = fsm.answered(1, start);
    BOOST_TEST((step.end == worker_end::retire));
    BOOST_TEST(!step.launch);
}

BOOST_AUTO_TEST_CASE(a_child_with_nothing_to_do_for_too_long_is_retired)
{
    machine::rules by = rules();
    by.idle_timeout = 10s;
    machine fsm = idle(by);
    BOOST_TEST((fsm.next_wake() == start + 10s));
    BOOST_TEST((fsm.time_passed(start + 10s - 1ms).end == worker_end::none));
    fsm.request(2, std::nullopt, start + 8s);
    BOOST_TEST(!fsm.next_wake());
    fsm.answered(2, start + 9s);
    BOOST_TEST((fsm.next_wake() == start + 19s));
    const worker_step step = fsm.time_passed(start + 19s);
    BOOST_TEST((step.end == worker_end::retire));
    BOOST_TEST(!step.launch);
    BOOST_TEST(!fsm.next_wake());
    BOOST_TEST(fsm.request(3, 1s, start + 20s).launch);
}

BOOST_AUTO_TEST_CASE(a_shut_down_completes_everything_and_retires_the_child)
{
    machine fsm = busy(2, rules(2), 1s);
    fsm.request(3, 1s, start);
    fsm.cancel(1, start);
    const worker_step step = fsm.shut_down();
    BOOST_TEST((completed(step, errc::closed) == tickets{2, 3}));
    BOOST_TEST((step.end == worker_end::retire));
    BOOST_TEST(!fsm.next_wake());
    BOOST_TEST(is_nothing(fsm.shut_down()));
    BOOST_TEST(is_nothing(fsm.cancel(2, start)));
    BOOST_TEST(is_nothing(fsm.time_passed(start + 1h)));
    BOOST_TEST((completed(fsm.request(4, 1s, start), errc::closed) == tickets{4}));
}

BOOST_AUTO_TEST_CASE(a_shut_down_without_a_child_ends_none)
{
    machine fsm(rules());
    BOOST_TEST(is_nothing(fsm.shut_down()));
}

BOOST_AUTO_TEST_SUITE_END()
