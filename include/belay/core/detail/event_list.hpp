#ifndef BELAY_CORE_DETAIL_EVENT_LIST_HPP
#define BELAY_CORE_DETAIL_EVENT_LIST_HPP

// A std::tuple of events, as a list to look things up in.

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace belay::detail {

template <class E, class Events>
inline constexpr bool is_one_of = false;
template <class E, class... Event>
inline constexpr bool is_one_of<E, std::tuple<Event...>> = (std::same_as<E, Event> || ...);

// Where E stands in the list.
template <class E, class Events, std::size_t I = 0>
consteval std::size_t index_of()
{
    if constexpr (std::same_as<std::tuple_element_t<I, Events>, E>) {
        return I;
    } else {
        return index_of<E, Events, I + 1>();
    }
}

template <class Events, class F, std::size_t... I>
void with_event(std::size_t which, F&& f, std::index_sequence<I...>)
{
    (void)((which == I && (f(std::type_identity<std::tuple_element_t<I, Events>>()), true)) || ...);
}

// Calls `f` with the event at that place, as a std::type_identity.
template <class Events, class F>
void with_event(std::size_t which, F&& f)
{
    with_event<Events>(which, std::forward<F>(f),
                       std::make_index_sequence<std::tuple_size_v<Events>>());
}

}  // namespace belay::detail

#endif
