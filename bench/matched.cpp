// What does a chain cost whose handlers say which tool they are for?
//
// As chain.cpp, but all handlers are for bash, and belay is told so; the limit and the peers find out by
// comparing the tool in each handler. A quarter of the calls are bash, or none is.

#include <belay/core.hpp>

#include "dispatch_peers.hpp"
#include "question.hpp"
#include "tool_calls.hpp"
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace {

using bench::tool_call;

constexpr std::size_t every = 0;  // none looks at another tool

// The limit: no index, and each handler inlined after the other.
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

// A handler that is only asked about its tool.
template <std::size_t>
struct search {
    std::string needle;
    std::optional<belay::block> operator()(const tool_call& event) const
    {
        if (event.command.find(needle) != std::string::npos) return belay::block{"no"};
        return std::nullopt;
    }
};

template <std::size_t I>
search<I> only_search(bench::guard<I> one)
{
    return {std::move(one.needle)};
}

template <std::size_t N>
auto static_chain()
{
    return std::apply(
        [](auto... one) {
            return [gate = belay::make_static_chain<tool_call>(belay::named(
                        {.name = "guard"}, belay::exact(one.tool), only_search(one))...)](
                       const tool_call& event) mutable { return gate.dispatch(event); };
        },
        bench::guards<N>(every));
}

template <std::size_t N>
auto chain()
{
    auto gate = std::make_shared<belay::chain<tool_call>>();
    bench::for_each(bench::guards<N>(every), [&](auto one) {
        gate->add({.name = "guard"}, belay::exact(one.tool), only_search(one));
    });
    return [gate](const tool_call& event) { return gate->dispatch(event); };
}

template <std::size_t N>
void add(bench::program& program, bench::script& node, bool with_bash)
{
    const auto parameters =
        "handlers:" + std::to_string(N) + (with_bash ? "/matching:quarter" : "/matching:none");
    const auto configure = [&](benchmark::internal::Benchmark* one) {
        one->Repetitions(program.quick() ? 11 : 31)->MinTime(0.005);
    };
    const auto variant = [&](const char* name, auto dispatch) {
        configure(bench::add_dispatch(program, name, parameters, N, every, with_bash,
                                      std::move(dispatch)));
    };
    variant("by hand", by_hand<N>());
    variant("static_chain", static_chain<N>());
    variant("chain", chain<N>());
    bench::add_peers<N>(program, parameters, every, with_bash, node, 10'000, configure);
}

}  // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv);
    bench::script node("node", "chain.mjs");
    for (const bool with_bash : {true, false}) {
        add<1>(program, node, with_bash);
        add<4>(program, node, with_bash);
        add<16>(program, node, with_bash);
        add<64>(program, node, with_bash);
    }

    bench::question asked{
        .asks = "What does a chain cost whose handlers say which tool they are for?",
        .limit = "by hand",
        .peers = bench::dispatch_peers};
    const std::string some = "handlers:4,16,64/matching:quarter";
    const std::string none = "handlers:4,16,64/matching:none";
    for (const char* ours : {"static_chain", "chain"}) {
        asked.goals.push_back(
            {.variant = ours, .against = "by hand", .where = some, .at_most = 0.8});
        asked.goals.push_back(
            {.variant = ours, .against = "by hand", .where = none, .at_most = 0.3});
    }
    for (const auto& peer : asked.peers) {
        asked.goals.push_back({.variant = "chain",
                               .against = peer,
                               .where = "handlers:4,16,64",
                               .worst = true,
                               .at_most = peer == "Node" ? 1.0 / 6 : 1.0});
    }
    return program.run(asked);
}
