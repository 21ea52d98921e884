#ifndef BELAY_CORE_ASYNC_CHAIN_HPP
#define BELAY_CORE_ASYNC_CHAIN_HPP

// Handlers that may answer later, with deadlines and cancellation.
//
//     belay::async_chain<pre_tool_use> gate(io.get_executor());
//     gate.add({.name = "review"}, [&](const pre_tool_use& event, belay::reply<pre_tool_use> reply) {
//         ask_somebody(event, [reply = std::move(reply)](bool fine) mutable {
//             if (fine) reply(); else reply(belay::block{"refused"});
//         });
//     });
//     auto outcome = co_await gate.async_dispatch(event, boost::asio::use_awaitable);

#include <belay/core/clock.hpp>
#include <belay/core/detail/flight.hpp>
#include <belay/core/matcher.hpp>
#include <belay/core/trace.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace belay {

/// Asks its handlers about an event, one after another in the order in which they were added. Each
/// may answer at once, through a `reply<E>`, or as a coroutine.
///
/// A handler has until its own `handler_info::timeout`, and until the deadline that `E::deadline`
/// asks for, whichever comes first. One that is overdue is cancelled and abandoned: it has failed
/// (`errc::timed_out`, `errc::deadline`) and the chain moves on at once. A function that blocks the
/// thread past its time has failed likewise when it returns. Handlers that a shared deadline leaves
/// no time for are not started, and fail with `errc::not_started`. What each failure means is said
/// by the fold of the event.
///
/// A `timeout` of zero or less is over at once. What a handler throws is a failure of it.
///
/// All members may be called from any thread. The chain must outlive the start of a dispatch, not
/// its end. If all its handlers answer at once, a dispatch runs them inside the initiating function.
/// Else it runs all of them on a strand of the executor, the first inside the initiating function if
/// that is called there. A dispatch in flight keeps the handlers that it started with, also those
/// that are removed meanwhile, and dispatches may overlap: a handler may be called by several of
/// them at a time, and so may the trace sink.
template <class E>
class async_chain {
    static_assert(detail::check_event<E>());

public:
    using executor_type = boost::asio::any_io_executor;

    /// `time` and `trace` must outlive the dispatches.
    explicit async_chain(executor_type executor, clock& time = clock::steady(),
                         trace_sink* trace = nullptr)
        : executor_(std::move(executor)), time_(time), trace_(trace)
    {}

    executor_type get_executor() const noexcept { return executor_; }

    /// Adds a handler after the others. `info.position` is set by the chain.
    template <class Handler>
    handler_id add(handler_info info, Handler handler)
    {
        return handlers_.add(std::move(info), {}, detail::erase<E>(std::move(handler)));
    }

    /// Adds a handler that is asked only about events of some subjects.
    template <class Handler>
    handler_id add(handler_info info, matcher only_for, Handler handler)
    {
        static_assert(detail::check_subject<E>());
        return handlers_.add(std::move(info), std::move(only_for),
                             detail::erase<E>(std::move(handler)));
    }

    /// Removes a handler; false if there is none of that id (any more).
    bool remove(handler_id id) { return handlers_.remove(id); }

    std::size_t size() const { return handlers_.current()->entries().size(); }

    /// @par Completion signature
    /// `void(error_code, outcome)`, always through a post to the chain's executor.
    ///
    /// @par Errors
    /// `errc::cancelled`, and `errc::threw` if the fold threw, with a default-constructed outcome. What
    /// handlers do wrong is no error of the operation: their event's fold makes it part of the outcome.
    ///
    /// @par Per-operation cancellation
    /// Of any type: cancels and abandons the running handler and completes, whether or not the
    /// handler heeds it. Emit it where the completion handler runs.
    ///
    /// g++ 12 destroys a braced argument twice if it stands inside a `co_await` expression: name the
    /// event first, and move it in.
    template <boost::asio::completion_token_for<void(error_code, outcome_of<E>)> Token =
                  boost::asio::deferred_t>
    [[nodiscard]] auto async_dispatch(E event, Token&& token = Token())
    {
        return boost::asio::async_initiate<Token, void(error_code, outcome_of<E>)>(
            initiation{this}, token, std::move(event));
    }

private:
    struct initiation {
        using executor_type = boost::asio::any_io_executor;

        async_chain* chain;

        executor_type get_executor() const noexcept { return chain->executor_; }

        template <class Completion>
        void operator()(Completion&& completion, E event) const
        {
            using operation = detail::dispatch_op<E, std::decay_t<Completion>>;
            std::make_shared<operation>(
                detail::flight_plan<E>{chain->executor_, chain->time_, chain->trace_,
                                       std::make_shared<const E>(std::move(event)),
                                       chain->handlers_.current()},
                std::forward<Completion>(completion))
                ->start();
        }
    };

    executor_type executor_;
    clock& time_;
    trace_sink* trace_;
    detail::handler_registry<E> handlers_;
};

}  // namespace belay

#endif
