#ifndef BELAY_HOOKS_RUN_TOOLS_HPP
#define BELAY_HOOKS_RUN_TOOLS_HPP

// All tool calls of one reply of the model, taken through their hooks, the host's permission check
// and the host's tools. `session::async_run_tools` does it; here is what goes in and what comes
// out.
//
//     belay::hooks::tool_host host;
//     host.permit = [](const tool_call& call) {
//         return may_run(call) ? permission::grant() : permission::deny("not in this folder");
//     };
//     host.run = [](const tool_call& call) { return text_result(run(call)); };
//     model_reply reply{.calls = calls};  // named: g++ 12 destroys a braced argument of a co_await twice
//     auto records = co_await session.async_run_tools(reply, host, use_awaitable);

#include <belay/config.hpp>
#include <belay/hooks/host_function.hpp>
#include <belay/hooks/tool.hpp>
#include <belay/hooks/tool_events.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace belay::hooks {

/// What the host's permission check says of a call. A default-constructed one is a denial.
struct permission {
    bool granted = false;
    std::string reason{};  ///< of a denial: the text of the error result that the model gets

    /// The call may run.
    static permission grant() { return {true, {}}; }

    /// It may not; `why` is told to the model.
    static permission deny(std::string why) { return {false, std::move(why)}; }
};

using permission_reply = host_reply<permission>;
using tool_reply = host_reply<tool_result>;

/// The host's part in a batch of calls.
struct tool_host {
    /// Asked about each call that the hooks let through, with its effective input. Absent, or
    /// failing: the call is denied.
    host_function<permission> permit{};

    /// Runs a call that is permitted, with its effective input. Absent, or failing: the result is
    /// an error that says so. One that returns its result is called on `registry_options::pool`, if
    /// there is one, and may block there.
    host_function<tool_result> run{};

    std::size_t chains_at_once =
        8;  ///< calls whose pre_tool_use hooks run at the same time, at least 1
    std::size_t tools_at_once = 1;  ///< calls whose tools run at the same time, at least 1
};

/// What became of a call.
enum class call_fate : unsigned char {
    not_offered,  ///< the turn does not offer its tool: no hook has seen it
    blocked,      ///< by a pre_tool_use hook
    hook_failed,  ///< a pre_tool_use hook of the configuration failed
    denied,       ///< by the permission check, or because that failed
    replaced,     ///< its result is a hook's
    ran,          ///< its tool ran, whatever came of it
};

/// One call of a batch.
struct call_record {
    call_fate fate = call_fate::not_offered;
    tool_call call{};      ///< with its effective input
    tool_result result{};  ///< what the model gets; an error unless the call ran or was replaced

    std::chrono::duration<double, std::milli> duration{};  ///< of its tool

    std::optional<pre_tool_use::outcome>
        before{};  ///< what the hooks before it said; none if not offered
    std::optional<post_tool_use::outcome>
        after{};  ///< what the hooks after it said, if it ran or was replaced
};

}  // namespace belay::hooks

#endif
