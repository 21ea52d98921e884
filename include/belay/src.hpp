#ifndef BELAY_SRC_HPP
#define BELAY_SRC_HPP

// The non-template bodies of belay, compiled once: include this in exactly one translation unit of
// a program that defines BELAY_SEPARATE_COMPILATION in all of them.

#include <belay/config.hpp>

#if !defined(BELAY_SEPARATE_COMPILATION)
#error "belay/src.hpp needs BELAY_SEPARATE_COMPILATION to be defined in every translation unit"
#endif

#include <belay/core/impl/clock.ipp>
#include <belay/core/impl/error.ipp>
#include <belay/core/impl/matcher.ipp>
#include <belay/core/impl/observer_group.ipp>
#include <belay/core/impl/regex.ipp>
#include <belay/hooks/impl/ask_op.ipp>
#include <belay/hooks/impl/batch_op.ipp>
#include <belay/hooks/impl/claude.ipp>
#include <belay/hooks/impl/command_hooks.ipp>
#include <belay/hooks/impl/config.ipp>
#include <belay/hooks/impl/config_file.ipp>
#include <belay/hooks/impl/executable.ipp>
#include <belay/hooks/impl/executable_output.ipp>
#include <belay/hooks/impl/extension.ipp>
#include <belay/hooks/impl/hook_list.ipp>
#include <belay/hooks/impl/json.ipp>
#include <belay/hooks/impl/log.ipp>
#include <belay/hooks/impl/registry.ipp>
#include <belay/hooks/impl/registry_state.ipp>
#include <belay/hooks/impl/session.ipp>
#include <belay/hooks/impl/session_events.ipp>
#include <belay/hooks/impl/session_state.ipp>
#include <belay/hooks/impl/text_rules.ipp>
#include <belay/hooks/impl/tool.ipp>
#include <belay/hooks/impl/tool_events.ipp>
#include <belay/hooks/impl/transcript.ipp>
#include <belay/hooks/impl/turn_events.ipp>
#include <belay/hooks/impl/vera.ipp>
#include <belay/modules/impl/agent.ipp>
#include <belay/modules/impl/approval.ipp>
#include <belay/modules/impl/capability.ipp>
#include <belay/modules/impl/discovery.ipp>
#include <belay/modules/impl/exec.ipp>
#include <belay/modules/impl/loaded_module.ipp>
#include <belay/modules/impl/loader.ipp>
#include <belay/modules/impl/message.ipp>
#include <belay/modules/impl/render.ipp>
#include <belay/modules/impl/runner.ipp>
#include <belay/modules/impl/runner_state.ipp>
#include <belay/modules/impl/status_text.ipp>
#include <belay/modules/impl/tool.ipp>
#include <belay/modules/impl/tool_fsm.ipp>
#include <belay/modules/impl/tool_op.ipp>
#include <belay/modules/impl/tool_wrapper.ipp>
#include <belay/process/impl/child.ipp>
#include <belay/process/impl/ending_fsm.ipp>
#include <belay/process/impl/envelope.ipp>
#include <belay/process/impl/file_descriptor.ipp>
#include <belay/process/impl/invocation.ipp>
#include <belay/process/impl/launch.ipp>
#include <belay/process/impl/run.ipp>
#include <belay/process/impl/run_fsm.ipp>
#include <belay/process/impl/run_op.ipp>
#include <belay/process/impl/serve.ipp>
#include <belay/process/impl/spawn.ipp>
#include <belay/process/impl/utf8.ipp>
#include <belay/process/impl/worker.ipp>
#include <belay/process/impl/worker_child.ipp>
#include <belay/process/impl/worker_fsm.ipp>
#include <belay/process/impl/worker_op.ipp>

#endif
