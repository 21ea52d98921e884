#ifndef BELAY_HOOKS_IMPL_REGISTRY_IPP
#define BELAY_HOOKS_IMPL_REGISTRY_IPP

#include <belay/hooks/detail/registry_state.hpp>
#include <belay/hooks/detail/session_state.hpp>
#include <belay/hooks/registry.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace belay::hooks {

BELAY_DECL registry::registry(executor_type executor, registry_options options)
    : state_(std::make_shared<detail::registry_state>(std::move(executor), std::move(options)))
{}

BELAY_DECL registry::executor_type registry::get_executor() const noexcept
{
    return state_->executor;
}

BELAY_DECL checked<void> registry::use(std::shared_ptr<const config> configuration)
{
    return state_->use(std::move(configuration));
}

BELAY_DECL checked<void> registry::follow(std::shared_ptr<config_file> file)
{
    return state_->follow(std::move(file));
}

BELAY_DECL checked<hook_id> registry::on_executable(const executable_spec& spec, std::string name)
{
    auto made = state_->command_hook(spec, std::move(name));
    if (!made) return made.error();
    return add(*std::move(made));
}

BELAY_DECL bool registry::remove(hook_id id)
{
    return state_->remove(id);
}

BELAY_DECL checked<extension_id> registry::activate(const extension& what,
                                                    boost::json::value own_config)
{
    return state_->activate(what, std::move(own_config));
}

BELAY_DECL bool registry::deactivate(extension_id id)
{
    return state_->deactivate(id);
}

BELAY_DECL checked<session> registry::create_session(session_options options)
{
    state_->current();  // as it is now, in the file too
    if (state_->fault && !options.bare) return *state_->fault;
    auto hooks = state_->set_for(options);
    auto made =
        std::make_shared<detail::session_state>(state_, std::move(hooks), std::move(options));
    state_->opened(made);
    return session(std::move(made));
}

BELAY_DECL hook_id registry::add(detail::shared_hook hook)
{
    if (!hook.add_to) throw std::invalid_argument("belay: an empty function cannot be a hook");
    const auto id = state_->next_hook();
    state_->add(id, std::move(hook));
    return id;
}

BELAY_DECL std::shared_ptr<detail::hook_set> registry::used_now()
{
    state_->keep_workers(true);
    return state_->current();
}

BELAY_DECL void registry::keep_workers()
{
    state_->keep_workers(true);
}

BELAY_DECL void registry::release_workers()
{
    state_->release_workers();
}

BELAY_DECL observer_group registry::observing() const
{
    return state_->observing;
}

}  // namespace belay::hooks

#endif
