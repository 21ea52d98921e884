#ifndef BELAY_CORE_COROUTINE_HPP
#define BELAY_CORE_COROUTINE_HPP

// Lets the handlers of an async_chain, and the functions of a host, be coroutines: include it before
// they are made.
//
//     gate.add({.name = "review"}, [](const pre_tool_use& event) -> boost::asio::awaitable<block> {
//         ...
//     });

#include <belay/core/async_chain.hpp>
#include <belay/core/host_function.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <type_traits>
#include <utility>

namespace belay {

/// Runs a coroutine on the executor of the one who asks, and answers with what it returns; what it throws
/// is the failure. It is cancelled, at its next suspension, when nobody waits for the answer any more. For
/// functions of a host that are given a reply, and want to wait.
template <class T, class Executor>
void answer_with(boost::asio::awaitable<T, Executor> running, host_reply<T> reply)
{
    const auto executor = reply.get_executor();
    const auto slot = reply.get_cancellation_slot();
    auto done = [reply = std::move(reply)](std::exception_ptr thrown, T answer) mutable {
        thrown ? reply.fail(std::move(thrown)) : reply(std::move(answer));
    };
    boost::asio::co_spawn(executor, std::move(running),
                          boost::asio::bind_cancellation_slot(slot, std::move(done)));
}

}  // namespace belay

namespace belay::detail {

template <class T>
struct awaited<boost::asio::awaitable<T>> {
    static constexpr bool known = true;
    using type = T;
};

// The coroutine runs on the executor of the dispatch. When it is abandoned it is cancelled, at its
// next suspension; what it returns after that is dropped.
template <class E, class Handler>
struct awaiting final : later_handler<E> {
    using returned = typename awaited<std::invoke_result_t<Handler&, const E&>>::type;
    static_assert(std::is_void_v<returned> || std::is_default_constructible_v<returned>,
                  "belay: what a coroutine handler returns must be default-constructible, as "
                  "boost::asio::co_spawn demands; return E::answer instead");

    explicit awaiting(Handler h) : handler(std::move(h)) {}

    void start(const E& event, reply<E> answer) override
    {
        const auto executor = answer.get_executor();
        const auto slot = answer.get_cancellation_slot();
        if constexpr (std::is_void_v<returned>) {
            auto done = [answer = std::move(answer)](std::exception_ptr thrown) mutable {
                thrown ? answer.fail(errc::threw, message_of(std::move(thrown))) : answer();
            };
            boost::asio::co_spawn(executor, handler(event),
                                  boost::asio::bind_cancellation_slot(slot, std::move(done)));
        } else {
            auto done = [answer = std::move(answer)](std::exception_ptr thrown,
                                                     returned said) mutable {
                thrown ? answer.fail(errc::threw, message_of(std::move(thrown)))
                       : answer(std::move(said));
            };
            boost::asio::co_spawn(executor, handler(event),
                                  boost::asio::bind_cancellation_slot(slot, std::move(done)));
        }
    }

    Handler handler;
};

template <class T>
struct await_host_call {
    template <class Executor>
    static void start(boost::asio::awaitable<T, Executor> running, host_reply<T> reply)
    {
        answer_with(std::move(running), std::move(reply));
    }
};

}  // namespace belay::detail

#endif
