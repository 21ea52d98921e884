#include <belay/process/detail/ending_fsm.hpp>

#include <boost/test/unit_test.hpp>

namespace {

using belay::process::detail::ending_step;
using belay::process::detail::group_signal;
using machine = belay::process::detail::ending_fsm;

bool is_nothing(const ending_step& step)
{
    return !step.hang_up && step.signal == group_signal::none && !step.arm_grace && !step.reap;
}

bool asks_to_leave(const ending_step& step)
{
    return step.hang_up && step.signal == group_signal::none && step.arm_grace && !step.reap;
}

bool makes_leave(const ending_step& step)
{
    return step.hang_up && step.signal == group_signal::terminate && step.arm_grace && !step.reap;
}

/// The leader is reaped, and nobody of its group is left.
bool ends_for_good(const ending_step& step)
{
    return step.signal == group_signal::kill && step.reap && !step.arm_grace;
}

/// The leader is reaped, and its group left alone.
bool only_reaps(const ending_step& step)
{
    return step.signal == group_signal::none && step.reap && !step.arm_grace;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(ending_fsm)

BOOST_AUTO_TEST_CASE(a_child_that_exits_by_itself_is_reaped_and_nobody_is_signalled)
{
    machine fsm(true);
    BOOST_TEST(only_reaps(fsm.exited()));
    BOOST_TEST(is_nothing(fsm.terminate()));
    BOOST_TEST(is_nothing(fsm.hang_up()));
    BOOST_TEST(is_nothing(fsm.grace_over()));
    BOOST_TEST(is_nothing(fsm.pipes_closed()));
}

BOOST_AUTO_TEST_CASE(a_child_that_leaves_when_asked_is_only_reaped)
{
    machine fsm(true);
    BOOST_TEST(asks_to_leave(fsm.hang_up()));
    BOOST_TEST(only_reaps(fsm.exited()));
    BOOST_TEST(is_nothing(fsm.grace_over()));
}

BOOST_AUTO_TEST_CASE(a_child_is_asked_then_made_then_killed)
{
    machine fsm(true);
    BOOST_TEST(asks_to_leave(fsm.hang_up()));
    BOOST_TEST(makes_leave(fsm.grace_over()));
    const ending_step last = fsm.grace_over();
    BOOST_TEST((last.signal == group_signal::kill));
    BOOST_TEST(!last.reap);
    BOOST_TEST(ends_for_good(fsm.exited()));
    BOOST_TEST(is_nothing(fsm.grace_over()));
}

BOOST_AUTO_TEST_CASE(a_child_that_has_failed_is_made_to_leave)
{
    machine fsm(true);
    BOOST_TEST(makes_leave(fsm.terminate()));
    BOOST_TEST(is_nothing(fsm.terminate()));
    BOOST_TEST(is_nothing(fsm.hang_up()));
    BOOST_TEST(is_nothing(fsm.pipes_closed()));
    BOOST_TEST(ends_for_good(fsm.exited()));
}

BOOST_AUTO_TEST_CASE(a_child_that_was_asked_can_be_made_to_leave_before_its_grace_is_over)
{
    machine fsm(true);
    BOOST_TEST(asks_to_leave(fsm.hang_up()));
    BOOST_TEST(makes_leave(fsm.terminate()));
}

BOOST_AUTO_TEST_CASE(others_of_a_group_that_has_to_end_have_the_grace)
{
    machine fsm(true);
    BOOST_TEST(makes_leave(fsm.terminate()));
    BOOST_TEST(is_nothing(fsm.exited()));
    BOOST_TEST(ends_for_good(fsm.grace_over()));
}

BOOST_AUTO_TEST_CASE(a_group_of_which_nobody_holds_a_pipe_is_gone_with_its_leader)
{
    machine fsm(true);
    BOOST_TEST(makes_leave(fsm.terminate()));
    BOOST_TEST(is_nothing(fsm.exited()));
    BOOST_TEST(ends_for_good(fsm.pipes_closed()));
}

BOOST_AUTO_TEST_CASE(without_grace_the_first_signal_is_the_last)
{
    machine asked(false);
    const ending_step hung_up = asked.hang_up();
    BOOST_TEST((hung_up.signal == group_signal::kill));
    BOOST_TEST(!hung_up.arm_grace);
    BOOST_TEST(ends_for_good(asked.exited()));

    machine made(false);
    BOOST_TEST((made.terminate().signal == group_signal::kill));
    BOOST_TEST(ends_for_good(made.exited()));
}

BOOST_AUTO_TEST_SUITE_END()
