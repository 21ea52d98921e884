#ifndef BELAY_MODULES_IMPL_TOOL_FSM_IPP
#define BELAY_MODULES_IMPL_TOOL_FSM_IPP

#include <belay/modules/detail/tool_fsm.hpp>
#include <belay/modules/message.hpp>
#include <belay/process/utf8.hpp>

namespace belay::modules::detail {

// What is shown to the person; only the first lets the call run.
inline constexpr const char* approve_label = "Approve";
inline constexpr const char* deny_label = "Deny";

inline std::string denied_by_policy(const std::string& tool)
{
    return "Tool \"" + tool + "\" is blocked by user policy.\n" +
           "To allow it, remove tools.approval." + tool + ": deny from the configuration.";
}

inline std::string nobody_to_ask(const std::string& tool, const std::string& reason)
{
    return (reason.empty() ? "" : reason + "\n") + "Tool \"" + tool +
           "\" requires approval but no interactive UI available.\n"
           "Options:\n"
           "  1. Set tools.approvalMode to a mode in which it runs unasked\n"
           "  2. Add tools.approval." +
           tool +
           ": allow to the configuration\n"
           "  3. Use an interactive UI, and approve the call there";
}

BELAY_DECL tool_fsm::act tool_fsm::fail(std::exception_ptr why)
{
    failure_ = std::move(why);
    return act::finish;
}

BELAY_DECL tool_fsm::act tool_fsm::deny(const std::string& detail)
{
    const auto first = "Tool call denied by user: " + tool_;
    return fail(
        std::make_exception_ptr(tool_denied(detail.empty() ? first : first + "\n" + detail)));
}

BELAY_DECL tool_fsm::act tool_fsm::resolved(const approval_resolution& said, bool somebody_is_there)
{
    switch (said.policy) {
    case approval_policy::allow: return act::ask_modules;
    case approval_policy::prompt:
        return somebody_is_there ? act::ask_person : deny(nobody_to_ask(tool_, said.reason));
    case approval_policy::deny: break;
    }
    return deny(said.reason.empty() ? denied_by_policy(tool_) : said.reason);
}

BELAY_DECL tool_fsm::act tool_fsm::person_said(const std::optional<std::string>& label)
{
    return label == approve_label ? act::ask_modules : deny({});
}

BELAY_DECL tool_fsm::act tool_fsm::prompt_failed(std::exception_ptr why)
{
    return fail(std::move(why));
}

BELAY_DECL tool_fsm::act tool_fsm::modules_said(tool_call::outcome said)
{
    if (said.allowed) return act::run_tool;
    if (said.reason.empty()) said.reason = "Tool execution was blocked by an extension";
    return fail(std::make_exception_ptr(tool_blocked(said.reason)));
}

BELAY_DECL tool_fsm::act tool_fsm::tool_returned(tool_output output)
{
    output_ = std::move(output);
    return act::tell_modules;
}

BELAY_DECL tool_fsm::act tool_fsm::tool_failed(std::exception_ptr why)
{
    fail(std::move(why));
    if (is_cancellation(failure_)) return act::finish;
    output_.content.push_back(
        text_block(process::utf8_lenient(belay::detail::message_of(failure_))));
    output_.is_error = true;
    return act::tell_modules;
}

BELAY_DECL tool_fsm::act tool_fsm::modules_told(tool_result::outcome said)
{
    if (!said.overridden) return act::finish;
    failure_ = nullptr;
    output_.content = std::move(said.content);
    if (!said.details.is_null()) output_.details = std::move(said.details);
    output_.is_error = said.is_error;
    return act::finish;
}

}  // namespace belay::modules::detail

#endif
