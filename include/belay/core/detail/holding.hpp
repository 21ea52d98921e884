#ifndef BELAY_CORE_DETAIL_HOLDING_HPP
#define BELAY_CORE_DETAIL_HOLDING_HPP

// A completion handler that keeps something alive until it is called.

#include <boost/asio/associator.hpp>

#include <memory>
#include <utility>

namespace belay::detail {

template <class Handler>
struct holding {
    Handler handler;
    std::shared_ptr<const void> held;

    template <class... Args>
    void operator()(Args&&... args)
    {
        held.reset();
        std::move(handler)(std::forward<Args>(args)...);
    }
};

}  // namespace belay::detail

// Its executor, allocator and cancellation slot are those of the handler.
template <template <class, class> class Associator, class Handler, class Default>
struct boost::asio::associator<Associator, belay::detail::holding<Handler>, Default>
    : Associator<Handler, Default> {
    static auto get(const belay::detail::holding<Handler>& one) noexcept
    {
        return Associator<Handler, Default>::get(one.handler);
    }
    static auto get(const belay::detail::holding<Handler>& one, const Default& other) noexcept
    {
        return Associator<Handler, Default>::get(one.handler, other);
    }
};

#endif
