#ifndef BELAY_HOOKS_REGISTRY_OPTIONS_HPP
#define BELAY_HOOKS_REGISTRY_OPTIONS_HPP

// What a host brings along for its hooks.

#include <belay/core/async_chain.hpp>
#include <belay/core/trace.hpp>
#include <belay/hooks/ask.hpp>
#include <belay/hooks/executable.hpp>
#include <belay/hooks/log.hpp>

namespace belay::hooks {

/// What the host brings along. Pointers may be null; what they point to must outlive the registry,
/// its sessions and what these have in flight.
struct registry_options {
    clock* time = nullptr;                  ///< null: the steady clock
    trace_sink* trace = nullptr;            ///< told what every hook said
    log_sink* log = nullptr;                ///< told which hooks failed
    model_function ask_model{};             ///< answers side questions; absent: none is
    usage_sink* usage = nullptr;            ///< told what they cost
    executable_options run{};               ///< how executables are run
    protocols known = default_protocols();  ///< for `on_executable`
};

/// Names a hook that an extension registered. Never used twice by the same registry.
enum class hook_id : unsigned long long {};

/// Names an extension that is active. Never used twice by the same registry.
enum class extension_id : unsigned long long {};

}  // namespace belay::hooks

#endif
