#include <belay/process/detail/run_fsm.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>

namespace {

using namespace std::chrono_literals;
using belay::errc;
using belay::error_code;
using belay::process::detail::group_signal;
using machine = belay::process::detail::run_fsm;
using belay::process::detail::run_step;

const machine::time_point start{1000h};
const machine::time_point deadline = start + 10s;
const machine::time_point never = machine::time_point::max();
const error_code success;

/// A machine whose child is running.
machine running(machine::time_point until = deadline, bool graceful = true)
{
    machine fsm(start, until, graceful);
    BOOST_TEST(fsm.start({}, start).launch);
    BOOST_TEST(fsm.launched(start).watch);
    return fsm;
}

bool is_nothing(const run_step& step)
{
    return !step.launch && !step.pause && !step.watch && step.signal == group_signal::none &&
           !step.reap && !step.report && !step.arm_grace && !step.release;
}

/// The report and the polite signal that every early end starts with.
bool ends_with(const run_step& step, errc why)
{
    return step.report == error_code(why) && step.signal == group_signal::terminate &&
           step.arm_grace && !step.reap && !step.release;
}

bool gives_up_with(const run_step& step, error_code why)
{
    return step.report == why && step.release && !step.reap && step.signal == group_signal::none;
}

/// The last step of a group that had to end.
bool ends_for_good(const run_step& step)
{
    return step.signal == group_signal::kill && step.reap && step.release && !step.arm_grace;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(run_fsm)

BOOST_AUTO_TEST_CASE(an_exit_is_reaped_and_reported_and_nobody_is_signalled)
{
    machine fsm = running();
    const run_step step = fsm.exited(start + 1s, false, false);
    BOOST_TEST((step.report == success));
    BOOST_TEST(step.reap);
    BOOST_TEST(step.release);
    BOOST_TEST((step.signal == group_signal::none));
}

BOOST_AUTO_TEST_CASE(a_refusal_starts_nothing)
{
    machine fsm(start, deadline, true);
    BOOST_TEST(gives_up_with(fsm.start(errc::invalid_argv, start), errc::invalid_argv));
    BOOST_TEST(is_nothing(fsm.cancel()));
    BOOST_TEST(is_nothing(fsm.deadline_passed()));
}

BOOST_AUTO_TEST_CASE(a_deadline_that_is_over_starts_nothing)
{
    machine fsm(start, start, true);
    BOOST_TEST(gives_up_with(fsm.start({}, start), errc::timed_out));
}

BOOST_AUTO_TEST_CASE(a_refusal_counts_more_than_the_time)
{
    machine fsm(start, start, true);
    BOOST_TEST(gives_up_with(fsm.start(errc::input_too_large, start), errc::input_too_large));
}

BOOST_AUTO_TEST_CASE(a_cancellation_before_the_start_starts_nothing)
{
    machine fsm(start, deadline, true);
    BOOST_TEST(gives_up_with(fsm.cancel(), errc::cancelled));
    BOOST_TEST(is_nothing(fsm.start({}, start)));
}

BOOST_AUTO_TEST_CASE(a_failed_launch_is_reported_once)
{
    for (const errc why : {errc::spawn_failed, errc::bad_cwd}) {
        machine fsm(start, deadline, true);
        fsm.start({}, start);
        BOOST_TEST(gives_up_with(fsm.launch_failed(why, start), why));
        BOOST_TEST(is_nothing(fsm.cancel()));
        BOOST_TEST(is_nothing(fsm.deadline_passed()));
        BOOST_TEST(is_nothing(fsm.start_again(start)));
    }
}

BOOST_AUTO_TEST_CASE(a_busy_program_is_tried_again_until_the_window_closes)
{
    machine fsm(start, never, true);
    fsm.start({}, start);
    BOOST_TEST(fsm.launch_failed(errc::busy, start).pause);
    BOOST_TEST(fsm.start_again(start + 5ms).launch);
    BOOST_TEST(fsm.launch_failed(errc::busy, start + machine::busy_window - 1ns).pause);
    BOOST_TEST(fsm.start_again(start + machine::busy_window).launch);
    BOOST_TEST(
        gives_up_with(fsm.launch_failed(errc::busy, start + machine::busy_window), errc::busy));
}

BOOST_AUTO_TEST_CASE(a_busy_program_that_is_free_again_runs)
{
    machine fsm(start, never, true);
    fsm.start({}, start);
    fsm.launch_failed(errc::busy, start);
    BOOST_TEST(fsm.start_again(start + 5ms).launch);
    BOOST_TEST(fsm.launched(start + 5ms).watch);
    BOOST_TEST((fsm.exited(start + 6ms, false, false).report == success));
}

BOOST_AUTO_TEST_CASE(the_deadline_bounds_the_tries)
{
    machine fsm(start, start + 7ms, true);
    fsm.start({}, start);
    BOOST_TEST(fsm.launch_failed(errc::busy, start).pause);
    BOOST_TEST(gives_up_with(fsm.start_again(start + 7ms), errc::timed_out));

    machine during_the_pause(start, start + 7ms, true);
    during_the_pause.start({}, start);
    during_the_pause.launch_failed(errc::busy, start);
    BOOST_TEST(gives_up_with(during_the_pause.deadline_passed(), errc::timed_out));
    BOOST_TEST(is_nothing(during_the_pause.start_again(start + 8ms)));

    machine during_the_try(start, start + 7ms, true);
    during_the_try.start({}, start);
    BOOST_TEST(
        gives_up_with(during_the_try.launch_failed(errc::busy, start + 8ms), errc::timed_out));
}

BOOST_AUTO_TEST_CASE(a_cancellation_between_two_tries_ends_it)
{
    machine fsm(start, never, true);
    fsm.start({}, start);
    fsm.launch_failed(errc::busy, start);
    BOOST_TEST(gives_up_with(fsm.cancel(), errc::cancelled));
    BOOST_TEST(is_nothing(fsm.start_again(start + 5ms)));
}

BOOST_AUTO_TEST_CASE(a_spawn_that_took_too_long_has_timed_out)
{
    machine fsm(start, deadline, true);
    fsm.start({}, start);
    const run_step step = fsm.launched(deadline);
    BOOST_TEST(step.watch);
    BOOST_TEST(ends_with(step, errc::timed_out));
}

BOOST_AUTO_TEST_CASE(an_exit_that_is_seen_too_late_has_timed_out)
{
    machine fsm = running();
    fsm.pipes_closed();
    const run_step step = fsm.exited(deadline, false, false);
    BOOST_TEST((step.report == error_code(errc::timed_out)));
    BOOST_TEST(ends_for_good(step));
}

BOOST_AUTO_TEST_CASE(each_reason_to_end_early_reports_first_and_signals_politely)
{
    machine too_late = running();
    BOOST_TEST(ends_with(too_late.deadline_passed(), errc::timed_out));
    machine too_much = running();
    BOOST_TEST(ends_with(too_much.over_limit(), errc::output_too_large));
    machine cancelled = running();
    BOOST_TEST(ends_with(cancelled.cancel(), errc::cancelled));
}

BOOST_AUTO_TEST_CASE(the_first_reason_is_the_one_that_counts)
{
    machine fsm = running();
    fsm.over_limit();
    BOOST_TEST(is_nothing(fsm.deadline_passed()));
    BOOST_TEST(is_nothing(fsm.cancel()));
    BOOST_TEST(is_nothing(fsm.over_limit()));
    BOOST_TEST(!fsm.exited(deadline, true, false).report);
}

BOOST_AUTO_TEST_CASE(too_much_output_found_at_the_exit_is_a_failure)
{
    machine fsm = running();
    const run_step step = fsm.exited(start + 1s, true, false);
    BOOST_TEST(ends_with(step, errc::output_too_large));
    BOOST_TEST(ends_for_good(fsm.pipes_closed()));
}

BOOST_AUTO_TEST_CASE(a_leader_that_ends_in_time_needs_no_hard_kill_but_its_group_gets_one)
{
    machine fsm = running();
    fsm.deadline_passed();
    fsm.pipes_closed();
    BOOST_TEST(ends_for_good(fsm.exited(deadline + 1ms, false, false)));
    BOOST_TEST(!fsm.hard_kill());
    BOOST_TEST(is_nothing(fsm.grace_over()));
}

BOOST_AUTO_TEST_CASE(a_leader_stays_unreaped_while_its_group_may_use_the_grace)
{
    machine fsm = running();
    fsm.deadline_passed();
    BOOST_TEST(is_nothing(fsm.exited(deadline + 1ms, false, false)));
    BOOST_TEST(ends_for_good(fsm.grace_over()));
    BOOST_TEST(!fsm.hard_kill());
}

BOOST_AUTO_TEST_CASE(a_leader_is_reaped_as_soon_as_nobody_holds_its_pipes)
{
    machine fsm = running();
    fsm.cancel();
    BOOST_TEST(is_nothing(fsm.exited(start + 1s, false, false)));
    BOOST_TEST(ends_for_good(fsm.pipes_closed()));
    BOOST_TEST(is_nothing(fsm.grace_over()));
}

BOOST_AUTO_TEST_CASE(a_leader_that_outlives_the_grace_is_killed_then_reaped)
{
    machine fsm = running();
    fsm.cancel();
    const run_step kill = fsm.grace_over();
    BOOST_TEST((kill.signal == group_signal::kill));
    BOOST_TEST(!kill.reap);
    BOOST_TEST(fsm.hard_kill());
    BOOST_TEST(is_nothing(fsm.grace_over()));
    const run_step end = fsm.exited(start + 2s, false, false);
    BOOST_TEST(ends_for_good(end));
    BOOST_TEST(!end.report);
    BOOST_TEST(fsm.hard_kill());
}

BOOST_AUTO_TEST_CASE(without_a_grace_the_first_signal_is_the_last)
{
    machine fsm = running(deadline, false);
    const run_step kill = fsm.deadline_passed();
    BOOST_TEST((kill.report == error_code(errc::timed_out)));
    BOOST_TEST((kill.signal == group_signal::kill));
    BOOST_TEST(!kill.arm_grace);
    BOOST_TEST(fsm.hard_kill());
    BOOST_TEST(ends_for_good(fsm.exited(deadline + 1ms, false, false)));
}

BOOST_AUTO_TEST_CASE(a_lost_status_is_reported_as_that)
{
    machine fsm = running();
    const run_step step = fsm.exited(start + 1s, false, true);
    BOOST_TEST((step.report == error_code(errc::status_lost)));
    BOOST_TEST((step.signal == group_signal::none));
    BOOST_TEST(step.release);
}

BOOST_AUTO_TEST_CASE(closed_pipes_alone_end_nothing)
{
    machine fsm = running(never);
    BOOST_TEST(is_nothing(fsm.pipes_closed()));
    BOOST_TEST(is_nothing(fsm.grace_over()));
    BOOST_TEST((fsm.exited(start + 1000h, false, false).report == success));
}

BOOST_AUTO_TEST_CASE(after_the_end_every_event_is_ignored)
{
    machine fsm = running();
    fsm.exited(start + 1s, false, false);
    BOOST_TEST(is_nothing(fsm.cancel()));
    BOOST_TEST(is_nothing(fsm.deadline_passed()));
    BOOST_TEST(is_nothing(fsm.over_limit()));
    BOOST_TEST(is_nothing(fsm.pipes_closed()));
    BOOST_TEST(is_nothing(fsm.grace_over()));
    BOOST_TEST(is_nothing(fsm.start_again(start + 2s)));
    BOOST_TEST(is_nothing(fsm.start({}, start + 2s)));
}

// Every order of events that can come while a child runs: one report, one reap, no signal after the
// reap.
BOOST_AUTO_TEST_CASE(in_every_order_of_events_there_is_one_report_one_reap_and_no_signal_after_it)
{
    enum event {
        deadline_event,
        cancel_event,
        over_event,
        closed_event,
        exit_event,
        grace_event,
        count
    };
    constexpr int length = 6;
    int total = 1;
    for (int i = 0; i < length; ++i) total *= count;
    int wrong = 0;
    for (const bool graceful : {true, false})
        for (int code = 0; code < total; ++code) {
            machine fsm(start, deadline, graceful);
            fsm.start({}, start);
            fsm.launched(start);
            int reports = 0;
            int reaps = 0;
            bool exited = false;
            bool armed = false;
            const auto take = [&](const run_step& step) {
                if (reaps > 0 && (step.signal != group_signal::none || step.reap)) ++wrong;
                reports += step.report.has_value();
                reaps += step.reap;
                armed = armed || step.arm_grace;
                if (step.reap && !exited) ++wrong;
                if (step.release != step.reap) ++wrong;
            };
            const auto exit = [&] {
                if (exited) return;
                exited = true;
                take(fsm.exited(start + 1s, false, false));
            };
            for (int i = 0, rest = code; i < length; ++i, rest /= count)
                switch (static_cast<event>(rest % count)) {
                case deadline_event: take(fsm.deadline_passed()); break;
                case cancel_event: take(fsm.cancel()); break;
                case over_event: take(fsm.over_limit()); break;
                case closed_event: take(fsm.pipes_closed()); break;
                case exit_event: exit(); break;
                case grace_event:
                    if (armed) take(fsm.grace_over());
                    break;
                case count: break;
                }
            exit();
            if (armed) take(fsm.grace_over());
            if (reports != 1 || reaps != 1) ++wrong;
        }
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_SUITE_END()
