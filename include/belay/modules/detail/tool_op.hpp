#ifndef BELAY_MODULES_DETAIL_TOOL_OP_HPP
#define BELAY_MODULES_DETAIL_TOOL_OP_HPP

// The operation behind `tool_wrapper::async_execute`: it does what `tool_fsm` says. Only bodies include
// this.

#include <belay/config.hpp>
#include <belay/core/detail/host_call_op.hpp>
#include <belay/core/detail/waiting_handler.hpp>
#include <belay/modules/approval.hpp>
#include <belay/modules/detail/runner_state.hpp>
#include <belay/modules/detail/tool_fsm.hpp>
#include <belay/modules/tool.hpp>
#include <belay/modules/tool_events.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <exception>
#include <memory>

namespace belay::modules::detail {

// One call of a tool. What it waits for owns it; if the event loop dies, so does that, and with it the
// operation.
class tool_op final : public std::enable_shared_from_this<tool_op> {
public:
    using waiting = belay::detail::waiting_handler<tool_output, std::exception_ptr>;

    BELAY_DECL tool_op(std::shared_ptr<runner_state> modules,
                       std::shared_ptr<const approval_settings> approval, tool what, tool_call call,
                       std::shared_ptr<waiting> handler);

    // On the executor.
    BELAY_DECL void start();

private:
    using act = tool_fsm::act;

    BELAY_DECL act resolve();
    BELAY_DECL void perform(act next);
    BELAY_DECL void ask_person();
    BELAY_DECL void ask_modules();
    BELAY_DECL void run_tool();
    BELAY_DECL void tell_modules();
    BELAY_DECL void cancel();

    const std::shared_ptr<runner_state> modules_;
    const std::shared_ptr<const approval_settings> approval_;
    const tool what_;
    const std::shared_ptr<const tool_call> call_;  // the tool may read it until it has answered
    const std::shared_ptr<waiting> handler_;
    boost::asio::cancellation_signal stop_;  // of what it waits for
    approval_prompt prompt_;
    tool_fsm fsm_;
};

}  // namespace belay::modules::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/impl/tool_op.ipp>
#endif

#endif
