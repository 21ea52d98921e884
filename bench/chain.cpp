// What a chain costs beside the loop that one would write by hand.

#include <belay/core.hpp>

#include <benchmark/benchmark.h>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

struct call {
    static constexpr std::string_view event_name = "call";
    using answer = std::variant<belay::observe, belay::block>;
    struct outcome {
        std::optional<belay::block> blocked = belay::block{};
    };
    struct fold {
        belay::flow accept(belay::block&& said, const belay::handler_info&, belay::draft<call>&)
        {
            concluded.blocked = std::move(said);
            return belay::flow::stop;
        }
        belay::flow fail(belay::failure&& why, const belay::handler_info&, belay::draft<call>&)
        {
            concluded.blocked = belay::block{std::move(why.message)};
            return belay::flow::stop;
        }
        outcome finish(belay::draft<call>&) && { return std::move(concluded); }
        outcome concluded{std::nullopt};
    };
    std::string tool{};
    std::string command{};
};

// One call in four is of the tool that the handlers look at; none is blocked.
std::vector<call> batch()
{
    std::vector<call> calls;
    for (int i = 0; i != 1024; ++i) {
        calls.push_back(
            {i % 4 == 0 ? "bash" : "read",
             "make -C build/dev test && ls -l build/dev/out /tmp/somewhere/" + std::to_string(i)});
    }
    return calls;
}

struct look_for {
    std::string needle;
    std::optional<belay::block> operator()(const call& event) const
    {
        if (event.tool == "bash" && event.command.find(needle) != std::string::npos)
            return belay::block{"no"};
        return std::nullopt;
    }
};

std::vector<look_for> guards(std::size_t count)
{
    std::vector<look_for> made;
    for (std::size_t i = 0; i != count; ++i) made.push_back({"rm -rf /" + std::to_string(i)});
    return made;
}

template <class Dispatch>
void run(benchmark::State& state, Dispatch&& dispatch)
{
    const auto calls = batch();
    for (auto _ : state) {
        for (const auto& one : calls) benchmark::DoNotOptimize(dispatch(one));
    }
    state.SetItemsProcessed(state.iterations() * static_cast<long>(calls.size()));
}

template <std::size_t N>
void by_hand(benchmark::State& state)
{
    const auto handlers = guards(N);
    run(state, [&](const call& event) {
        call::outcome outcome{std::nullopt};
        for (const auto& one : handlers) {
            if (auto said = one(event)) {
                outcome.blocked = std::move(said);
                break;
            }
        }
        return outcome;
    });
}

template <std::size_t N>
void std_function(benchmark::State& state)
{
    std::vector<std::function<std::optional<belay::block>(const call&)>> handlers;
    for (auto& one : guards(N)) handlers.emplace_back(std::move(one));
    run(state, [&](const call& event) {
        call::outcome outcome{std::nullopt};
        for (const auto& one : handlers) {
            if (auto said = one(event)) {
                outcome.blocked = std::move(said);
                break;
            }
        }
        return outcome;
    });
}

template <std::size_t N>
void chain(benchmark::State& state)
{
    belay::chain<call> handlers;
    for (auto& one : guards(N)) handlers.add({.name = "guard"}, std::move(one));
    run(state, [&](const call& event) { return handlers.dispatch(event); });
}

template <std::size_t... I>
auto fixed(std::index_sequence<I...>)
{
    auto all = guards(sizeof...(I));
    return belay::make_static_chain<call>(std::move(all[I])...);
}

template <std::size_t N>
void static_chain(benchmark::State& state)
{
    auto handlers = fixed(std::make_index_sequence<N>());
    run(state, [&](const call& event) { return handlers.dispatch(event); });
}

}  // namespace

#define HANDLERS(N)             \
    BENCHMARK(by_hand<N>);      \
    BENCHMARK(static_chain<N>); \
    BENCHMARK(chain<N>);        \
    BENCHMARK(std_function<N>)

HANDLERS(1);
HANDLERS(4);
HANDLERS(16);

BENCHMARK_MAIN();
