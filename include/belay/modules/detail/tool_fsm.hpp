#ifndef BELAY_MODULES_DETAIL_TOOL_FSM_HPP
#define BELAY_MODULES_DETAIL_TOOL_FSM_HPP

// The stages of one call of a tool, and what it ends with. No I/O: the caller says what happened, and
// does what it is told. A stage that is skipped has said what changes nothing.

#include <belay/config.hpp>
#include <belay/core/detail/folding.hpp>
#include <belay/modules/approval.hpp>
#include <belay/modules/tool.hpp>
#include <belay/modules/tool_events.hpp>

#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace belay::modules::detail {

class tool_fsm {
public:
    enum class act : unsigned char { ask_person, ask_modules, run_tool, tell_modules, finish };

    explicit tool_fsm(std::string tool) : tool_(std::move(tool)) {}

    BELAY_DECL act resolved(const approval_resolution& said, bool somebody_is_there);
    BELAY_DECL act person_said(const std::optional<std::string>& label);
    BELAY_DECL act prompt_failed(std::exception_ptr why);
    BELAY_DECL act modules_said(tool_call::outcome said);
    BELAY_DECL act tool_returned(tool_output output);
    BELAY_DECL act tool_failed(std::exception_ptr why);
    BELAY_DECL act modules_told(tool_result::outcome said);

    // After the tool has ended: what modules are told. Of a failure, an error with its message.
    const tool_output& output() const noexcept { return output_; }

    // When it is to finish: what is thrown, or what is returned.
    std::exception_ptr take_failure() noexcept { return std::exchange(failure_, nullptr); }
    tool_output take_output() noexcept { return std::move(output_); }

private:
    BELAY_DECL act fail(std::exception_ptr why);
    BELAY_DECL act deny(const std::string& detail);

    const std::string tool_;
    std::exception_ptr failure_;
    tool_output output_;
};

}  // namespace belay::modules::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/impl/tool_fsm.ipp>
#endif

#endif
