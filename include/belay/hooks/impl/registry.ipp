#ifndef BELAY_HOOKS_IMPL_REGISTRY_IPP
#define BELAY_HOOKS_IMPL_REGISTRY_IPP

#include <belay/hooks/detail/registry_state.hpp>
#include <belay/hooks/detail/session_state.hpp>
#include <belay/hooks/registry.hpp>

#include <memory>
#include <optional>
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

BELAY_DECL checked<hook_id> registry::on_executable(const executable_spec& spec, std::string name)
{
    auto what = check(spec, state_->options.known);
    if (!what) return what.error();
    if (!what->argv.front().starts_with('/')) {
        return diagnosis{errc::invalid_argv,
                         "Command hook argv must start with an absolute path, not \"" +
                             what->argv.front() + "\""};
    }
    what->name = name;
    std::optional<hook_id> made;
    detail::with_event(what->when, [&]<class E>(std::type_identity<E>) {
        made = add(detail::extension_hook::of<E>(
            {.name = std::move(name), .from = origin::extension},
            executable_handler<E>(*std::move(what), state_->options.run)));
    });
    return *made;
}

BELAY_DECL bool registry::remove(hook_id id)
{
    return state_->remove(id);
}

BELAY_DECL checked<session> registry::create_session(session_options options)
{
    if (state_->fault) return *state_->fault;
    auto hooks = options.bare ? state_->bare_set() : state_->current;
    return session(
        std::make_shared<detail::session_state>(state_, std::move(hooks), std::move(options)));
}

BELAY_DECL hook_id registry::add(detail::extension_hook hook)
{
    return state_->add(std::move(hook));
}

BELAY_DECL std::shared_ptr<detail::hook_set> registry::current() const
{
    return state_->current;
}

}  // namespace belay::hooks

#endif
