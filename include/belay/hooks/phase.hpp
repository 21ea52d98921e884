#ifndef BELAY_HOOKS_PHASE_HPP
#define BELAY_HOOKS_PHASE_HPP

// The phases of a conversation, by name.

#include <belay/core/detail/event_list.hpp>
#include <belay/hooks/session_events.hpp>
#include <belay/hooks/tool_events.hpp>
#include <belay/hooks/turn_events.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace belay::hooks {

/// The phases that an executable can be registered for (spec: Vera, "When a hook runs").
enum class phase : unsigned char {
    pre_tool_use,
    post_tool_use,
    session_start,
    pre_turn,
    turn_ending,
    pre_compact,
    session_end,
    subagent_finished,
};

/// The events of the phases, in the order of `phase`.
using phase_events = std::tuple<pre_tool_use, post_tool_use, session_start, pre_turn, turn_ending,
                                pre_compact, session_end, subagent_finished>;

inline constexpr std::size_t phase_count = std::tuple_size_v<phase_events>;

namespace detail {

template <std::size_t... I>
constexpr std::array<std::string_view, phase_count> phase_names(std::index_sequence<I...>) noexcept
{
    return {std::tuple_element_t<I, phase_events>::event_name...};
}

inline constexpr auto all_phase_names = phase_names(std::make_index_sequence<phase_count>());

// Calls `f` with the event of a phase, as a std::type_identity.
template <class F>
void with_event(phase which, F&& f)
{
    belay::detail::with_event<phase_events>(static_cast<std::size_t>(which), std::forward<F>(f));
}

template <class E, std::size_t I = 0>
constexpr phase phase_of() noexcept
{
    static_assert(I < phase_count, "belay: this event is not a phase of an executable");
    if constexpr (std::is_same_v<std::tuple_element_t<I, phase_events>, E>) {
        return static_cast<phase>(I);
    } else {
        return phase_of<E, I + 1>();
    }
}

}  // namespace detail

/// The phase of the event E.
template <class E>
inline constexpr phase phase_of = detail::phase_of<E>();

/// The name of a phase, as in config.json.
constexpr std::string_view name_of(phase which) noexcept
{
    return detail::all_phase_names[static_cast<std::size_t>(which)];
}

/// The phase of that name, which is matched exactly.
constexpr std::optional<phase> phase_named(std::string_view name) noexcept
{
    for (std::size_t i = 0; i != phase_count; ++i) {
        if (detail::all_phase_names[i] == name) return static_cast<phase>(i);
    }
    return std::nullopt;
}

/// The bytes that an executable may write to stdout in a phase. Those that return context may use
/// six bytes for each of its 128 KiB, and 4 KiB around it (spec: Vera, "When a hook fails").
constexpr std::size_t stdout_limit(phase which) noexcept
{
    const bool gives_context =
        which == phase::session_start || which == phase::pre_turn || which == phase::turn_ending;
    return gives_context ? 6 * context_limit + 4096 : 64 * 1024;
}

}  // namespace belay::hooks

#endif
