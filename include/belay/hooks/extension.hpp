#ifndef BELAY_HOOKS_EXTENSION_HPP
#define BELAY_HOOKS_EXTENSION_HPP

// A named part of a host that registers hooks of its own (spec: Vera, "Register from an extension").
//
//     belay::hooks::extension lookout;
//     lookout.name = "lookout";
//     lookout.capabilities = {"hooks.pre_turn"};
//     lookout.activate = [](belay::hooks::registrar& hooks) {
//         hooks.on<pre_turn>([](const pre_turn& turn) -> std::optional<pre_turn::mutate> {
//             if (turn.prompt.find("treasure") == std::string::npos) return std::nullopt;
//             return pre_turn::mutate{.context = "the crow buried it under the third palm"};
//         });
//     };
//     auto activated = registry.activate(lookout);

#include <belay/config.hpp>
#include <belay/core/error.hpp>
#include <belay/core/event.hpp>
#include <belay/core/failure.hpp>
#include <belay/core/matcher.hpp>
#include <belay/hooks/ask.hpp>
#include <belay/hooks/config.hpp>
#include <belay/hooks/detail/shared_hook.hpp>
#include <belay/hooks/executable.hpp>
#include <belay/hooks/phase.hpp>
#include <belay/hooks/registry_options.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::hooks {

namespace detail {

class activation;
using activation_ptr = std::shared_ptr<activation>;

BELAY_DECL void ask_for_extension(
    const activation_ptr& extension, std::string session_id, std::string question,
    boost::asio::any_completion_handler<void(error_code, side_answer)> handler);

}  // namespace detail

/// How an extension registers its hooks: only while it is activated, and only what it has declared. A
/// handle: copies are the same, and all members but `async_ask` are called on the registry's executor.
///
/// A registration that is refused is an error that undoes the whole activation: none of the
/// extension's hooks is there any more, whether or not it looks at the diagnosis.
///
/// | refused because                      | code              |
/// |--------------------------------------|-------------------|
/// | the capability was not declared      | `undeclared`      |
/// | the activation is over               | `closed`          |
/// | the spec, or the timeout, is invalid | as `check` says   |
/// | the function is empty                | `invalid_config`  |
/// | `argv[0]` is not an absolute path    | `invalid_argv`    |
class registrar {
public:
    explicit registrar(detail::activation_ptr state) noexcept : state_(std::move(state)) {}

    /// Registers a function for one of the eight phases or `turn_finished`, like `registry::on`;
    /// needs the capability `hooks.` and the event's name, as in `hooks.pre_tool_use`. A `timeout` is
    /// at least 1 ms.
    template <class E, class Handler>
    checked<hook_id> on(Handler handler,
                        std::optional<std::chrono::milliseconds> timeout = {}) const
    {
        handler_info info{.name = name(), .from = origin::extension, .timeout = timeout};
        return add("hooks." + std::string(E::event_name), timeout,
                   detail::shared_hook::of<E>(std::move(info), {}, std::move(handler)));
    }

    /// Likewise a function that is asked only about some tools: for `pre_tool_use` and `post_tool_use`.
    template <class E, class Handler>
    checked<hook_id> on(matcher only_for, Handler handler,
                        std::optional<std::chrono::milliseconds> timeout = {}) const
    {
        static_assert(belay::detail::check_subject<E>());
        handler_info info{.name = name(), .from = origin::extension, .timeout = timeout};
        return add(
            "hooks." + std::string(E::event_name), timeout,
            detail::shared_hook::of<E>(std::move(info), std::move(only_for), std::move(handler)));
    }

    /// Registers an executable, like `registry::on_executable`; needs `hooks.command`.
    BELAY_DECL checked<hook_id> on_executable(const executable_spec& spec) const;

    /// Removes a hook of this extension, at any time; false if it is gone already.
    BELAY_DECL bool remove(hook_id id) const;

    /// Fails the activation for a reason of the extension's own, such as a setting that it cannot use:
    /// `errc::invalid_config`. Nothing happens after the activation.
    BELAY_DECL void refuse(std::string why) const;

    /// Tells the host's log about something that is no error: a record `extension_warning`.
    BELAY_DECL void warn(std::string_view what) const;

    /// Asks an open session one side question, as `session::async_ask` does (spec: Vera, "Register
    /// from an extension"); needs the capability `sessions.ask`. At any time while the extension is
    /// being activated or is active; of several sessions of that id, the newest is asked.
    ///
    /// @par Completion signature
    /// `void(error_code, side_answer)`, as there.
    ///
    /// @par Errors
    /// Those of `session::async_ask`, with `errc::closed` also if no such session is open or the
    /// extension has ended before, and `errc::undeclared`. A question that is open when the extension
    /// ends is answered.
    template <boost::asio::completion_token_for<void(error_code, side_answer)> Token =
                  boost::asio::deferred_t>
    [[nodiscard]] auto async_ask(std::string session_id, std::string question,
                                 Token&& token = Token()) const
    {
        return boost::asio::async_initiate<Token, void(error_code, side_answer)>(
            asking{get_executor(), state_}, token, std::move(session_id), std::move(question));
    }

    /// The registry's.
    BELAY_DECL boost::asio::any_io_executor get_executor() const noexcept;

    /// The extension's name.
    BELAY_DECL const std::string& name() const noexcept;

    /// The extension's own configuration: an empty object if it was given none.
    BELAY_DECL const boost::json::value& config() const noexcept;

    /// The protocols that executables may speak here; none once the registry and its sessions are gone.
    BELAY_DECL protocols known_protocols() const noexcept;

private:
    struct asking {
        using executor_type = boost::asio::any_io_executor;

        executor_type executor;
        detail::activation_ptr extension;

        executor_type get_executor() const noexcept { return executor; }

        template <class Handler>
        void operator()(Handler&& handler, std::string session_id, std::string question) const
        {
            detail::ask_for_extension(extension, std::move(session_id), std::move(question),
                                      std::forward<Handler>(handler));
        }
    };

    BELAY_DECL checked<hook_id> add(const std::string& capability,
                                    std::optional<std::chrono::milliseconds> timeout,
                                    detail::shared_hook hook) const;

    detail::activation_ptr state_;
};

/// What a host knows of an extension before it runs.
struct extension {
    std::string name{};                          ///< shown to people; one line, not empty
    std::vector<std::string> capabilities{};     ///< what it declares
    std::function<void(registrar&)> activate{};  ///< registers its hooks; not empty; may throw
    std::filesystem::path path{};                ///< its folder, by which a configuration names it
    bool included = false;                       ///< active also if no configuration names it
};

/// An extension, and the configuration to activate it with.
struct configured_extension {
    extension what{};
    boost::json::value config = boost::json::object();
};

/// Which of the `known` extensions a configuration wants, in the order of their activation: those that
/// are included, then those that an `extensions` entry names by its path, each with the entry's own
/// config. An included one that an entry names is activated by that entry instead. A host that does not
/// want an extension leaves it out of `known`.
///
/// The diagnosis, `errc::invalid_config`, names the first entry whose path is of none of them.
[[nodiscard]] BELAY_DECL checked<std::vector<configured_extension>> extensions_for(
    const config& configuration, const std::vector<extension>& known);

}  // namespace belay::hooks

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/extension.ipp>
#endif

#endif
