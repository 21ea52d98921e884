#ifndef BELAY_CORE_HANDLER_HPP
#define BELAY_CORE_HANDLER_HPP

// What a handler may look like.
//
// It is called with `const E&`, so it cannot change the event in place, and it says what it thinks
// by what it returns:
//   - nothing (or observe): no opinion
//   - one alternative of E::answer, or a std::optional of one (empty: no opinion)
//   - E::answer
// In an async_chain it may also take a reply<E> after the event and return void, or, with
// <belay/core/coroutine.hpp>, return a boost::asio::awaitable of any of the above.

#include <belay/core/event.hpp>
#include <belay/core/reply.hpp>

#include <concepts>
#include <optional>
#include <type_traits>

namespace belay {

namespace detail {

// The T of an awaitable<T>: specialised by <belay/core/coroutine.hpp>.
template <class R>
struct awaited {
    static constexpr bool known = false;
};

template <class H, class E>
concept immediate_handler =
    std::invocable<H&, const E&> && answers<std::invoke_result_t<H&, const E&>, E>;

template <class H, class E>
concept replying_handler = std::invocable<H&, const E&, reply<E>> &&
                           std::is_void_v<std::invoke_result_t<H&, const E&, reply<E>>>;

template <class H, class E>
concept awaiting_handler =
    std::invocable<H&, const E&> && awaited<std::invoke_result_t<H&, const E&>>::known &&
    answers<typename awaited<std::invoke_result_t<H&, const E&>>::type, E>;

enum class waits : bool { never, may };

// If a compiler brought you here, the sentence says what to change; the note below it names the
// event (E) and the type that the handler returned (Returned).
template <class E, class Returned, waits Wait>
consteval bool check_returned()
{
    if constexpr (answers<Returned, E>) {
        return true;
    } else if constexpr (awaited<Returned>::known) {
        if constexpr (Wait == waits::never) {
            static_assert(Wait == waits::may,
                          "belay: a coroutine answers later, and this chain does not wait; add the "
                          "handler to an async_chain");
        } else {
            static_assert(check_returned<E, typename awaited<Returned>::type, Wait>());
        }
    } else if constexpr (std::variant_size_v<typename E::answer> == 1) {
        static_assert(answers<Returned, E>,
                      "belay: this event only notifies, nothing can be said about it; let the "
                      "handler return nothing");
    } else if constexpr (is_optional<Returned>) {
        static_assert(answers<Returned, E>,
                      "belay: the std::optional that this handler returns does not hold an "
                      "alternative of E::answer; let it hold exactly one of them");
    } else if constexpr (is_variant<Returned>) {
        static_assert(answers<Returned, E>,
                      "belay: this handler returns the answer of another event; return E::answer, "
                      "or one of its alternatives");
    } else if constexpr (std::is_reference_v<Returned> || std::is_pointer_v<Returned>) {
        static_assert(answers<Returned, E>,
                      "belay: this handler returns a reference or a pointer; return the answer by "
                      "value");
    } else {
        static_assert(answers<Returned, E>,
                      "belay: this event does not accept what the handler returns; return nothing, "
                      "one alternative of E::answer, a std::optional of one, or E::answer (for a "
                      "coroutine, include <belay/core/coroutine.hpp>)");
    }
    return true;
}

template <class E, class Handler, waits Wait>
consteval bool check_handler()
{
    if constexpr (Wait == waits::never && std::invocable<Handler&, const E&>) {
        static_assert(check_returned<E, std::invoke_result_t<Handler&, const E&>, Wait>());
    } else if constexpr (std::invocable<Handler&, const E&, reply<E>>) {
        static_assert(Wait == waits::may,
                      "belay: a handler that takes a reply answers later, and this chain does not "
                      "wait; add it to an async_chain");
        static_assert(
            std::is_void_v<std::invoke_result_t<Handler&, const E&, reply<E>>>,
            "belay: a handler that takes a reply answers through it; let it return nothing");
    } else if constexpr (std::invocable<Handler&, const E&>) {
        static_assert(check_returned<E, std::invoke_result_t<Handler&, const E&>, Wait>());
    } else if constexpr (std::invocable<Handler&, E&>) {
        static_assert(std::invocable<Handler&, const E&>,
                      "belay: this handler takes its event by non-const reference; take const E&, "
                      "and return an answer instead of changing the event");
    } else {
        static_assert(std::invocable<Handler&, const E&>,
                      "belay: this handler cannot be called with this event; let its parameter be "
                      "const E&");
    }
    return true;
}

}  // namespace detail

/// A handler that E accepts, in an async_chain or, if it answers at once, in any chain.
template <class H, class E>
concept handler_for =
    event<E> && (detail::immediate_handler<H, E> || detail::replying_handler<H, E> ||
                 detail::awaiting_handler<H, E>);

}  // namespace belay

#endif
