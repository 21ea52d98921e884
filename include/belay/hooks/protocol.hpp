#ifndef BELAY_HOOKS_PROTOCOL_HPP
#define BELAY_HOOKS_PROTOCOL_HPP

// How one speaks to an executable: a typed event becomes the bytes of its stdin, and what it left
// behind when it exited becomes an answer, or the reason why it is none.

#include <belay/core/error.hpp>
#include <belay/hooks/phase.hpp>
#include <belay/process/exit_report.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

namespace belay::hooks {

/// One phase of a protocol. `configured` is the name that the hook's entry gave as its phase.
template <class E>
class protocol_for {
public:
    /// The bytes for stdin. Nothing: the hook does not run for this event, and has observed.
    virtual std::optional<std::string> payload(const E& event,
                                               std::string_view configured) const = 0;

    /// What the hook said by its exit status and its output. `report` is of a hook that was started
    /// and has ended within its bounds, by an exit or by a signal.
    virtual checked<typename E::answer> answer(const E& event, std::string_view configured,
                                               const process::exit_report& report) const = 0;

protected:
    ~protocol_for() = default;
};

namespace detail {

template <class Events>
class protocol_phases;

template <class... E>
class protocol_phases<std::tuple<E...>> : public protocol_for<E>... {
public:
    using protocol_for<E>::payload...;
    using protocol_for<E>::answer...;

protected:
    ~protocol_phases() = default;
};

}  // namespace detail

/// A name for a phase, as protocols give them.
struct phase_name {
    std::string_view name;
    phase means;
};

/// A name for a tool, as protocols give them.
struct tool_name {
    std::string_view name;
    std::string_view means;  ///< the name that the model uses, and events have
};

/// A protocol is a stateless object of static lifetime.
class protocol : public detail::protocol_phases<phase_events> {
public:
    /// As in a config entry's `protocol`.
    virtual std::string_view name() const noexcept = 0;

    /// What an entry's `phase` may be here.
    virtual std::span<const phase_name> phases() const noexcept = 0;

    /// The tools that have another name here than in events. The `tools` of an entry have those of
    /// events.
    virtual std::span<const tool_name> tools() const noexcept { return {}; }

    /// The phase of that name, which is matched exactly.
    std::optional<phase> resolve(std::string_view configured) const noexcept
    {
        for (const auto& [name, means] : phases()) {
            if (name == configured) return means;
        }
        return std::nullopt;
    }

protected:
    ~protocol() = default;
};

}  // namespace belay::hooks

#endif
