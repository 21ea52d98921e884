#include "extensions.hpp"

#include <optional>

namespace agent {
namespace {

namespace hooks = belay::hooks;

std::optional<belay::block> no_sudo(const hooks::pre_tool_use& event)
{
    if (event.call.name != "bash") return std::nullopt;
    const auto* command = event.call.input.if_contains("command");
    if (!command || !command->is_string()) return std::nullopt;
    if (!command->get_string().starts_with("sudo ")) return std::nullopt;
    return belay::block{"nobody is root on this ship"};
}

}  // namespace

void add_extensions(hooks::registry& registry)
{
    registry.on<hooks::pre_tool_use>(no_sudo, "no-sudo");
}

}  // namespace agent
