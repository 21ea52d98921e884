#ifndef BELAY_CORE_DETAIL_ASYNC_HANDLER_HPP
#define BELAY_CORE_DETAIL_ASYNC_HANDLER_HPP

// A handler of an async_chain, erased, and what it has to know of the dispatch that asks it.

#include <belay/core/clock.hpp>
#include <belay/core/detail/chain_fsm.hpp>
#include <belay/core/detail/folding.hpp>
#include <belay/core/handler.hpp>
#include <belay/core/reply.hpp>
#include <belay/core/trace.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace belay {

template <class E>
class any_handler;

namespace detail {

// A dispatch, as far as handlers that answer at once need it.
template <class E>
class asking {
public:
    asking(const E& event, trace_sink* trace, clock& time)
        : folding_(event, trace), fsm_(deadline_of<E>(), time.now()), time_(time)
    {}

    template <class Handler>
    flow ask(Handler& handler, const handler_info& info)
    {
        return folding_.ask(handler, info, [&]() -> std::optional<failure> {
            in_time_ = fsm_.until() == clock::time_point::max() || time_.before(fsm_.until());
            if (in_time_) return std::nullopt;
            now_ = time_.now();
            return late(*now_, info);
        });
    }

protected:
    std::optional<failure> late(clock::time_point when, const handler_info& info) const
    {
        const auto why = fsm_.judge(when);
        return why ? std::optional(overdue(*why, info)) : std::nullopt;
    }

    static failure overdue(errc why, const handler_info& info)
    {
        const bool own = why == errc::timed_out;
        const auto limit = own ? *info.timeout : deadline_of<E>().limit;
        const auto hooks = std::string(E::event_name) + " hooks";
        const auto who = !own ? hooks : info.name.empty() ? "a handler" : info.name;
        return {why, info, who + " timed out after " + std::to_string(limit.count()) + "ms"};
    }

    folding<E> folding_;
    chain_fsm fsm_;
    std::optional<clock::time_point> now_;  // if it was read since the last handler was called
    bool in_time_ = false;                  // no deadline has passed since then

private:
    clock& time_;
};

// A call of a handler that answers later, as its reply sees it.
template <class E>
struct waiting_call : call_base<E> {
    virtual boost::asio::any_io_executor executor() const = 0;
    virtual boost::asio::cancellation_slot slot() noexcept = 0;
};

// A handler, erased. One that answers at once is asked; one that answers later is started.
template <class E>
struct async_handler {
    virtual ~async_handler() = default;
    virtual bool immediate() const noexcept = 0;
    virtual flow ask(asking<E>& dispatch, const handler_info& info) = 0;
    virtual void start(const E& event, reply<E> answer) = 0;
};

template <class E, class Handler>
struct asked_handler final : async_handler<E> {
    explicit asked_handler(Handler h) : handler(std::move(h)) {}
    bool immediate() const noexcept override { return true; }
    flow ask(asking<E>& dispatch, const handler_info& info) override
    {
        return dispatch.ask(handler, info);
    }
    // For a pool, whose threads ask nobody of the dispatch.
    void start(const E& event, reply<E> answer) override
    {
        try {
            if constexpr (std::is_void_v<std::invoke_result_t<Handler&, const E&>>) {
                handler(event);
                answer();
            } else {
                answer(handler(event));
            }
        } catch (...) {
            answer.fail(errc::threw, message_of(std::current_exception()));
        }
    }
    Handler handler;
};

template <class E>
struct later_handler : async_handler<E> {
    bool immediate() const noexcept final { return false; }
    flow ask(asking<E>&, const handler_info&) final { return flow::proceed; }
};

template <class E, class Handler>
struct replying final : later_handler<E> {
    explicit replying(Handler h) : handler(std::move(h)) {}
    void start(const E& event, reply<E> answer) override { handler(event, std::move(answer)); }
    Handler handler;
};

// Defined by <belay/core/coroutine.hpp>.
template <class E, class Handler>
struct awaiting;

template <class E, class Handler>
std::shared_ptr<async_handler<E>> erase_form(Handler handler)
{
    static_assert(check_handler<E, Handler, waits::may>());
    if constexpr (immediate_handler<Handler, E>) {
        return std::make_shared<asked_handler<E, Handler>>(std::move(handler));
    } else if constexpr (replying_handler<Handler, E>) {
        return std::make_shared<replying<E, Handler>>(std::move(handler));
    } else if constexpr (awaiting_handler<Handler, E>) {
        return std::make_shared<awaiting<E, Handler>>(std::move(handler));
    } else {
        return nullptr;  // not reached: check_handler has said why
    }
}

template <class E, class Handler>
std::shared_ptr<async_handler<E>> erase(Handler handler)
{
    if constexpr (std::is_same_v<Handler, any_handler<E>>) {
        return handler.shared();
    } else {
        return erase_form<E>(std::move(handler));
    }
}

}  // namespace detail

template <class E>
auto reply<E>::get_executor() const
{
    return static_cast<const detail::waiting_call<E>&>(*call_).executor();
}

template <class E>
auto reply<E>::get_cancellation_slot() const
{
    return static_cast<detail::waiting_call<E>&>(*call_).slot();
}

}  // namespace belay

#endif
