#ifndef BELAY_EXAMPLE_AGENT_MODULE_SETTINGS_HPP
#define BELAY_EXAMPLE_AGENT_MODULE_SETTINGS_HPP

#include <belay/core/trace.hpp>
#include <belay/modules/approval.hpp>

#include "terminal_ui.hpp"
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agent {

/// What a conversation needs to know of modules. Each conversation loads them for itself.
struct module_settings {
    std::vector<std::string> paths;
    belay::modules::approval_settings approval;
    std::shared_ptr<terminal_ui> ui;                ///< null: nobody is there
    std::optional<std::filesystem::path> sessions;  ///< where session files go; none: nowhere
    belay::trace_sink* trace = nullptr;

    /// The same for a subagent, which no person speaks with and which keeps no file.
    module_settings for_subagent() const
    {
        auto same = *this;
        same.ui = nullptr;
        same.sessions.reset();
        return same;
    }
};

}  // namespace agent

#endif
