// What does a chain cost beside the loop that one would write by hand?
//
// A batch of 1,000,000 tool calls (a ring of 1,000 different ones), in slices that are shuffled with those
// of all other variants; a quarter of the calls are bash. Each handler compares the tool with its own
// (every fourth handler's is edit) and searches the command for its own needle.

#include <belay/core.hpp>

#include "dispatch_peers.hpp"
#include "question.hpp"
#include "tool_calls.hpp"
#include <memory>
#include <string>
#include <tuple>
#include <utility>

namespace {

using bench::tool_call;

constexpr std::size_t every = 4;

// The limit: handlers whose types are known, each inlined after the other, and the same outcome.
template <std::size_t N>
auto by_hand()
{
    return [handlers = bench::guards<N>(every)](const tool_call& event) {
        tool_call::outcome concluded{std::nullopt};
        const auto decides = [&](const auto& one) {
            auto said = one(event);
            if (!said) return false;
            concluded.blocked = std::move(said);
            return true;
        };
        std::apply([&](const auto&... one) { (void)(decides(one) || ...); }, handlers);
        return concluded;
    };
}

template <std::size_t N>
auto static_chain()
{
    return std::apply(
        [](auto... one) {
            return [gate = belay::make_static_chain<tool_call>(std::move(one)...)](
                       const tool_call& event) mutable { return gate.dispatch(event); };
        },
        bench::guards<N>(every));
}

template <std::size_t N>
auto chain()
{
    auto gate = std::make_shared<belay::chain<tool_call>>();
    bench::for_each(bench::guards<N>(every),
                    [&](auto one) { gate->add({.name = "guard"}, std::move(one)); });
    return [gate](const tool_call& event) { return gate->dispatch(event); };
}

template <std::size_t N>
void add(bench::program& program, bench::script& node)
{
    const auto parameters = "handlers:" + std::to_string(N);
    // Of each variant 1,000,000 calls at least, in slices of some milliseconds.
    constexpr long rounds = N >= 16 ? 20 : 200 / long{N};
    const auto configure = [&](benchmark::internal::Benchmark* one) {
        one->Repetitions(program.quick() ? 15 : 50)->Iterations(rounds);
    };
    const auto variant = [&](const char* name, auto dispatch) {
        configure(
            bench::add_dispatch(program, name, parameters, N, every, true, std::move(dispatch)));
    };
    variant("by hand", by_hand<N>());
    variant("static_chain", static_chain<N>());
    variant("chain", chain<N>());
    bench::add_peers<N>(program, parameters, every, true, node, 20'000, configure);
}

}  // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv);
    bench::script node("node", "chain.mjs");
    add<1>(program, node);
    add<4>(program, node);
    add<16>(program, node);
    add<64>(program, node);

    bench::question asked{
        .asks = "What does a chain cost beside the loop that one would write by hand?",
        .limit = "by hand",
        .peers = bench::dispatch_peers,
        .goals = {
            {.variant = "static_chain", .against = "by hand", .at_most = 1.05},
            {.variant = "chain", .against = "by hand", .where = "handlers:1", .at_most = 1.4},
            {.variant = "chain",
             .against = "by hand",
             .where = "handlers:4,16,64",
             .at_most = 1.25},
        }};
    for (const char* ours : {"static_chain", "chain"}) {
        for (const auto& peer : asked.peers) {
            asked.goals.push_back({.variant = ours,
                                   .against = peer,
                                   .worst = true,
                                   .at_most = peer == "Node" ? 1.0 / 6 : 1.0});
        }
    }
    return program.run(asked);
}
