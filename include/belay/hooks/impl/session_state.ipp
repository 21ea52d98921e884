#ifndef BELAY_HOOKS_IMPL_SESSION_STATE_IPP
#define BELAY_HOOKS_IMPL_SESSION_STATE_IPP

#include <belay/hooks/detail/session_state.hpp>

#include <memory>
#include <utility>

namespace belay::hooks::detail {

BELAY_DECL void session_state::cancel_operation()
{
    const auto operation = std::exchange(running, {}).lock();
    if (!operation) return;
    auto ended = fsm.cancel_operation();
    operation->cancel();
    tell(std::move(ended));
}

BELAY_DECL bool session_state::cancel_turn()
{
    if (!fsm.turn_running()) return false;
    if (fsm.turn_is_busy()) {
        cancel_operation();
    } else {
        tell(fsm.cancel_turn());
    }
    return true;
}

BELAY_DECL bool session_state::close(session_end::cause reason)
{
    if (fsm.is_closed()) return false;
    cancel_operation();
    cancel_turn();
    fsm.close();
    tell(fsm.end_event(reason));
    for (const auto& weak : std::exchange(subagents, {})) {
        if (const auto one = weak.lock()) one->close(reason);
    }
    return true;
}

BELAY_DECL void session_state::tell(pre_compact event)
{
    if (!fsm.who().bare) notify(*host, std::move(event));
}

BELAY_DECL void session_state::tell(session_end event)
{
    if (!fsm.who().bare) notify(*host, std::move(event));
}

BELAY_DECL void session_state::tell(subagent_finished event)
{
    if (!fsm.who().bare) notify(*host, std::move(event));
}

BELAY_DECL void session_state::tell(session_fsm::ended event)
{
    if (event && !fsm.who().bare) notify(*host, *std::move(event));
}

BELAY_DECL boost::json::object session_state::occasion() const
{
    boost::json::object made;
    made.emplace("sessionId", fsm.who().id);
    return made;
}

}  // namespace belay::hooks::detail

#endif
