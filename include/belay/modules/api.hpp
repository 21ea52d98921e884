#ifndef BELAY_MODULES_API_HPP
#define BELAY_MODULES_API_HPP

// What a module is given when it is loaded, and keeps (spec: Veyyon, "What a hook module is").

#include <belay/core/any_handler.hpp>
#include <belay/core/event.hpp>
#include <belay/core/failure.hpp>
#include <belay/core/matcher.hpp>
#include <belay/modules/command.hpp>
#include <belay/modules/context.hpp>
#include <belay/modules/detail/module_link.hpp>
#include <belay/modules/events.hpp>
#include <belay/modules/exec.hpp>
#include <belay/modules/message.hpp>
#include <belay/modules/render.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace belay::modules {

// What every module says.
using belay::block;
using belay::observe;
using belay::reply;

namespace detail {

template <class E, class Context, class Handler>
any_handler<E> with_context(Handler handler, Context here);

}  // namespace detail

/// A module's side of its runner. A handle: copies are the same, and a module may keep one. All members
/// are called on the runner's executor. Once the runner is gone they throw `std::logic_error`; so do,
/// while the module is being loaded, `send_message` and `append_entry`, since there may be no session
/// yet.
class api {
public:
    explicit api(detail::link_ptr link) noexcept : link_(std::move(link)) {}

    /// Handles an event, after the handlers that are there; it is first asked about the next event.
    ///
    /// A handler takes the event, and then, if it likes, a `handler_context`, and then, if it answers
    /// later, a `reply<E>`. It returns what an async_chain accepts: nothing, `E::result` (of
    /// `tool_call`: `block`), a std::optional of it, `E::answer`, or a coroutine of one of these.
    ///
    ///     api.on<tool_result>([](const tool_result& event) { ... });
    ///     api.on<tool_call>([](const tool_call& event, handler_context here) { ... });
    ///     api.on<context>([](const context& event, handler_context here, reply<context> answer) { ... });
    ///
    /// It has `timeout` for each event, by default that of the runner; of `session_shutdown` always
    /// that of the runner. One that is late, or that throws, is reported to the runner's error
    /// listeners, and has no opinion; of `tool_call`, it blocks the call.
    ///
    /// An empty `std::function` throws `std::invalid_argument`.
    template <module_event E, class Handler>
    void on(Handler handler, std::optional<std::chrono::milliseconds> timeout = {}) const
    {
        add<E>({}, std::move(handler), timeout);
    }

    /// Handles `tool_call` or `tool_result` for some tools only.
    ///
    ///     api.on<tool_call>(belay::exact("bash"), [](const tool_call& event) { ... });
    template <module_event E, class Handler>
    void on(matcher tools, Handler handler,
            std::optional<std::chrono::milliseconds> timeout = {}) const
    {
        static_assert(belay::detail::check_subject<E>());
        add<E>(std::move(tools), std::move(handler), timeout);
    }

    /// Registers a slash command. The handler takes a `const command&`, and then, if it likes, a
    /// `command_context`; it returns nothing, or a coroutine of nothing. If the name is taken, the
    /// runner's operator channel hears of it, and the later registration wins. A name is not empty,
    /// and is UTF-8 without a slash, white space or control characters; a wrong one, and an empty function, throw
    /// `std::invalid_argument`.
    template <class Handler>
    void register_command(std::string name, std::string description, Handler handler) const
    {
        link_->add_command(
            {.name = std::move(name), .description = std::move(description)},
            detail::with_context<command>(std::move(handler), command_context(link_)));
    }

    /// Shows the custom messages of a type. Of several modules the first one's renderer counts, of one
    /// module its last. One that returns nothing, or throws, leaves it to the default card.
    void register_message_renderer(std::string custom_type, message_renderer renderer) const
    {
        link_->add_renderer(std::move(custom_type), std::move(renderer));
    }

    /// Puts a message into the conversation. It is the agent's unless its attribution is `user`; an
    /// empty type is that of a default-constructed message, and content that is neither a string nor
    /// an array is empty. What the host throws is reported to the runner's error listeners.
    void send_message(custom_message message, delivery_options options = {}) const
    {
        link_->send_message(std::move(message), options);
    }

    /// The same for a text that people see.
    void send_message(std::string_view text, delivery_options options = {}) const
    {
        link_->send_message(text_message(text), options);
    }

    /// Keeps an entry in the session, which the model does not see. A module finds its own again in
    /// `handler_context::session()`.
    void append_entry(std::string custom_type, boost::json::value data = nullptr) const
    {
        link_->append_entry(std::move(custom_type), std::move(data));
    }

    /// Runs a program, as `modules::async_exec` does, in the conversation's directory. Also while the
    /// module is being loaded. Without a token it is awaited, in a coroutine: there, name a braced
    /// list of arguments first, which g++ 12 cannot compile in a co_await.
    //
    // By default not `{}` either: in a co_await, g++ 12 destroys that twice.
    template <boost::asio::completion_token_for<void(error_code, exec_result)> Token =
                  boost::asio::use_awaitable_t<>>
    [[nodiscard]] auto async_exec(std::string program, std::vector<std::string> arguments,
                                  exec_options options = exec_options(),
                                  Token&& token = Token()) const
    {
        return boost::asio::async_initiate<Token, void(error_code, exec_result)>(
            detail::exec_through_link{link_, link_->host()->cwd()}, token, std::move(program),
            std::move(arguments), std::move(options));
    }

    /// The runner's executor.
    boost::asio::any_io_executor get_executor() const noexcept { return link_->executor(); }

    /// How the module is called in errors: its path, or the name that it was added with.
    const std::string& name() const noexcept { return link_->name(); }

private:
    template <class E, class Handler>
    void add(matcher only_for, Handler handler,
             std::optional<std::chrono::milliseconds> timeout) const
    {
        auto shared = detail::with_context<E>(std::move(handler), handler_context(link_));
        if (!shared) {
            throw std::invalid_argument("the handler of " + std::string(E::event_name) +
                                        " is an empty function");
        }
        link_->add_handler(belay::detail::index_of<E, all_events>(),
                           std::make_shared<any_handler<E>>(std::move(shared)), std::move(only_for),
                           timeout);
    }

    detail::link_ptr link_;
};

/// What a module is: it registers its handlers, once for each runner. What it throws undoes that.
using module_factory = std::function<void(api&)>;

namespace detail {

// A handler with its context bound, if it takes one; none, if it is an empty function.
template <class E, class Context, class Handler>
any_handler<E> with_context(Handler handler, Context here)
{
    if constexpr (std::is_assignable_v<Handler&, std::nullptr_t>) {
        if (handler == nullptr) return {};
    }
    if constexpr (std::invocable<Handler&, const E&, const Context&, reply<E>>) {
        return [handler = std::move(handler), here = std::move(here)](const E& event,
                                                                      reply<E> answer) mutable {
            handler(event, here, std::move(answer));
        };
    } else if constexpr (std::invocable<Handler&, const E&, const Context&>) {
        return [handler = std::move(handler), here = std::move(here)](const E& event) mutable {
            return handler(event, here);
        };
    } else if constexpr (std::invocable<Handler&, const E&> || std::invocable<Handler&, E&> ||
                         std::invocable<Handler&, const E&, reply<E>>) {
        return handler;  // the kernel says what is wrong with it, if anything is
    } else if constexpr (std::is_same_v<E, command>) {
        static_assert(std::invocable<Handler&, const E&>,
                      "belay: a slash command cannot be called like this; let its parameters be "
                      "const command&, then, if it likes, command_context, then, if it answers "
                      "later, reply<command>");
        return {};
    } else {
        static_assert(
            std::invocable<Handler&, const E&>,
            "belay: this handler cannot be called with this event; let its parameters be "
            "const E&, then, if it likes, handler_context (a command_context is for slash "
            "commands), then, if it answers later, reply<E>");
        return {};
    }
}

}  // namespace detail
}  // namespace belay::modules

#endif
