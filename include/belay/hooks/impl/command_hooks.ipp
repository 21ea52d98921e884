#ifndef BELAY_HOOKS_IMPL_COMMAND_HOOKS_IPP
#define BELAY_HOOKS_IMPL_COMMAND_HOOKS_IPP

#include <belay/hooks/command_hooks.hpp>
#include <belay/hooks/detail/hook_list.hpp>
#include <belay/hooks/detail/json.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace belay::hooks {
namespace detail {

inline void activate_command_hooks(registrar& hooks)
{
    const auto* own = hooks.config().if_object();
    if (own == nullptr) {
        return hooks.refuse("the configuration must be an object, not " + excerpt(hooks.config()));
    }
    const auto list = read_hook_list(*own, hooks.known_protocols());
    if (!list) return hooks.refuse(list.error().message);
    for (std::size_t i = 0; i != list->hooks.size(); ++i) {
        const auto& hook = list->hooks[i];
        const auto where = "hooks[" + std::to_string(i) + "].";
        if (const auto why = limit_fault(hook)) return hooks.refuse(where + *why);
        executable_spec spec{.phase = hook.configured,
                             .argv = hook.argv,
                             .protocol = std::string(hook.speaks->name()),
                             .timeout = hook.timeout,
                             .mode = hook.mode,
                             .in_flight = hook.in_flight,
                             .tools = hook.tools};
        if (const auto why = program_fault(hook.argv[0]); !why.empty()) {
            return hooks.refuse(where + "argv[0]: " + why);
        }
        if (!hooks.on_executable(spec)) return;
    }
    for (const auto& one : list->warnings) hooks.warn(one);
}

}  // namespace detail

BELAY_DECL extension command_hooks(std::filesystem::path where)
{
    return {.name = std::string(command_hooks_name),
            .capabilities = {"hooks.command"},
            .activate = detail::activate_command_hooks,
            .path = std::move(where),
            .included = true};
}

}  // namespace belay::hooks

#endif
