#ifndef BELAY_MODULES_IMPL_RUNNER_IPP
#define BELAY_MODULES_IMPL_RUNNER_IPP

#include <belay/modules/runner.hpp>

namespace belay::modules {

BELAY_DECL void error_subscription::unsubscribe() const
{
    if (const auto state = state_.lock()) state->errors.remove(id_);
}

BELAY_DECL runner::runner(executor_type executor, runner_options options)
    : state_(std::make_shared<detail::runner_state>(std::move(executor), std::move(options)))
{}

BELAY_DECL runner::executor_type runner::get_executor() const noexcept
{
    return state_->executor;
}

BELAY_DECL std::string runner::cwd() const
{
    return state_->options.agent->cwd();
}

BELAY_DECL checked<void> runner::add(std::string name, const module_factory& factory)
{
    return state_->add(std::move(name), factory);
}

BELAY_DECL std::vector<std::string> runner::modules() const
{
    return state_->module_names();
}

BELAY_DECL error_subscription runner::on_error(std::function<void(const handler_error&)> listener)
{
    return {state_, state_->errors.add(std::move(listener))};
}

BELAY_DECL std::optional<command_info> runner::find_command(std::string_view name) const
{
    const auto* found = state_->find_command(name);
    return found != nullptr ? std::optional(found->info) : std::nullopt;
}

BELAY_DECL command_list runner::commands() const
{
    return state_->list_commands();
}

BELAY_DECL std::vector<std::string> runner::render(const custom_message& message,
                                                   const render_options& options) const
{
    return state_->render(message, options);
}

}  // namespace belay::modules

#endif
