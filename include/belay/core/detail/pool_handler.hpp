#ifndef BELAY_CORE_DETAIL_POOL_HANDLER_HPP
#define BELAY_CORE_DETAIL_POOL_HANDLER_HPP

// Calls functions that answer at once on a pool, where they may block.

#include <belay/core/any_handler.hpp>
#include <belay/core/detail/async_handler.hpp>
#include <belay/core/reply.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <utility>

namespace belay::detail {

// A function that answers at once, called on a pool. It waits there for a free thread; one that nobody
// waits for any more is not called.
template <class E>
struct pool_handler final : later_handler<E> {
    pool_handler(std::shared_ptr<async_handler<E>> f, boost::asio::any_io_executor where) noexcept
        : function(std::move(f)), pool(std::move(where))
    {}

    void start(const E& event, reply<E> answer) override
    {
        answer.await_turn();
        // The event lives for as long as the reply.
        boost::asio::post(pool, [f = function, &event, answer = std::move(answer)]() mutable {
            if (answer.begin()) f->start(event, std::move(answer));
        });
    }

    const std::shared_ptr<async_handler<E>> function;
    const boost::asio::any_io_executor pool;
};

// The handler itself, if there is no pool or it answers later.
template <class E>
any_handler<E> on_pool(const boost::asio::any_io_executor& pool, any_handler<E> handler)
{
    if (!pool || !handler.shared()->immediate()) return handler;
    std::shared_ptr<async_handler<E>> pooled =
        std::make_shared<pool_handler<E>>(handler.shared(), pool);
    return any_handler<E>(std::move(pooled));
}

}  // namespace belay::detail

#endif
