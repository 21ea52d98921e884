#ifndef BELAY_MODULES_EVENTS_HPP
#define BELAY_MODULES_EVENTS_HPP

// Every event that a module can handle.

#include <belay/core/detail/event_list.hpp>
#include <belay/modules/agent_events.hpp>
#include <belay/modules/session_events.hpp>
#include <belay/modules/tool_events.hpp>

#include <tuple>

namespace belay::modules {

/// In the order of the document (spec: Veyyon, "Event surfaces").
using all_events =
    std::tuple<session_start, session_before_switch, session_switch, session_before_branch,
               session_branch, session_before_compact, session_compacting, session_compact,
               session_before_tree, session_tree, session_shutdown,  //
               context, before_agent_start, agent_start, agent_end, turn_start, turn_end,
               auto_compaction_start, auto_compaction_end, auto_retry_start, auto_retry_end,
               ttsr_triggered, todo_reminder,  //
               tool_call, tool_result>;

/// One of them.
template <class E>
concept module_event = belay::detail::is_one_of<E, all_events>;

}  // namespace belay::modules

#endif
