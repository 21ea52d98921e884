#ifndef BELAY_CORE_DETAIL_POOL_HANDLER_HPP
#define BELAY_CORE_DETAIL_POOL_HANDLER_HPP

// Calls functions that answer at once on a pool, where they may block.

#include <belay/core/any_handler.hpp>
#include <belay/core/detail/async_handler.hpp>
#include <belay/core/detail/home_loop.hpp>
#include <belay/core/reply.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>

#include <chrono>
#include <memory>
#include <utility>

namespace belay::detail {

// A pool, how long a function may wait for a thread of it, and where functions are destroyed.
struct pool_place {
    boost::asio::any_io_executor pool{};  // empty: there is none
    std::chrono::milliseconds wait_limit{};
    std::shared_ptr<home_loop> home{};
};

// It waits for a free thread; a function that nobody waits for any more by then is not called.
template <class E>
struct pool_handler final : later_handler<E> {
    pool_handler(std::shared_ptr<async_handler<E>> f, pool_place p) noexcept
        : function(std::move(f)), place(std::move(p))
    {}

    struct turn {
        // The reply goes first: it may be the last that owns this handler, and the function must not be
        // destroyed with it.
        homing<async_handler<E>> function;
        const E& event;  // lives for as long as the reply
        reply<E> answer;

        void operator()()
        {
            if (answer.begin()) function->start(event, std::move(answer));
        }
    };

    void start(const E& event, reply<E> answer) override
    {
        answer.await_turn(place.wait_limit, "thread");
        boost::asio::post(place.pool, turn{homing<async_handler<E>>(function, place.home), event,
                                           std::move(answer)});
    }

    const std::shared_ptr<async_handler<E>> function;
    const pool_place place;
};

// The handler itself, if there is no pool or it answers later.
template <class E>
any_handler<E> on_pool(const pool_place& place, any_handler<E> handler)
{
    if (!place.pool || !handler.shared()->immediate()) return handler;
    std::shared_ptr<async_handler<E>> pooled =
        std::make_shared<pool_handler<E>>(handler.shared(), place);
    return any_handler<E>(std::move(pooled));
}

}  // namespace belay::detail

#endif
