#ifndef BELAY_MODULES_TOOL_HPP
#define BELAY_MODULES_TOOL_HPP

// A tool, as `tool_wrapper` runs it: what it says of itself, what it gives, and how a call fails.
//
//     tool bash{.name = "bash",
//               .approval = tool_approval{.tier = tool_tier::exec},
//               .execute = [](const tool_call& call) -> awaitable<tool_output> { ... }};

#include <belay/config.hpp>
#include <belay/core/error.hpp>
#include <belay/core/host_function.hpp>
#include <belay/modules/approval.hpp>
#include <belay/modules/tool_events.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace belay::modules {

/// What a tool gives.
struct tool_output {
    boost::json::array content{};  ///< blocks such as `{"type": "text", "text": ...}`
    boost::json::value details{};  ///< the tool's own, for people; null if it has none
    bool is_error = false;
};

/// A tool. Copies share what it executes.
struct tool {
    std::string name{};

    /// What it says of itself, of all calls or of this one. If the function throws, the call fails with
    /// that, and nobody hears of it.
    std::variant<tool_approval, std::function<tool_approval(const boost::json::object& input)>>
        approval{};

    /// Lines for the person who is asked about a call, each of which is cut to 2000 characters
    /// (`truncate_prompt`); may be empty. If it throws, so does the call.
    std::function<std::vector<std::string>(const boost::json::object& input)> prompt_details{};

    /// What it throws is its failure. Its reply's cancellation slot fires when the operation is
    /// cancelled. Called on the runner's executor.
    host_function<tool_output, tool_call> execute{};
};

/// The approval policy, or the person, has denied the call: no module has heard of it. The first line
/// is `Tool call denied by user: ` and the name of the tool; what follows says which policy it was, or
/// that nobody was there to ask.
class tool_denied : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A module has blocked the call. `what()` is the reason, for the model.
class tool_blocked : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What a tool throws that has been aborted, or has missed a deadline. No module hears of it.
class tool_cancelled : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Whether what a tool threw means that it was cancelled: a `tool_cancelled`, or a `system_error`, of
/// Boost or of the standard library, whose code means that an operation was cancelled
/// (`std::errc::operation_canceled`, as Asio's `operation_aborted` does, or `errc::cancelled`), or ran
/// out of its time (`errc::timed_out`, `errc::deadline`).
[[nodiscard]] BELAY_DECL bool is_cancellation(const std::exception_ptr& thrown) noexcept;

}  // namespace belay::modules

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/impl/tool.ipp>
#endif

#endif
