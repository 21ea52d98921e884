#ifndef BELAY_MODULES_RUNNER_OPTIONS_HPP
#define BELAY_MODULES_RUNNER_OPTIONS_HPP

// What a host gives a runner, and what a runner tells its host.

#include <belay/core/clock.hpp>
#include <belay/core/error.hpp>
#include <belay/core/trace.hpp>
#include <belay/modules/agent.hpp>
#include <belay/modules/command.hpp>
#include <belay/modules/ui.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace belay::modules {

/// What the operator of the agent should know: a module that was not loaded, a command that two modules
/// register, a module that another one shadows.
struct operator_notice {
    std::string module{};
    std::string message{};  ///< one sentence; it may not name the module
};

/// That a handler of a module failed.
struct handler_error {
    std::string module{};   ///< of a command, `command:` and its name
    std::string event{};    ///< `event_name`; of a command, `command`; of an action that the host
                            ///< failed to do, `send_message` or `append_entry`
    std::string message{};  ///< what it threw, or how it was late
    errc code{};
};

/// The slash commands of all modules, for a host that lists them.
struct command_list {
    std::vector<command_info> commands{};  ///< each name once, at its first registration's place
    std::vector<operator_notice>
        diagnostics{};  ///< those left out since the host has the name itself
};

/// How a runner works.
struct runner_options {
    /// What modules work with. Null: an agent that overrides nothing.
    std::shared_ptr<modules::agent> agent{};

    /// The person. Null: nobody is there.
    std::shared_ptr<modules::ui> ui{};

    /// Called on the runner's executor with load errors and command clashes. What it throws is dropped.
    std::function<void(const operator_notice&)> operator_channel{};

    /// Names of slash commands that the host itself has.
    std::vector<std::string> builtin_commands{};

    /// What a handler has for one event, unless it said otherwise.
    std::chrono::milliseconds handler_timeout{30'000};

    /// What each handler of `session_shutdown` has.
    std::chrono::milliseconds shutdown_timeout{2'000};

    // These must outlive the runner, and what is in flight.
    clock* time = &clock::steady();
    trace_sink* trace = nullptr;  ///< sees every handler of every event and every command
};

}  // namespace belay::modules

#endif
