#ifndef BELAY_EXAMPLE_AGENT_EXTENSIONS_HPP
#define BELAY_EXAMPLE_AGENT_EXTENSIONS_HPP

#include <belay/hooks/registry.hpp>

namespace agent {

/// The hooks that are compiled into this agent. They run after those of config.json.
void add_extensions(belay::hooks::registry& registry);

}  // namespace agent

#endif
