#ifndef BELAY_BENCH_DISPATCH_PEERS_HPP
#define BELAY_BENCH_DISPATCH_PEERS_HPP

// Others that can call the handlers of tool_calls.hpp one after another until one decides.

#include <boost/signals2/signal.hpp>

#include "question.hpp"
#include "tool_calls.hpp"

#if BELAY_BENCH_SIGC
#include <sigc++/sigc++.h>
#endif

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

template <std::size_t N>
auto functions(std::size_t every)
{
    std::vector<std::function<std::optional<belay::block>(const tool_call&)>> handlers;
    for_each(guards<N>(every), [&](auto one) { handlers.emplace_back(std::move(one)); });
    return [handlers = std::move(handlers)](const tool_call& event) {
        tool_call::outcome concluded{std::nullopt};
        for (const auto& one : handlers) {
            if (auto said = one(event)) {
                concluded.blocked = std::move(said);
                break;
            }
        }
        return concluded;
    };
}

// The first slot that decides ends the emission.
struct first_decision {
    using result_type = tool_call::outcome;
    template <class Iterator>
    result_type operator()(Iterator first, Iterator last) const
    {
        tool_call::outcome concluded{std::nullopt};
        for (; first != last; ++first) {
            std::optional<belay::block> said = *first;
            if (!said) continue;
            concluded.blocked = std::move(said);
            break;
        }
        return concluded;
    }
};

template <std::size_t N>
auto signals2(std::size_t every)
{
    using signal =
        boost::signals2::signal<std::optional<belay::block>(const tool_call&), first_decision>;
    auto handlers = std::make_shared<signal>();
    for_each(guards<N>(every), [&](auto one) { handlers->connect(std::move(one)); });
    return [handlers](const tool_call& event) { return (*handlers)(event); };
}

#if BELAY_BENCH_SIGC
template <std::size_t N>
auto sigc_signal(std::size_t every)
{
    using signal =
        sigc::signal<std::optional<belay::block>(const tool_call&)>::accumulated<first_decision>;
    auto handlers = std::make_shared<signal>();
    for_each(guards<N>(every), [&](auto one) { handlers->connect(std::move(one)); });
    return [handlers](const tool_call& event) { return handlers->emit(event); };
}
#endif

inline const std::vector<std::string> dispatch_peers = {"std::function", "Signals2", "sigc++",
                                                        "Node"};

/// Adds the peers of `N` handlers.
template <std::size_t N, class Configure>
void add_peers(program& into, const std::string& parameters, std::size_t every, bool with_bash,
               script& node, std::int64_t node_events, Configure configure)
{
    const auto add = [&](const char* variant, auto dispatch) {
        configure(
            add_dispatch(into, variant, parameters, N, every, with_bash, std::move(dispatch)));
    };
    add("std::function", functions<N>(every));
    add("Signals2", signals2<N>(every));
#if BELAY_BENCH_SIGC
    add("sigc++", sigc_signal<N>(every));
#else
    into.missing("sigc++", parameters, "libsigc++-3.0-dev is not installed");
#endif
    into.add_peer("Node", parameters, node, node_events);
}

}  // namespace bench

#endif
