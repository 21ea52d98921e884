#ifndef BELAY_HOOKS_DETAIL_SHARED_HOOK_HPP
#define BELAY_HOOKS_DETAIL_SHARED_HOOK_HPP

// A hook that is added to the hooks of many sessions, and what can be done with these.

#include <belay/config.hpp>
#include <belay/core/any_handler.hpp>
#include <belay/core/event.hpp>
#include <belay/core/handler.hpp>
#include <belay/core/matcher.hpp>
#include <belay/hooks/phase.hpp>

#include <boost/asio/any_completion_handler.hpp>

#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace belay::hooks::detail {

class hook_set;
class registry_state;

template <class E>
using hooks_completion = boost::asio::any_completion_handler<void(error_code, outcome_of<E>)>;

// What can be done with the hooks of one event in a set. The bodies are compiled where the set is known.
template <class E>
struct hooks_of_event {
    static handler_id add(hook_set& set, const handler_info& info, const matcher& only_for,
                          const any_handler<E>& hook);
    static bool remove(hook_set& set, handler_id id);
    static void ask(hook_set& set, E event, hooks_completion<E> handler)
        requires(!notification<E>);
};

// Tells the hooks of the configuration that is current now, and logs those that fail. The bodies
// are in registry_state.ipp.
BELAY_DECL void notify(registry_state& host, pre_compact event);
BELAY_DECL void notify(registry_state& host, session_end event);
BELAY_DECL void notify(registry_state& host, subagent_finished event);
BELAY_DECL void notify(registry_state& host, turn_finished event);

template <class E, class Events>
inline constexpr bool is_one_of = false;
template <class E, class... Events>
inline constexpr bool is_one_of<E, std::tuple<Events...>> = (std::is_same_v<E, Events> || ...);

template <class E>
consteval bool check_hooks()
{
    static_assert(is_one_of<E, phase_events> || std::is_same_v<E, turn_finished>,
                  "belay: there are no hooks for this event; it is one of the eight phases in "
                  "<belay/hooks/phase.hpp>, or turn_finished");
    return true;
}

// A hook that all sets of a configuration share, or that an extension registered: how it gets into a
// set, and out of it. Without `add_to`, it was an empty function.
struct shared_hook {
    std::function<handler_id(hook_set&)> add_to{};
    bool (*remove_from)(hook_set&, handler_id) = nullptr;

    template <class E, class Handler>
    static shared_hook of(handler_info info, matcher only_for, Handler handler)
    {
        static_assert(check_hooks<E>());
        any_handler<E> shared(std::move(handler));
        if (!shared) return {};
        return {
            [info = std::move(info), only_for = std::move(only_for), shared = std::move(shared)](
                hook_set& set) { return hooks_of_event<E>::add(set, info, only_for, shared); },
            &hooks_of_event<E>::remove};
    }
};

}  // namespace belay::hooks::detail

#endif
