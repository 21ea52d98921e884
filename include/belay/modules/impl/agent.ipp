#ifndef BELAY_MODULES_IMPL_AGENT_IPP
#define BELAY_MODULES_IMPL_AGENT_IPP

#include <belay/modules/agent.hpp>

#include <filesystem>

namespace belay::modules {

BELAY_DECL std::string agent::cwd() const
{
    return std::filesystem::current_path().string();
}

}  // namespace belay::modules

#endif
