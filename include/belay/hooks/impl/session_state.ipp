#ifndef BELAY_HOOKS_IMPL_SESSION_STATE_IPP
#define BELAY_HOOKS_IMPL_SESSION_STATE_IPP

#include <belay/hooks/detail/session_state.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace belay::hooks::detail {

BELAY_DECL void registry_state::opened(const std::shared_ptr<session_state>& one)
{
    std::erase_if(sessions_, [](const auto& each) {
        const auto session = each.lock();
        return !session || session->fsm.is_closed();
    });
    sessions_.push_back(one);
    keep_workers(true);
}

BELAY_DECL bool registry_state::has_open_session() const
{
    return std::ranges::any_of(sessions_, [](const auto& each) {
        const auto session = each.lock();
        return session && !session->fsm.is_closed();
    });
}

BELAY_DECL std::shared_ptr<session_state> registry_state::find(std::string_view id) const
{
    for (auto each = sessions_.rbegin(); each != sessions_.rend(); ++each) {
        auto session = each->lock();
        if (session && session->fsm.who().id == id && !session->fsm.is_closed()) return session;
    }
    return nullptr;
}

BELAY_DECL void session_state::cancel_operation()
{
    give_up(errc::cancelled, turn_finished::result::aborted);
}

BELAY_DECL void session_state::fail_operation(error_code why)
{
    give_up(why, turn_finished::result::error);
}

BELAY_DECL void session_state::give_up(error_code why, turn_finished::result how)
{
    const auto operation = std::exchange(running, {}).lock();
    tell(fsm.give_up(how));
    if (operation) operation->cancel(why);
}

BELAY_DECL void session_state::stop()
{
    const auto operation = std::exchange(running, {}).lock();
    tell(fsm.stop());
    if (operation) operation->cancel(errc::cancelled);
}

BELAY_DECL bool session_state::cancel_turn()
{
    if (!fsm.turn_running()) return false;
    stop();
    return true;
}

BELAY_DECL bool session_state::close(session_end::cause reason)
{
    if (!fsm.close()) return false;
    stop();
    tell(fsm.end_event(reason));
    for (const auto& weak : std::exchange(questions, {})) {
        if (const auto one = weak.lock()) one->cancel(errc::closed);
    }
    for (const auto& weak : std::exchange(subagents, {})) {
        if (const auto one = weak.lock()) one->close(reason);
    }
    host->release_workers_after_observers();
    return true;
}

BELAY_DECL boost::json::object session_state::occasion() const
{
    boost::json::object made;
    made.emplace("sessionId", fsm.who().id);
    return made;
}

}  // namespace belay::hooks::detail

#endif
