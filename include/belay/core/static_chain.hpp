#ifndef BELAY_CORE_STATIC_CHAIN_HPP
#define BELAY_CORE_STATIC_CHAIN_HPP

// Handlers that are known at compile time. The call inlines into what one would write by hand.
//
//     auto gate = belay::make_static_chain<pre_commit>(not_empty, belay::named({.name = "ticket"}, has_ticket));
//     auto outcome = gate.dispatch({.message = "fix"});

#include <belay/core/detail/folding.hpp>
#include <belay/core/trace.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

namespace belay {

/// A handler with its name, for make_static_chain.
template <class Handler>
struct named_handler {
    handler_info info;
    Handler handler;
};

template <class Handler>
named_handler<Handler> named(handler_info info, Handler handler)
{
    return {std::move(info), std::move(handler)};
}

/// As chain, with a fixed list. Several threads may dispatch at once if the handlers allow it.
template <class E, class... Handler>
class static_chain {
    static_assert(detail::check_event<E>());
    static_assert((detail::check_handler<E, Handler, detail::waits::never>() && ...));

public:
    explicit static_chain(named_handler<Handler>... handlers)
        : info_{std::move(handlers.info)...}, handlers_(std::move(handlers.handler)...)
    {
        std::size_t position = 0;
        for (auto& one : info_) {
            one.position = ++position;
            if (one.name.empty()) one.name = "handler " + std::to_string(position);
        }
    }

    /// Who is told what the handlers do from now on; null: nobody. Must outlive the chain.
    void trace(trace_sink* sink) noexcept { trace_ = sink; }

    static constexpr std::size_t size() noexcept { return sizeof...(Handler); }

    /// Asks every handler until one decides.
    outcome_of<E> dispatch(const E& event)
    {
        detail::folding<E> folding(event, trace_);
        if (folding.traced()) [[unlikely]] {
            ask_traced(folding, std::index_sequence_for<Handler...>());
        } else {
            ask(folding, std::index_sequence_for<Handler...>());
        }
        return std::move(folding).finish();
    }

private:
    template <std::size_t... I>
    void ask(detail::folding<E>& folding, std::index_sequence<I...>)
    {
        (void)((folding.ask_untraced(std::get<I>(handlers_), info_[I]) == flow::proceed) && ...);
    }

    template <std::size_t... I>
    void ask_traced(detail::folding<E>& folding, std::index_sequence<I...>)
    {
        std::size_t asked = 0;
        (void)((++asked, folding.ask(std::get<I>(handlers_), info_[I]) == flow::proceed) && ...);
        while (asked < size()) folding.skip(info_[asked++]);
    }

    std::array<handler_info, sizeof...(Handler)> info_;
    std::tuple<Handler...> handlers_;
    trace_sink* trace_ = nullptr;
};

namespace detail {

template <class T>
struct handler_in {
    using type = T;
    static named_handler<T> name(T handler) { return {{}, std::move(handler)}; }
};
template <class T>
struct handler_in<named_handler<T>> {
    using type = T;
    static named_handler<T> name(named_handler<T> handler) { return handler; }
};

}  // namespace detail

/// Makes a static_chain of handlers, each plain or `named`. A plain one is called "handler N".
template <class E, class... Handler>
auto make_static_chain(Handler... handlers)
{
    return static_chain<E, typename detail::handler_in<Handler>::type...>(
        detail::handler_in<Handler>::name(std::move(handlers))...);
}

}  // namespace belay

#endif
