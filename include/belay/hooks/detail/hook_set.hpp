#ifndef BELAY_HOOKS_DETAIL_HOOK_SET_HPP
#define BELAY_HOOKS_DETAIL_HOOK_SET_HPP

// The hooks that sessions of one configuration share, and a hook that is added to such sets.

#include <belay/config.hpp>
#include <belay/core/any_handler.hpp>
#include <belay/core/async_chain.hpp>
#include <belay/core/detail/pool_handler.hpp>
#include <belay/core/event.hpp>
#include <belay/core/matcher.hpp>
#include <belay/core/observer_group.hpp>
#include <belay/core/observers.hpp>
#include <belay/hooks/phase.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace belay::hooks::detail {

class registry_state;

// Tells the hooks of the configuration that is current now, and logs those that fail. The bodies
// are in registry_state.ipp.
BELAY_DECL void notify(registry_state& host, pre_compact event);
BELAY_DECL void notify(registry_state& host, session_end event);
BELAY_DECL void notify(registry_state& host, subagent_finished event);
BELAY_DECL void notify(registry_state& host, turn_finished event);

template <class E>
using hooks_for = std::conditional_t<notification<E>, observers<E>, async_chain<E>>;

// All hooks of one event. Those that only watch belong to `group`.
template <class E>
struct hook_line {
    hook_line(const observer_group& group, trace_sink* trace) : hooks(make(group, trace)) {}

    static hooks_for<E> make(const observer_group& group, trace_sink* trace)
    {
        if constexpr (notification<E>) {
            return observers<E>(group, trace);
        } else {
            return async_chain<E>(group.get_executor(), group.get_clock(), trace);
        }
    }

    hooks_for<E> hooks;
};

template <class Events>
class hook_lines;

template <class... E>
class hook_lines<std::tuple<E...>> : hook_line<E>... {
public:
    hook_lines(const observer_group& group, trace_sink* trace) : hook_line<E>(group, trace)... {}

    template <class Wanted>
    hooks_for<Wanted>& hooks_of() noexcept
    {
        static_assert((std::same_as<Wanted, E> || ...),
                      "belay: there are no hooks for this event; it is one of the eight phases in "
                      "<belay/hooks/phase.hpp>, or turn_finished");
        return static_cast<hook_line<Wanted>&>(*this).hooks;
    }
};

using hookable_events = decltype(std::tuple_cat(std::declval<phase_events>(),
                                                std::declval<std::tuple<turn_finished>>()));

class hook_set final : public hook_lines<hookable_events> {
public:
    // Functions that answer at once are called on `pool`, if there is one.
    hook_set(const observer_group& group, trace_sink* trace, boost::asio::any_io_executor pool)
        : hook_lines(group, trace), pool_(std::move(pool))
    {}

    // Only an event with a subject may have a matcher.
    template <class E>
    handler_id add(handler_info info, const any_handler<E>& handler, matcher only_for = {})
    {
        auto placed = belay::detail::on_pool(pool_, handler);
        if constexpr (belay::detail::has_subject<E>) {
            return hooks_of<E>().add(std::move(info), std::move(only_for), std::move(placed));
        } else {
            return hooks_of<E>().add(std::move(info), std::move(placed));
        }
    }

private:
    const boost::asio::any_io_executor pool_;
};

// A hook that all sets of a configuration share, or that an extension registered: how it gets into a
// set, and out of it. Without `add_to`, it was an empty function.
struct shared_hook {
    std::function<handler_id(hook_set&)> add_to{};
    bool (*remove_from)(hook_set&, handler_id) = nullptr;

    template <class E, class Handler>
    static shared_hook of(handler_info info, matcher only_for, Handler handler)
    {
        any_handler<E> shared(std::move(handler));
        if (!shared) return {};
        return {
            [info = std::move(info), only_for = std::move(only_for),
             shared = std::move(shared)](hook_set& set) { return set.add(info, shared, only_for); },
            [](hook_set& set, handler_id id) { return set.hooks_of<E>().remove(id); }};
    }
};

}  // namespace belay::hooks::detail

#endif
