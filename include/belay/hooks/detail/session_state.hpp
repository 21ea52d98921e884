#ifndef BELAY_HOOKS_DETAIL_SESSION_STATE_HPP
#define BELAY_HOOKS_DETAIL_SESSION_STATE_HPP

// What a session and its operations share. Only bodies include this.

#include <belay/config.hpp>
#include <belay/core/detail/waiting_handler.hpp>
#include <belay/core/error.hpp>
#include <belay/hooks/detail/hook_set.hpp>
#include <belay/hooks/detail/registry_state.hpp>
#include <belay/hooks/detail/session_fsm.hpp>
#include <belay/hooks/session_events.hpp>
#include <belay/hooks/session_types.hpp>
#include <belay/hooks/turn_events.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::hooks::detail {

using belay::detail::waiting_handler;
using belay::detail::waiting_ptr;

// Keeps the event loop at work and sees it die, as the handler of a timer that never expires: a host
// function may answer from anywhere.
template <class Op>
struct loop_guard {
    explicit loop_guard(std::shared_ptr<Op> op) noexcept : owner(std::move(op)) {}
    loop_guard(loop_guard&&) noexcept = default;
    ~loop_guard()
    {
        if (owner) owner->drop();
    }
    void operator()(boost::system::error_code) { owner.reset(); }

    std::shared_ptr<Op> owner;
};

// The operation that a session is running.
class session_operation {
public:
    virtual ~session_operation() = default;

    // It completes with `why` at once, and touches the session no more.
    virtual void cancel(error_code why) = 0;
};

// What the model was called with last.
struct recorded_request {
    std::shared_ptr<const boost::json::value> request;
    turn_settings settings;
};

class session_state {
public:
    session_state(std::shared_ptr<registry_state> owner, std::shared_ptr<hook_set> set,
                  session_options who)
        : host(std::move(owner)), hooks(std::move(set)), fsm(std::move(who))
    {}
    session_state(const session_state&) = delete;
    session_state& operator=(const session_state&) = delete;
    ~session_state()
    {
        if (!fsm.is_closed()) host->release_workers();
    }

    // The running operation is over without an outcome, and its turn with it.
    BELAY_DECL void cancel_operation();
    BELAY_DECL void fail_operation(error_code why);

    BELAY_DECL bool cancel_turn();
    BELAY_DECL bool close(session_end::cause reason);

    // Tells those who watch, unless the session is bare.
    template <class E>
    void tell(E event)
    {
        if (!fsm.who().bare) notify(*host, std::move(event));
    }
    void tell(session_fsm::ended event)
    {
        if (event) tell(*std::move(event));
    }

    // For the log.
    BELAY_DECL boost::json::object occasion() const;

    const std::shared_ptr<registry_state> host;
    const std::shared_ptr<hook_set> hooks;
    session_fsm fsm;
    std::weak_ptr<session_operation> running;  // kept alive by what it waits for

    std::optional<recorded_request> last_request;
    std::vector<std::weak_ptr<session_operation>> questions;  // that are open; likewise

    std::vector<std::weak_ptr<session_state>> subagents;
    std::string starter;  // of a subagent: its id
    bool is_subagent = false;
    bool background = false;

private:
    BELAY_DECL void give_up(error_code why, turn_finished::result how);
    BELAY_DECL void stop();
};

}  // namespace belay::hooks::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/session_state.ipp>
#endif

#endif
