// A module that goes on when its runner is gone: a coroutine of its own, and a handler that is waiting.

#include <belay/modules/module.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>

namespace asio = boost::asio;

// The test reads it.
extern "C" {
extern int lingers_ended;
int lingers_ended = 0;
}

namespace {

asio::awaitable<void> wait()
{
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(20));
    co_await timer.async_wait(asio::use_awaitable);
}

// Of a module that keeps what it was given.
asio::awaitable<void> count_later(belay::modules::api)
{
    co_await wait();
    ++lingers_ended;
}

asio::awaitable<void> handle(const belay::modules::turn_start&)
{
    co_await wait();
    ++lingers_ended;
}

void lingers(belay::modules::api& api)
{
    asio::co_spawn(api.get_executor(), count_later(api), asio::detached);
    api.on<belay::modules::turn_start>(handle);
}

}  // namespace

BELAY_MODULE(lingers)
