#ifndef BELAY_MODULES_IMPL_TOOL_OP_IPP
#define BELAY_MODULES_IMPL_TOOL_OP_IPP

#include <belay/modules/detail/module_link.hpp>
#include <belay/modules/detail/tool_op.hpp>
#include <belay/modules/ui.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace belay::modules::detail {

BELAY_DECL tool_op::tool_op(std::shared_ptr<runner_state> modules,
                            std::shared_ptr<const approval_settings> approval, tool what,
                            tool_call call, std::shared_ptr<waiting> handler)
    : modules_(std::move(modules)),
      approval_(std::move(approval)),
      what_(std::move(what)),
      call_(std::make_shared<const tool_call>(std::move(call))),
      handler_(std::move(handler)),
      fsm_(what_.name)
{}

BELAY_DECL void tool_op::start()
{
    handler_->on_cancel([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->cancel();
    });
    perform(resolve());
}

// What the tool says of itself and of the call. What it throws there is as if the prompt had failed.
BELAY_DECL tool_op::act tool_op::resolve()
{
    try {
        const auto& input = call_->input;
        const auto* fixed = std::get_if<tool_approval>(&what_.approval);
        const auto declared = fixed != nullptr ? *fixed : std::get<1>(what_.approval)(input);
        const auto said = resolve_approval(what_.name, declared, *approval_);
        const auto next = fsm_.resolved(said, modules_->options.ui != nullptr);
        if (next == act::ask_person) {
            prompt_ = {
                .tool = what_.name, .declared = declared.tier.has_value(), .reason = said.reason};
            if (what_.prompt_details) prompt_.details = what_.prompt_details(input);
            for (auto& one : prompt_.details) one = truncate_prompt(one);
        }
        return next;
    } catch (...) {
        return fsm_.prompt_failed(std::current_exception());
    }
}

BELAY_DECL void tool_op::perform(act next)
{
    switch (next) {
    case act::ask_person: return ask_person();
    case act::ask_modules: return ask_modules();
    case act::run_tool: return run_tool();
    case act::tell_modules: return tell_modules();
    case act::finish: break;
    }
    auto failure = fsm_.take_failure();
    auto output = failure ? tool_output() : fsm_.take_output();
    handler_->complete(std::move(failure), std::move(output));
}

BELAY_DECL void tool_op::ask_person()
{
    using label = std::optional<std::string>;
    auto done = [self = shared_from_this()](std::exception_ptr thrown, const label& said) {
        if (!self->handler_->pending()) return;
        self->perform(thrown ? self->fsm_.prompt_failed(std::move(thrown))
                             : self->fsm_.person_said(said));
    };
    // `done` keeps the UI; the function must not, since a UI may keep the reply, and with it the function.
    auto show = [ui = modules_->options.ui.get(), title = format_prompt(prompt_),
                 options =
                     std::vector<select_option>{{.label = approve_label}, {.label = deny_label}}](
                    host_reply<label> reply) { ui->select(title, options, std::move(reply)); };
    belay::detail::call_host<label>(
        modules_->executor, modules_->time, {},
        boost::asio::bind_cancellation_slot(stop_.slot(), std::move(done)), std::move(show));
}

BELAY_DECL void tool_op::ask_modules()
{
    if (modules_->chain_of<tool_call>().size() == 0) {
        return perform(fsm_.modules_said({.allowed = true}));
    }
    // After an error the outcome is one that does not allow the call.
    auto done = [self = shared_from_this()](error_code, tool_call::outcome said) {
        if (!self->handler_->pending()) return;
        self->perform(self->fsm_.modules_said(std::move(said)));
    };
    modules_->emit(*call_, boost::asio::bind_cancellation_slot(stop_.slot(), std::move(done)));
}

BELAY_DECL void tool_op::run_tool()
{
    auto done = [self = shared_from_this()](std::exception_ptr thrown, tool_output output) {
        if (!self->handler_->pending()) return;
        self->perform(thrown ? self->fsm_.tool_failed(std::move(thrown))
                             : self->fsm_.tool_returned(std::move(output)));
    };
    auto run = [execute = what_.execute, call = call_](host_reply<tool_output> reply) {
        if (!execute) throw std::logic_error("tool " + call->tool_name + " executes nothing");
        execute(*call, std::move(reply));
    };
    belay::detail::call_host<tool_output>(
        modules_->executor, modules_->time, {},
        boost::asio::bind_cancellation_slot(stop_.slot(), std::move(done)), std::move(run));
}

BELAY_DECL void tool_op::tell_modules()
{
    if (modules_->chain_of<tool_result>().size() == 0) return perform(fsm_.modules_told({}));
    // After an error the outcome is one that overrides nothing.
    auto done = [self = shared_from_this()](error_code, tool_result::outcome said) {
        if (!self->handler_->pending()) return;
        self->perform(self->fsm_.modules_told(std::move(said)));
    };
    const auto& [content, details, is_error] = fsm_.output();
    tool_result event{call_->tool_name, call_->tool_call_id, call_->input, content, details,
                      is_error};
    modules_->emit(std::move(event),
                   boost::asio::bind_cancellation_slot(stop_.slot(), std::move(done)));
}

BELAY_DECL void tool_op::cancel()
{
    handler_->complete(was_cancelled(), {});
    stop_.emit(boost::asio::cancellation_type::terminal);
}

}  // namespace belay::modules::detail

#endif
