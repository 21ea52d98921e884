#ifndef BELAY_HOOKS_COROUTINE_HPP
#define BELAY_HOOKS_COROUTINE_HPP

// Lets hooks and the functions of a host be coroutines: include it before they are made.
//
//     host.run = [](const tool_call& call) -> boost::asio::awaitable<tool_result> { ... };

#include <belay/core/coroutine.hpp>
#include <belay/hooks/host_function.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <type_traits>
#include <utility>

namespace belay::hooks::detail {

template <class T>
struct await_host_call {
    template <class Executor>
    static void start(boost::asio::awaitable<T, Executor> running, host_reply<T> reply)
    {
        const auto executor = reply.get_executor();
        const auto slot = reply.get_cancellation_slot();
        auto done = [reply = std::move(reply)](std::exception_ptr thrown, T answer) mutable {
            if (thrown) {
                reply.fail(belay::detail::message_of(std::move(thrown)));
            } else {
                reply(std::move(answer));
            }
        };
        boost::asio::co_spawn(executor, std::move(running),
                              boost::asio::bind_cancellation_slot(slot, std::move(done)));
    }
};

}  // namespace belay::hooks::detail

#endif
