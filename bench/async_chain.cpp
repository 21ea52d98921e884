// What does an async_chain cost when all its handlers answer at once?
//
// The same handlers on the same calls in three ways: `chain`, which cannot wait; `async_chain`, whose event has a
// deadline, so that the clock is read for each handler; and a coroutine of Asio's for each handler.
// Allocations and posts are counted apart from the timing.

#include <belay/core.hpp>
#include <belay/core/async_chain.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/require.hpp>

#include "question.hpp"
#include "support/allocations.hpp"
#include "tool_calls.hpp"
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;

using bench::look_for;
using bench::ring;
using bench::tool_call;

// An executor that counts what is posted to it; what may run at once is none.
struct counting_executor {
    asio::any_io_executor inner;
    long* posts;

    template <class Property>
    auto require(const Property& property) const
        -> std::enable_if_t<asio::can_require_v<asio::any_io_executor, Property>, counting_executor>
    {
        return {asio::require(inner, property), posts};
    }
    template <class Property>
    auto prefer(const Property& property) const
        -> std::enable_if_t<asio::can_prefer_v<asio::any_io_executor, Property>, counting_executor>
    {
        return {asio::prefer(inner, property), posts};
    }
    template <class Property>
    auto query(const Property& property) const
        -> std::enable_if_t<asio::can_query_v<asio::any_io_executor, Property>,
                            decltype(asio::query(inner, property))>
    {
        return asio::query(inner, property);
    }
    template <class Function>
    void execute(Function&& function) const
    {
        if (asio::query(inner, asio::execution::blocking) == asio::execution::blocking.never)
            ++*posts;
        inner.execute(std::forward<Function>(function));
    }
    friend bool operator==(const counting_executor&, const counting_executor&) noexcept = default;
};

void through_chain(benchmark::State& state, std::size_t handlers)
{
    const auto batch = bench::calls(true);
    belay::chain<tool_call> gate;
    for (std::size_t i = 0; i != handlers; ++i) gate.add({.name = "guard"}, bench::nth_guard(i, 4));
    for (auto _ : state) {
        for (const auto& one : batch) benchmark::DoNotOptimize(gate.dispatch(one));
    }
    state.counters["events"] = static_cast<double>(ring);
}

// One event after the other, each completed before the next begins. Returns how many were let through.
std::size_t dispatch_all(belay::async_chain<tool_call>& gate, asio::io_context& io,
                         const std::vector<tool_call>& batch)
{
    std::size_t passed = 0;
    for (const auto& one : batch) {
        gate.async_dispatch(one, [&](belay::error_code ec, tool_call::outcome outcome) {
            if (!ec && !outcome.blocked) ++passed;
        });
        io.run_one();
    }
    return passed;
}

void through_async_chain(benchmark::State& state, std::size_t handlers)
{
    const auto batch = bench::calls(true);
    asio::io_context io;
    const auto work = asio::make_work_guard(io);
    long posts = 0;
    const auto make = [&](asio::any_io_executor executor) {
        auto gate = std::make_unique<belay::async_chain<tool_call>>(std::move(executor));
        for (std::size_t i = 0; i != handlers; ++i)
            gate->add({.name = "guard"}, bench::nth_guard(i, 4));
        return gate;
    };

    const auto counted = make(counting_executor{io.get_executor(), &posts});
    dispatch_all(*counted, io, batch);  // what is allocated once, and kept
    posts = 0;
    const auto before = bench::allocations();
    if (dispatch_all(*counted, io, batch) != ring)
        return state.SkipWithError("what is allowed did not get through");
    state.counters["allocations"] =
        static_cast<double>(bench::allocations() - before) / static_cast<double>(ring);
    state.counters["posts"] = static_cast<double>(posts) / static_cast<double>(ring);

    const auto gate = make(io.get_executor());
    for (auto _ : state) benchmark::DoNotOptimize(dispatch_all(*gate, io, batch));
    state.counters["events"] = static_cast<double>(ring);
}

asio::awaitable<std::optional<belay::block>> answer(const look_for& handler, const tool_call& event)
{
    co_return handler(event);
}

asio::awaitable<void> await_all(const std::vector<look_for>& handlers,
                                const std::vector<tool_call>& batch, std::size_t& passed)
{
    for (const auto& event : batch) {
        tool_call::outcome concluded{std::nullopt};
        for (const auto& one : handlers) {
            auto said = co_await answer(one, event);
            if (!said) continue;
            concluded.blocked = std::move(said);
            break;
        }
        if (!concluded.blocked) ++passed;
    }
}

void through_coroutines(benchmark::State& state, std::size_t count)
{
    const auto batch = bench::calls(true);
    std::vector<look_for> handlers;
    for (std::size_t i = 0; i != count; ++i) handlers.push_back(bench::nth_guard(i, 4));
    asio::io_context io;
    std::size_t passed = 0;
    for (auto _ : state) {
        asio::co_spawn(io, await_all(handlers, batch, passed), asio::detached);
        io.run();
        io.restart();
    }
    if (passed != ring * static_cast<std::size_t>(state.iterations()))
        state.SkipWithError("what is allowed did not get through");
    state.counters["events"] = static_cast<double>(ring);
}

}  // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv);
    for (const std::size_t handlers : {1U, 4U, 16U, 64U}) {
        const auto parameters = "handlers:" + std::to_string(handlers);
        const auto add = [&](const char* variant, auto measure) {
            program.add(variant, parameters, [=](auto& state) { measure(state, handlers); })
                ->Repetitions(program.quick() ? 11 : 31)
                ->MinTime(0.005);
        };
        add("chain", through_chain);
        add("async_chain", through_async_chain);
        add("coroutines", through_coroutines);
    }
    return program.run(
        {.asks = "What does an async_chain cost when all its handlers answer at once?",
         .limit = "chain",
         .peers = {"coroutines"},
         .goals = {
             {.variant = "async_chain", .against = "chain", .added_per = "handlers", .at_most = 2},
             {.variant = "async_chain",
              .statistic = "allocations",
              .added_per = "handlers",
              .at_most = 0},
             {.variant = "async_chain", .statistic = "posts", .worst = true, .at_most = 1},
         }});
}
