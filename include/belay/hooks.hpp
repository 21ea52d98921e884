#ifndef BELAY_HOOKS_HPP
#define BELAY_HOOKS_HPP

// Vera's hooks: the phases of a conversation, the configuration, the registry and the session.
// Coroutines are in <belay/hooks/coroutine.hpp>.

#include <belay/hooks/ask.hpp>
#include <belay/hooks/command_hooks.hpp>
#include <belay/hooks/config.hpp>
#include <belay/hooks/config_file.hpp>
#include <belay/hooks/executable.hpp>
#include <belay/hooks/extension.hpp>
#include <belay/hooks/host_function.hpp>
#include <belay/hooks/log.hpp>
#include <belay/hooks/phase.hpp>
#include <belay/hooks/protocol.hpp>
#include <belay/hooks/protocol/claude.hpp>
#include <belay/hooks/protocol/vera.hpp>
#include <belay/hooks/registry.hpp>
#include <belay/hooks/registry_options.hpp>
#include <belay/hooks/run_tools.hpp>
#include <belay/hooks/session.hpp>
#include <belay/hooks/session_events.hpp>
#include <belay/hooks/session_types.hpp>
#include <belay/hooks/text_rules.hpp>
#include <belay/hooks/tool.hpp>
#include <belay/hooks/tool_events.hpp>
#include <belay/hooks/transcript.hpp>
#include <belay/hooks/turn_events.hpp>

#endif
