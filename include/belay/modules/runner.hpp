#ifndef BELAY_MODULES_RUNNER_HPP
#define BELAY_MODULES_RUNNER_HPP

// The modules of one conversation.
//
//     belay::modules::runner modules(io.get_executor(), {.agent = agent, .ui = terminal});
//     modules.add("guard", guard);                               // linked in
//     belay::modules::load(modules, discovered.paths);           // <belay/modules/loader.hpp>
//     modules.on_error([](const handler_error& why) { log(why); });
//     ...
//     context event{.messages = messages};  // named: g++ 12 destroys a braced argument of a co_await twice
//     auto seen = co_await modules.async_emit(event, use_awaitable);

#include <belay/config.hpp>
#include <belay/core/async_chain.hpp>
#include <belay/core/error.hpp>
#include <belay/modules/api.hpp>
#include <belay/modules/command.hpp>
#include <belay/modules/detail/runner_state.hpp>
#include <belay/modules/events.hpp>
#include <belay/modules/message.hpp>
#include <belay/modules/render.hpp>
#include <belay/modules/runner_options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::modules {

class tool_wrapper;

/// An error listener that was added.
class error_subscription {
public:
    error_subscription() noexcept = default;
    error_subscription(std::weak_ptr<detail::runner_state> state, unsigned long long id) noexcept
        : state_(std::move(state)), id_(id)
    {}

    /// The listener is not called again. Does nothing if that was so already, or the runner is gone.
    /// Whoever drops a subscription keeps its listener.
    BELAY_DECL void unsubscribe() const;

private:
    std::weak_ptr<detail::runner_state> state_;
    unsigned long long id_ = 0;
};

/// Owns the modules of one conversation, and asks their handlers: in the order in which modules were
/// added, and of one module in that of registration, one at a time (spec: Veyyon, "Runtime handler
/// order").
///
/// The executor must not run two handlers at the same time: one thread runs its context, or it is a
/// strand. All members are called on it, or while it is idle. What is in flight may outlive the runner.
class runner {
public:
    using executor_type = boost::asio::any_io_executor;

    BELAY_DECL explicit runner(executor_type executor, runner_options options = {});

    runner(runner&&) noexcept = default;
    runner& operator=(runner&&) noexcept = default;
    ~runner() = default;

    BELAY_DECL executor_type get_executor() const noexcept;

    /// The directory of its conversation: that of the agent, absolute.
    BELAY_DECL std::string cwd() const;

    /// Loads a module: calls its factory, and then takes what it has registered. If the factory throws,
    /// nothing of the module is there, the operator channel hears of it, and the diagnosis is
    /// `errc::threw`: `Failed to load extension: ` and what it threw. An empty factory is
    /// `errc::invalid_config`. `name` is what errors call it, and may be there already.
    BELAY_DECL checked<void> add(std::string name, const module_factory& factory);

    /// The names of the modules, in the order in which they were added.
    BELAY_DECL std::vector<std::string> modules() const;

    /// Whether anybody handles E: a host may spare itself the event if nobody does.
    template <module_event E>
    bool has_handlers() const
    {
        return state_->template chain_of<E>().size() != 0;
    }

    /// Asks the handlers of an event. Those that fail have been reported to the error listeners by the
    /// time that it completes. `session_shutdown` runs its handlers at once, and completes when all have
    /// ended or run out of time.
    ///
    /// @par Completion signature
    /// `void(error_code, E::outcome)` or, of events without one of their own, `last_result<E::result>`
    /// or `notified`; always through a post.
    ///
    /// @par Errors
    /// `errc::cancelled`, with a default-constructed outcome.
    ///
    /// @par Per-operation cancellation
    /// Of any type: cancels and abandons the running handler; those of `session_shutdown` go on. Emit it
    /// where the completion handler runs.
    template <module_event E, boost::asio::completion_token_for<void(error_code, outcome_of<E>)>
                                  Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_emit(E event, Token&& token = Token())
    {
        return boost::asio::async_initiate<Token, void(error_code, outcome_of<E>)>(
            emission<E>{get_executor(), state_}, token, std::move(event));
    }

    /// Calls `listener` from now on with every error of a handler, at the moment when it fails, after
    /// the listeners that are there. What a listener throws is dropped.
    BELAY_DECL error_subscription on_error(std::function<void(const handler_error&)> listener);

    /// The command of that name: the one that was registered last.
    BELAY_DECL std::optional<command_info> find_command(std::string_view name) const;
    BELAY_DECL command_list commands() const;

    /// Runs what a person has written, if it is `/name` or `/name arguments`, and `name` is a command
    /// of a module: a host looks for its own commands first. The arguments are all that comes after
    /// the first space. It has no timeout.
    ///
    /// @par Completion signature
    /// `void(error_code, bool handled)`, always through a post. What the command throws is reported to
    /// the error listeners; it was handled all the same, and no turn follows.
    ///
    /// @par Errors
    /// `errc::cancelled`.
    ///
    /// @par Per-operation cancellation
    /// Of any type: cancels and abandons the command. Emit it where the completion handler runs.
    template <
        boost::asio::completion_token_for<void(error_code, bool)> Token = boost::asio::deferred_t>
    [[nodiscard]] auto async_run_command(std::string_view text, Token&& token = Token())
    {
        return boost::asio::async_initiate<Token, void(error_code, bool)>(
            command_run{get_executor(), state_}, token, std::string(text));
    }

    /// The lines of a custom message: those of a module's renderer, or the default card.
    BELAY_DECL std::vector<std::string> render(const custom_message& message,
                                               const render_options& options = {}) const;

private:
    friend tool_wrapper;

    template <class E>
    struct emission {
        using executor_type = boost::asio::any_io_executor;

        executor_type executor;
        std::shared_ptr<detail::runner_state> state;

        executor_type get_executor() const noexcept { return executor; }

        template <class Handler>
        void operator()(Handler&& handler, E event) const
        {
            state->emit(std::move(event), std::forward<Handler>(handler));
        }
    };

    struct command_run {
        using executor_type = boost::asio::any_io_executor;

        executor_type executor;
        std::shared_ptr<detail::runner_state> state;

        executor_type get_executor() const noexcept { return executor; }

        template <class Handler>
        void operator()(Handler&& handler, std::string text) const
        {
            state->run_command(std::move(text), std::forward<Handler>(handler));
        }
    };

    std::shared_ptr<detail::runner_state> state_;
};

}  // namespace belay::modules

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/impl/runner.ipp>
#endif

#endif
