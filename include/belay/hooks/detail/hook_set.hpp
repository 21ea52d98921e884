#ifndef BELAY_HOOKS_DETAIL_HOOK_SET_HPP
#define BELAY_HOOKS_DETAIL_HOOK_SET_HPP

// The hooks that sessions of one configuration share. Only bodies include this.

#include <belay/config.hpp>
#include <belay/core/any_handler.hpp>
#include <belay/core/async_chain.hpp>
#include <belay/core/detail/pool_handler.hpp>
#include <belay/core/event.hpp>
#include <belay/core/matcher.hpp>
#include <belay/core/observer_group.hpp>
#include <belay/core/observers.hpp>
#include <belay/hooks/detail/shared_hook.hpp>
#include <belay/hooks/phase.hpp>

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>

namespace belay::hooks::detail {

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
        static_assert((std::same_as<Wanted, E> || ...));
        return static_cast<hook_line<Wanted>&>(*this).hooks;
    }
};

using hookable_events = decltype(std::tuple_cat(std::declval<phase_events>(),
                                                std::declval<std::tuple<turn_finished>>()));

class hook_set final : public hook_lines<hookable_events> {
public:
    // Functions that answer at once are called on a pool, if there is one.
    hook_set(const observer_group& group, trace_sink* trace, belay::detail::pool_place place)
        : hook_lines(group, trace), place_(std::move(place))
    {}

    // Only an event with a subject may have a matcher.
    template <class E>
    handler_id add(handler_info info, const any_handler<E>& handler, matcher only_for = {})
    {
        auto placed = belay::detail::on_pool(place_, handler);
        if constexpr (belay::detail::has_subject<E>) {
            return hooks_of<E>().add(std::move(info), std::move(only_for), std::move(placed));
        } else {
            return hooks_of<E>().add(std::move(info), std::move(placed));
        }
    }

private:
    const belay::detail::pool_place place_;
};

template <class E>
handler_id hooks_of_event<E>::add(hook_set& set, const handler_info& info, const matcher& only_for,
                                  const any_handler<E>& hook)
{
    return set.add(info, hook, only_for);
}

template <class E>
bool hooks_of_event<E>::remove(hook_set& set, handler_id id)
{
    return set.hooks_of<E>().remove(id);
}

template <class E>
void hooks_of_event<E>::ask(hook_set& set, E event, hooks_completion<E> handler)
    requires(!notification<E>)
{
    set.hooks_of<E>().async_dispatch(std::move(event), std::move(handler));
}

}  // namespace belay::hooks::detail

#endif
