#include <belay/modules/detail/tool_fsm.hpp>
#include <belay/modules/message.hpp>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include <exception>
#include <optional>
#include <stdexcept>
#include <string>

using namespace belay::modules;
using belay::modules::detail::tool_fsm;
using act = tool_fsm::act;

namespace {

std::exception_ptr thrown(const char* what)
{
    return std::make_exception_ptr(std::runtime_error(what));
}

std::string text_of(const std::exception_ptr& why)
{
    try {
        if (why) std::rethrow_exception(why);
    } catch (const std::exception& one) {
        return one.what();
    }
    return "";
}

// What a call throws that is denied, or blocked.
template <class Exception>
std::string refusal(tool_fsm& call)
{
    try {
        if (const auto why = call.take_failure()) std::rethrow_exception(why);
    } catch (const Exception& one) {
        return one.what();
    }
    return "";
}

approval_resolution resolved(approval_policy policy, std::string reason = {})
{
    return {.policy = policy, .reason = std::move(reason)};
}

tool_output text(const char* what, bool is_error = false)
{
    return {{text_block(what)}, {{"by", "tool"}}, is_error};
}

struct fsm_fixture {
    tool_fsm call{"demo"};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(tool_fsm_suite, fsm_fixture)

BOOST_AUTO_TEST_CASE(a_call_goes_through_its_stages_to_the_tools_own_output)
{
    BOOST_TEST((call.resolved(resolved(approval_policy::prompt), true) == act::ask_person));
    BOOST_TEST((call.person_said("Approve") == act::ask_modules));
    BOOST_TEST((call.modules_said({.allowed = true}) == act::run_tool));
    BOOST_TEST((call.tool_returned(text("ok")) == act::tell_modules));
    BOOST_TEST((call.modules_told({}) == act::finish));
    BOOST_TEST(!call.take_failure());
    const auto output = call.take_output();
    BOOST_TEST(output.content == text("ok").content);
    BOOST_TEST(output.details == text("ok").details);
    BOOST_TEST(!output.is_error);
}

BOOST_AUTO_TEST_CASE(what_is_allowed_asks_nobody)
{
    BOOST_TEST((call.resolved(resolved(approval_policy::allow), true) == act::ask_modules));
    BOOST_TEST((call.resolved(resolved(approval_policy::allow), false) == act::ask_modules));
}

BOOST_AUTO_TEST_CASE(only_the_exact_label_approves)
{
    for (const std::optional<std::string>& said :
         {std::optional<std::string>(), std::optional<std::string>("Deny"),
          std::optional<std::string>("approve"), std::optional<std::string>("Approve "),
          std::optional<std::string>("")}) {
        BOOST_TEST((call.person_said(said) == act::finish));
        BOOST_TEST(refusal<tool_denied>(call) == "Tool call denied by user: demo");
    }
}

BOOST_AUTO_TEST_CASE(a_denial_says_which_policy_it_was)
{
    BOOST_TEST((call.resolved(resolved(approval_policy::deny), true) == act::finish));
    BOOST_TEST(refusal<tool_denied>(call).starts_with(
        "Tool call denied by user: demo\nTool \"demo\" is blocked by user policy.\n"));
    BOOST_TEST(
        (call.resolved(resolved(approval_policy::deny, "Plan mode: no"), true) == act::finish));
    BOOST_TEST(refusal<tool_denied>(call) == "Tool call denied by user: demo\nPlan mode: no");
}

BOOST_AUTO_TEST_CASE(where_nobody_is_there_to_ask_the_call_is_denied_and_says_what_to_do)
{
    BOOST_TEST((call.resolved(resolved(approval_policy::prompt), false) == act::finish));
    const auto plain = refusal<tool_denied>(call);
    BOOST_TEST(
        plain.starts_with("Tool call denied by user: demo\nTool \"demo\" requires approval "
                          "but no interactive UI available.\n"));
    for (const auto* option : {"\n  1. ", "\n  2. Add tools.approval.demo: allow", "\n  3. "}) {
        BOOST_TEST(plain.find(option) != plain.npos);
    }
    call.resolved(resolved(approval_policy::prompt, "it looks critical"), false);
    BOOST_TEST(refusal<tool_denied>(call).starts_with(
        "Tool call denied by user: demo\nit looks critical\nTool \"demo\" requires approval"));
}

BOOST_AUTO_TEST_CASE(a_prompt_that_fails_is_what_the_call_throws)
{
    BOOST_TEST((call.prompt_failed(thrown("no terminal")) == act::finish));
    BOOST_TEST(text_of(call.take_failure()) == "no terminal");
}

BOOST_AUTO_TEST_CASE(a_block_throws_exactly_its_reason_and_without_one_says_something)
{
    BOOST_TEST((call.modules_said({.reason = "not today"}) == act::finish));
    BOOST_TEST(refusal<tool_blocked>(call) == "not today");
    BOOST_TEST((call.modules_said({}) == act::finish));
    BOOST_TEST(!refusal<tool_blocked>(call).empty());
}

BOOST_AUTO_TEST_CASE(a_failure_is_told_as_an_error_with_its_message_and_then_thrown)
{
    const auto why = thrown("disk full");
    BOOST_TEST((call.tool_failed(why) == act::tell_modules));
    BOOST_TEST(call.output().content == boost::json::array{text_block("disk full")});
    BOOST_TEST(call.output().details.is_null());
    BOOST_TEST(call.output().is_error);
    BOOST_TEST((call.modules_told({}) == act::finish));
    BOOST_TEST((call.take_failure() == why));
}

BOOST_AUTO_TEST_CASE(an_override_is_returned_in_the_place_of_a_failure)
{
    call.tool_failed(thrown("disk full"));
    call.modules_told({.overridden = true, .content = {text_block("hint")}, .is_error = true});
    BOOST_TEST(!call.take_failure());
    const auto output = call.take_output();
    BOOST_TEST(output.content == boost::json::array{text_block("hint")});
    BOOST_TEST(output.is_error);
}

BOOST_AUTO_TEST_CASE(an_override_is_returned_in_the_place_of_an_output)
{
    call.tool_returned(text("ok"));
    call.modules_told({.overridden = true, .content = {}, .details = "theirs", .is_error = true});
    const auto output = call.take_output();
    BOOST_TEST(output.content == boost::json::array());
    BOOST_TEST(output.details == boost::json::value("theirs"));
    BOOST_TEST(output.is_error);
}

BOOST_AUTO_TEST_CASE(details_that_are_overridden_by_null_are_the_tools_own)
{
    call.tool_returned(text("ok"));
    call.modules_told({.overridden = true, .content = {text_block("x")}, .details = nullptr});
    BOOST_TEST(call.take_output().details == text("ok").details);
}

BOOST_AUTO_TEST_CASE(a_cancellation_is_thrown_and_told_to_nobody)
{
    const auto why = std::make_exception_ptr(tool_cancelled("stopped"));
    BOOST_TEST((call.tool_failed(why) == act::finish));
    BOOST_TEST((call.take_failure() == why));
}

BOOST_AUTO_TEST_SUITE_END()
