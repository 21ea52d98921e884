#ifndef BELAY_MODULES_HPP
#define BELAY_MODULES_HPP

// Veyyon's modules, for a host: the runner, the loader, the tool wrapper. A module itself needs
// <belay/modules/module.hpp> alone.

#include <belay/modules/agent.hpp>
#include <belay/modules/api.hpp>
#include <belay/modules/approval.hpp>
#include <belay/modules/capability.hpp>
#include <belay/modules/command.hpp>
#include <belay/modules/context.hpp>
#include <belay/modules/discovery.hpp>
#include <belay/modules/events.hpp>
#include <belay/modules/exec.hpp>
#include <belay/modules/loader.hpp>
#include <belay/modules/message.hpp>
#include <belay/modules/render.hpp>
#include <belay/modules/runner.hpp>
#include <belay/modules/runner_options.hpp>
#include <belay/modules/status_text.hpp>
#include <belay/modules/tool.hpp>
#include <belay/modules/tool_wrapper.hpp>
#include <belay/modules/ui.hpp>

#endif
