#ifndef BELAY_HOOKS_REGISTRY_HPP
#define BELAY_HOOKS_REGISTRY_HPP

// The hooks of one host: those of its configuration, then those that extensions register.
//
//     auto file = std::make_shared<belay::hooks::config_file>(home / "config.json");
//     belay::hooks::registry hooks(io.get_executor());
//     if (auto used = hooks.follow(file); !used) tell(used.error().message);
//     hooks.on<pre_tool_use>([](const pre_tool_use& event) -> std::optional<belay::block> {
//         if (event.call.name == "bash") return belay::block{"no shell today"};
//         return std::nullopt;
//     }, "no-shell");
//     auto session = hooks.create_session({.id = "sess_1", .workspace = "/work"});

#include <belay/config.hpp>
#include <belay/core/error.hpp>
#include <belay/core/event.hpp>
#include <belay/core/matcher.hpp>
#include <belay/core/observer_group.hpp>
#include <belay/core/trace.hpp>
#include <belay/hooks/config.hpp>
#include <belay/hooks/config_file.hpp>
#include <belay/hooks/detail/shared_hook.hpp>
#include <belay/hooks/executable.hpp>
#include <belay/hooks/extension.hpp>
#include <belay/hooks/log.hpp>
#include <belay/hooks/phase.hpp>
#include <belay/hooks/registry_options.hpp>
#include <belay/hooks/session.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace belay::hooks {

/// Hooks run in order: the configuration's entries in their order, then those of extensions in the
/// order in which they were registered (spec: Vera, "Hooks").
///
/// The executor must not run two handlers at the same time: one thread runs its context, or it is a
/// strand. All members are called on it, or while it is idle. Sessions may outlive the registry.
///
/// An executable whose entry says that it is a worker is started by its first event. It serves all sessions
/// of its configuration, and is ended, its stdin first, when that was replaced and the last of these
/// sessions is gone; one of an extension, when it is removed. Until then, one that has nothing to do lives
/// on, and is work of the executor's context, for as long as a session is open: `run()` returns when the
/// last one has been closed or is gone, and the workers have ended. Without sessions, `async_dispatch` and
/// `notify` keep workers, until `async_drain` or the end of the registry.
class registry {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Has no hooks.
    BELAY_DECL explicit registry(executor_type executor, registry_options options = {});

    registry(registry&&) noexcept = default;
    registry& operator=(registry&&) noexcept = default;
    ~registry() = default;

    BELAY_DECL executor_type get_executor() const noexcept;

    /// The configuration from now on, for new sessions and, in phases that only observe, for all
    /// sessions. Sessions that exist keep their hooks in the other phases. Null: none.
    ///
    /// If an entry is over a limit that is judged when a session starts its hooks, no session can
    /// be created, and the phases that only observe go on with the last configuration that was
    /// within them. The diagnosis is what `create_session` will say.
    BELAY_DECL checked<void> use(std::shared_ptr<const config> configuration);

    /// The configuration is that of a file from now on, as the file is at each moment: it is looked
    /// at when a session is created, when something is to be observed, and when an event is dispatched
    /// without a session (spec: Vera, "When a hook fails"). It is loaded now, unless it has been. When a change cannot be used, the last valid
    /// configuration stays in force and the log gets a record, once for each change; it also gets the
    /// `config::warnings`. Extensions are not activated or ended by a change.
    ///
    /// The diagnosis is that of `config_file::load` or of `use`. The file is followed all the same;
    /// until it has been valid once, no session can be created. `use` ends it; null: as `use` of null.
    [[nodiscard]] BELAY_DECL checked<void> follow(std::shared_ptr<config_file> file);

    /// Registers a function for an event: one of the eight phases, or `turn_finished`. It may be
    /// anything that an async_chain takes: it may answer at once, through a `reply<E>`, or, with
    /// <belay/hooks/coroutine.hpp>, as a coroutine. Sessions share it, and may call it at the same
    /// time.
    ///
    /// An empty `std::function` throws `std::invalid_argument`.
    ///
    /// `name` is the extension's, and is shown to people. `timeout` is the function's own; without
    /// it, only the deadline of the phase bounds it. Sessions that exist see the function from the
    /// next event on.
    template <class E, class Handler>
    hook_id on(Handler handler, std::string name,
               std::optional<std::chrono::milliseconds> timeout = {})
    {
        return add(detail::shared_hook::of<E>(
            {.name = std::move(name), .from = origin::extension, .timeout = timeout}, {},
            std::move(handler)));
    }

    /// Registers a function that is asked only about some tools: for `pre_tool_use` and `post_tool_use`.
    ///
    ///     hooks.on<pre_tool_use>(belay::any_of({"edit", "write"}), read_only, "read-only");
    template <class E, class Handler>
    hook_id on(matcher only_for, Handler handler, std::string name,
               std::optional<std::chrono::milliseconds> timeout = {})
    {
        static_assert(belay::detail::check_subject<E>());
        return add(detail::shared_hook::of<E>(
            {.name = std::move(name), .from = origin::extension, .timeout = timeout},
            std::move(only_for), std::move(handler)));
    }

    /// Registers an executable for an extension (spec: Vera, "Register from an extension"): like an
    /// entry of the configuration, but its failures are judged as an extension's, and `argv[0]` is
    /// an absolute path. The diagnosis is `errc::invalid_argv` if it is not, and otherwise that of
    /// `check`. `name` is the extension's; `spec.name` is not looked at.
    [[nodiscard]] BELAY_DECL checked<hook_id> on_executable(const executable_spec& spec,
                                                            std::string name);

    /// Removes what an extension registered; false if it is gone already. It is not asked again,
    /// also in sessions that exist; an event in flight keeps the hooks that it started with.
    BELAY_DECL bool remove(hook_id id);

    /// Activates an extension: what it registers comes after all hooks that are there by the end of
    /// its activation, in one piece. If anything goes wrong it is not active, nothing of it is
    /// there, and the diagnosis says what was the first: what `registrar` says, `errc::threw` if
    /// `activate` throws, or `errc::invalid_config` for a name or a capability that cannot be.
    ///
    /// `own_config` is for the extension alone, which judges it.
    [[nodiscard]] BELAY_DECL checked<extension_id> activate(
        const extension& what, boost::json::value own_config = boost::json::object());

    /// Ends an extension, and removes all its hooks; false if it has ended already.
    BELAY_DECL bool deactivate(extension_id id);

    /// A conversation with the hooks of the current configuration. The diagnosis, as from
    /// `config::executables`, names the entry that is over a limit; then there is no session, and
    /// no hook has run. A bare one, which starts no hooks, does not depend on them.
    [[nodiscard]] BELAY_DECL checked<session> create_session(session_options options);

    /// Asks the current hooks about an event, without a session and its rules, and without the log:
    /// those that are current now, also if the operation is deferred. It may be launched on any
    /// thread, and may outlive the registry.
    ///
    /// @par Completion signature
    /// `void(error_code, E::outcome)`: as of `async_chain::async_dispatch`.
    template <class E, boost::asio::completion_token_for<void(error_code, outcome_of<E>)> Token =
                           boost::asio::deferred_t>
        requires(!notification<E>)
    [[nodiscard]] auto async_dispatch(E event, Token&& token = Token())
    {
        return boost::asio::async_initiate<Token, void(error_code, outcome_of<E>)>(
            initiation<E>{get_executor(), used_now()}, token, std::move(event));
    }

    /// Tells the current hooks about an event that they only watch, and logs those that fail.
    template <class E>
        requires notification<E>
    void notify(E event)
    {
        keep_workers();
        detail::notify(*state_, std::move(event));
    }

    /// For a host that shuts down: waits until no hook runs that only watches (`turn_finished`,
    /// `pre_compact`, `session_end`, `subagent_finished`), whichever configuration it came from, and
    /// those included that are notified meanwhile. Those that still run when `budget` has passed
    /// are cut off, with no budget at once: executables end with their process group, workers only lose
    /// the event; functions hear of their cancellation, what they answer later is dropped, and each is logged
    /// as failed; one that blocks its thread cannot be cut off. `cut` is how many. Nobody has to drain,
    /// and after it the registry goes on as before.
    ///
    /// Unless a session is open, workers are ended as soon as they have nothing to do, from this call on;
    /// call it last. The loop then still runs until they have ended.
    ///
    /// @par Completion signature
    /// `void(error_code, std::size_t cut)`, always through a post.
    ///
    /// @par Errors
    /// `errc::cancelled`: the drain was cancelled, by any type, which ends no hook.
    template <boost::asio::completion_token_for<void(error_code, std::size_t)> Token =
                  boost::asio::deferred_t>
    [[nodiscard]] auto async_drain(std::chrono::milliseconds budget, Token&& token = Token())
    {
        release_workers();
        return observing().async_drain(budget, std::forward<Token>(token));
    }

private:
    // Keeps the hooks until they are asked.
    template <class E>
    struct initiation {
        using executor_type = boost::asio::any_io_executor;

        executor_type executor;
        std::shared_ptr<detail::hook_set> hooks;

        executor_type get_executor() const noexcept { return executor; }

        template <class Handler>
        void operator()(Handler&& handler, E event) const
        {
            detail::hooks_of_event<E>::ask(*hooks, std::move(event),
                                           std::forward<Handler>(handler));
        }
    };

    BELAY_DECL hook_id add(detail::shared_hook hook);
    BELAY_DECL std::shared_ptr<detail::hook_set> used_now();
    BELAY_DECL void keep_workers();
    BELAY_DECL void release_workers();
    BELAY_DECL observer_group observing() const;

    std::shared_ptr<detail::registry_state> state_;
};

}  // namespace belay::hooks

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/registry.ipp>
#endif

#endif
