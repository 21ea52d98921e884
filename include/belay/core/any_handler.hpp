#ifndef BELAY_CORE_ANY_HANDLER_HPP
#define BELAY_CORE_ANY_HANDLER_HPP

// A handler of whatever form, as a value: for a host's options, which name one before there is a chain.
//
//     belay::any_handler<pre_turn> greet = [](const pre_turn&) {
//         return pre_turn::mutate{.context = "good morning"};
//     };
//     chain.add({.name = "greet"}, greet);

#include <belay/core/detail/async_handler.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace belay {

/// One handler of E, of any form that an async_chain takes, or none, as an empty std::function or a
/// null pointer is. Copies share it, so chains that have a copy may call it at the same time. Add it
/// to async_chains and observers, unless it is none.
template <class E>
class any_handler {
public:
    /// None.
    any_handler() noexcept = default;

    template <class Handler>
        requires(!std::same_as<std::remove_cvref_t<Handler>, any_handler>)
    any_handler(Handler&& handler)
    {
        static_assert(detail::check_event<E>());  // here: not for a mere member of this type
        if constexpr (std::is_assignable_v<std::decay_t<Handler>&, std::nullptr_t>) {
            if (handler == nullptr) return;
        }
        shared_ = detail::erase<E>(std::decay_t<Handler>(std::forward<Handler>(handler)));
    }

    /// From a chain.
    explicit any_handler(std::shared_ptr<detail::async_handler<E>> shared) noexcept
        : shared_(std::move(shared))
    {}

    explicit operator bool() const noexcept { return shared_ != nullptr; }

    /// For the chains.
    const std::shared_ptr<detail::async_handler<E>>& shared() const noexcept { return shared_; }

private:
    std::shared_ptr<detail::async_handler<E>> shared_;
};

}  // namespace belay

#endif
