#ifndef BELAY_MODULES_IMPL_TOOL_WRAPPER_IPP
#define BELAY_MODULES_IMPL_TOOL_WRAPPER_IPP

#include <belay/modules/detail/tool_op.hpp>
#include <belay/modules/tool_wrapper.hpp>

#include <boost/asio/dispatch.hpp>

namespace belay::modules {

BELAY_DECL tool_wrapper::tool_wrapper(const runner& modules, approval_settings approval)
    : state_(modules.state_),
      approval_(std::make_shared<const approval_settings>(std::move(approval)))
{}

BELAY_DECL tool_wrapper::executor_type tool_wrapper::get_executor() const noexcept
{
    return state_->executor;
}

BELAY_DECL void tool_wrapper::set_approval(approval_settings approval)
{
    approval_ = std::make_shared<const approval_settings>(std::move(approval));
}

BELAY_DECL const approval_settings& tool_wrapper::approval() const noexcept
{
    return *approval_;
}

BELAY_DECL void tool_wrapper::start(const initiation& with, handler_type handler, tool what,
                                    tool_call call)
{
    auto waiting = detail::tool_op::waiting::make(with.modules->executor, std::move(handler));
    auto op = std::make_shared<detail::tool_op>(with.modules, with.approval, std::move(what),
                                                std::move(call), std::move(waiting));
    boost::asio::dispatch(with.modules->executor, [op = std::move(op)] { op->start(); });
}

}  // namespace belay::modules

#endif
