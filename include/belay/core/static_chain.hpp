#ifndef BELAY_CORE_STATIC_CHAIN_HPP
#define BELAY_CORE_STATIC_CHAIN_HPP

// Handlers that are known at compile time. The call inlines into what one would write by hand.
//
//     auto gate = belay::make_static_chain<pre_commit>(not_empty, belay::named({.name = "ticket"}, has_ticket));
//     auto outcome = gate.dispatch({.message = "fix"});

#include <belay/core/detail/folding.hpp>
#include <belay/core/detail/subject_index.hpp>
#include <belay/core/matcher.hpp>
#include <belay/core/trace.hpp>

#include <bitset>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

namespace belay {

/// A handler with its name, for make_static_chain.
template <class Handler>
struct named_handler {
    using handler_type = Handler;
    static constexpr bool matched = false;

    handler_info info;
    Handler handler;
};

/// A handler that is asked only about events of some subjects.
template <class Handler>
struct matched_handler {
    using handler_type = Handler;
    static constexpr bool matched = true;

    handler_info info;
    matcher only_for;
    Handler handler;
};

/// Gives a handler its name.
template <class Handler>
named_handler<Handler> named(handler_info info, Handler handler)
{
    return {std::move(info), std::move(handler)};
}

/// Gives it its name, and the subjects that it is for.
template <class Handler>
matched_handler<Handler> named(handler_info info, matcher only_for, Handler handler)
{
    return {std::move(info), std::move(only_for), std::move(handler)};
}

/// As chain, with a fixed list; each Part is a named_handler or a matched_handler. Several threads may
/// dispatch at once if the handlers allow it.
template <class E, class... Part>
class static_chain {
    static_assert(detail::check_event<E>());
    static_assert((detail::check_handler<E, typename Part::handler_type, detail::waits::never>() &&
                   ...));

    static constexpr bool matched = (Part::matched || ...);
    static constexpr auto each = std::index_sequence_for<Part...>();

public:
    explicit static_chain(Part... parts) : parts_(std::move(parts)...) { number(each); }

    /// Who is told what the handlers do from now on; null: nobody. Must outlive the chain.
    void trace(trace_sink* sink) noexcept { trace_ = sink; }

    static constexpr std::size_t size() noexcept { return sizeof...(Part); }

    /// Asks every handler until one decides.
    outcome_of<E> dispatch(const E& event)
    {
        if (trace_ != nullptr) [[unlikely]]
            return ask_traced(event, each);
        detail::folding<E> folding(event, nullptr);
        if constexpr (matched) {
            ask(folding, wanted_.find(detail::subject_of(event)), each);
        } else {
            ask(folding, each);
        }
        return std::move(folding).finish();
    }

private:
    template <std::size_t... I>
    void number(std::index_sequence<I...>)
    {
        (enter(I, std::get<I>(parts_)), ...);
    }

    template <class P>
    void enter(std::size_t index, P& part)
    {
        part.info.position = index + 1;
        if (part.info.name.empty()) part.info.name = "handler " + std::to_string(index + 1);
        if constexpr (P::matched) {
            static_assert(detail::check_subject<E>());
            wanted_.add(index, part.only_for);
        } else if constexpr (matched) {
            wanted_.add(index, {});
        }
    }

    template <std::size_t... I>
    BELAY_INLINE void ask(detail::folding<E>& folding, std::index_sequence<I...>)
    {
        (void)((ask_one(folding, std::get<I>(parts_)) == flow::proceed) && ...);
    }

    template <std::size_t... I>
    BELAY_INLINE void ask(detail::folding<E>& folding, std::bitset<sizeof...(Part)> wanted,
                          std::index_sequence<I...>)
    {
        if (wanted.none()) return;
        (void)((!wanted[I] || ask_one(folding, std::get<I>(parts_)) == flow::proceed) && ...);
    }

    template <class P>
    BELAY_INLINE static flow ask_one(detail::folding<E>& folding, P& part)
    {
        return folding.ask_untraced(part.handler, part.info);
    }

    // Tells the trace of every handler, also of those that are not asked.
    template <std::size_t... I>
    BELAY_NOINLINE outcome_of<E> ask_traced(const E& event, std::index_sequence<I...>)
    {
        detail::folding<E> folding(event, trace_);
        std::bitset<sizeof...(Part)> wanted;
        if constexpr (matched) {
            wanted = wanted_.find(detail::subject_of(event));
        } else {
            wanted.set();
        }
        auto then = flow::proceed;
        const auto one = [&](std::size_t index, auto& part) {
            if (wanted[index] && then == flow::proceed) {
                then = folding.ask_traced(part.handler, part.info);
            } else {
                folding.skip(part.info, wanted[index]);
            }
        };
        (one(I, std::get<I>(parts_)), ...);
        return std::move(folding).finish();
    }

    std::tuple<Part...> parts_;
    detail::subject_bits<matched ? sizeof...(Part) : 0> wanted_;
    trace_sink* trace_ = nullptr;
};

namespace detail {

template <class T>
struct part_of {
    using type = named_handler<T>;
    static type make(T handler) { return {{}, std::move(handler)}; }
};
template <class T>
struct part_of<named_handler<T>> {
    using type = named_handler<T>;
    static type make(type part) { return part; }
};
template <class T>
struct part_of<matched_handler<T>> {
    using type = matched_handler<T>;
    static type make(type part) { return part; }
};

}  // namespace detail

/// Makes a static_chain of handlers, each plain or `named`. A plain one is called "handler N".
template <class E, class... Handler>
auto make_static_chain(Handler... handlers)
{
    return static_chain<E, typename detail::part_of<Handler>::type...>(
        detail::part_of<Handler>::make(std::move(handlers))...);
}

}  // namespace belay

#endif
