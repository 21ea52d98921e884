// Handlers that take their time: a coroutine, one that replies later, and one that is too slow.

#include <belay/core/async_chain.hpp>
#include <belay/core/coroutine.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct deployment {
    static constexpr std::string_view event_name = "deployment";
    static constexpr auto deadline = belay::shared_deadline(30s);  // for all handlers together

    using answer = std::variant<belay::observe, belay::block>;
    struct fold;

    std::string target;
};

struct deployment::fold {
    // A dispatch that is cancelled delivers the default, so the default refuses.
    struct verdict {
        std::optional<belay::block> refused = belay::block{"nobody was asked"};
    };

    belay::flow accept(belay::block&& said, const belay::handler_info&, belay::draft<deployment>&)
    {
        verdict_.refused = std::move(said);
        return belay::flow::stop;
    }

    belay::flow fail(belay::failure&& why, const belay::handler_info&, belay::draft<deployment>&)
    {
        verdict_.refused = belay::block{std::move(why.message)};
        return belay::flow::stop;
    }

    verdict finish(belay::draft<deployment>&) && { return std::move(verdict_); }

private:
    verdict verdict_{.refused = std::nullopt};
};

// A coroutine. The event stays valid until it has answered.
asio::awaitable<std::optional<belay::block>> freeze(const deployment& event)
{
    asio::steady_timer calendar(co_await asio::this_coro::executor, 10ms);
    co_await calendar.async_wait(asio::use_awaitable);
    if (event.target == "harbour") co_return belay::block{"no changes before the regatta"};
    co_return std::nullopt;
}

// Answers through a reply, from wherever the answer turns up.
void sign_off(const deployment&, belay::reply<deployment> reply)
{
    auto captain = std::make_shared<asio::steady_timer>(reply.get_executor(), 10ms);
    captain->async_wait(
        [captain, reply = std::move(reply)](belay::error_code) mutable { reply(); });
}

// Waits for somebody who is not there. Past its deadline it is cancelled, and the chain moves on.
asio::awaitable<void> inspection(const deployment& event)
{
    if (event.target != "dockyard") co_return;
    asio::steady_timer inspector(co_await asio::this_coro::executor, 1h);
    co_await inspector.async_wait(asio::use_awaitable);
}

int main()
{
    asio::io_context loop;
    belay::async_chain<deployment> gate(loop.get_executor());
    gate.add({.name = "freeze"}, freeze);
    gate.add({.name = "sign-off"}, sign_off);
    gate.add({.name = "inspection", .timeout = 50ms}, inspection);

    for (const auto* target : {"lighthouse", "harbour", "dockyard"}) {
        gate.async_dispatch({target}, [target](belay::error_code, deployment::fold::verdict said) {
            std::printf("%s: %s\n", target, said.refused ? said.refused->reason.c_str() : "go");
        });
    }
    loop.run();
}
