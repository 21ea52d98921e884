#ifndef BELAY_MODULES_TOOL_WRAPPER_HPP
#define BELAY_MODULES_TOOL_WRAPPER_HPP

// Runs tools as Veyyon does: approval, `tool_call` handlers, the tool, `tool_result` handlers (spec:
// Veyyon, "Tool interception flow"). A host runs every tool through it, also with no module loaded.
//
//     belay::modules::tool_wrapper tools(modules, settings);
//     belay::modules::tool bash{.name = "bash",
//                               .approval = tool_approval{.tier = tool_tier::exec},
//                               .execute = [](const tool_call& call) -> awaitable<tool_output> { ... }};
//     ...
//     boost::json::object input{{"command", "ls"}};  // named: g++ 12 destroys a braced argument twice
//     auto output = co_await tools.async_execute(bash, "call_1", input, use_awaitable);

#include <belay/config.hpp>
#include <belay/modules/approval.hpp>
#include <belay/modules/runner.hpp>
#include <belay/modules/tool.hpp>
#include <belay/modules/tool_events.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/json/object.hpp>

#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace belay::modules {

/// Runs the tools of one conversation. All members are called on the runner's executor, or while it is
/// idle. What is in flight may outlive it. It keeps the modules of its runner as long as it lives.
class tool_wrapper {
public:
    using executor_type = boost::asio::any_io_executor;

    BELAY_DECL explicit tool_wrapper(const runner& modules, approval_settings approval = {});

    BELAY_DECL executor_type get_executor() const noexcept;

    /// What the next calls are judged by.
    BELAY_DECL void set_approval(approval_settings approval);
    BELAY_DECL const approval_settings& approval() const noexcept;

    /// Runs one call of a tool.
    ///
    /// If a person is to be asked, it is by one `ui::select` with `Approve` and `Deny`, which has no
    /// timeout; without a UI the call is denied. A stage that no module handles costs nothing. What the
    /// modules make of the tool's result, or of its failure, is the output; if they leave a failure as
    /// it is, it is thrown.
    ///
    /// @par Completion signature
    /// `void(std::exception_ptr, tool_output)`, always through a post.
    ///
    /// @par Errors
    /// `tool_denied`, `tool_blocked`, what the prompt threw, or what the tool threw. `errc::cancelled`,
    /// as a `boost::system::system_error`, if the operation was cancelled.
    ///
    /// @par Per-operation cancellation
    /// Of any type: tells whoever is at work (the person's dialog, a handler, the tool), does not wait
    /// for them, and lets no module know. Emit it where the completion handler runs.
    template <boost::asio::completion_token_for<void(std::exception_ptr, tool_output)> Token =
                  boost::asio::deferred_t>
    [[nodiscard]] auto async_execute(const tool& what, std::string tool_call_id,
                                     boost::json::object input, Token&& token = Token())
    {
        return boost::asio::async_initiate<Token, void(std::exception_ptr, tool_output)>(
            initiation{state_, approval_}, token, what,
            tool_call{what.name, std::move(tool_call_id), std::move(input)});
    }

private:
    using handler_type = boost::asio::any_completion_handler<void(std::exception_ptr, tool_output)>;

    struct initiation {
        using executor_type = boost::asio::any_io_executor;

        std::shared_ptr<detail::runner_state> modules;
        std::shared_ptr<const approval_settings> approval;

        executor_type get_executor() const noexcept { return modules->executor; }

        template <class Handler>
        void operator()(Handler&& handler, tool what, tool_call call) const
        {
            start(*this, std::forward<Handler>(handler), std::move(what), std::move(call));
        }
    };

    BELAY_DECL static void start(const initiation& with, handler_type handler, tool what,
                                 tool_call call);

    std::shared_ptr<detail::runner_state> state_;
    std::shared_ptr<const approval_settings> approval_;
};

}  // namespace belay::modules

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/impl/tool_wrapper.ipp>
#endif

#endif
