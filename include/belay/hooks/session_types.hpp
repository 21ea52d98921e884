#ifndef BELAY_HOOKS_SESSION_TYPES_HPP
#define BELAY_HOOKS_SESSION_TYPES_HPP

// What a host tells a session: who it is, what a turn starts with, what the model gave back.

#include <belay/core/any_handler.hpp>
#include <belay/hooks/tool.hpp>
#include <belay/hooks/turn_events.hpp>

#include <optional>
#include <string>
#include <vector>

namespace belay::hooks {

/// A conversation that the host opens.
struct session_options {
    std::string id{};
    std::string workspace{};
    bool spawned = false;  ///< another agent started it; see also `session::create_subagent`
    bool bare = false;     ///< it runs no hook of any phase, and neither do its subagents

    /// Functions for this conversation and its subagents alone, after the hooks that there are when
    /// it is created; a bare one runs neither. They take any form that an async_chain takes. If
    /// `prepare_turn` fails it blocks the turn; if `before_turn_ends` does, the turn ends with its reply
    /// (spec: Vera, "Register from an extension").
    any_handler<pre_turn> prepare_turn{};
    any_handler<turn_ending> before_turn_ends{};
};

/// A conversation that another one starts.
struct subagent_options {
    std::string id{};
    std::optional<std::string> workspace{};  ///< absent: its starter's
    bool background = false;                 ///< its starter does not wait for its result
};

/// What the model is called with during a turn.
struct turn_settings {
    std::string model{};
    std::optional<std::string> reasoning_effort{};
    std::vector<std::string> tools{};  ///< the names that are offered
};

/// How a prompt comes to a turn that has begun.
enum class arrival : unsigned char {
    queued,  ///< it was sent together with the turn's first prompt, before the model was called
    during_turn,  ///< it was sent while the turn was running, and joins it
};

/// Why the model stopped.
enum class stop_reason : unsigned char { end, tool_use, length, error, aborted };

/// What the model gave back.
struct model_reply {
    std::string text{};
    std::vector<tool_call> calls{};
    stop_reason stop = stop_reason::end;
};

}  // namespace belay::hooks

#endif
