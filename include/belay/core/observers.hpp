#ifndef BELAY_CORE_OBSERVERS_HPP
#define BELAY_CORE_OBSERVERS_HPP

// Handlers of an event that only notifies: all start together, and nobody waits for them.
//
//     belay::observers<session_end> watchers(io.get_executor());
//     watchers.add({.name = "ledger"}, [](const session_end& event) { write(event); });
//     watchers.notify(event, [](const belay::failure& why) { log(why); });

#include <belay/core/async_chain.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace belay {
namespace detail {

// The dispatch of one event to one observer.
template <class E>
class observer_flight final : public flight<E> {
public:
    observer_flight(flight_plan<E> plan,
                    std::shared_ptr<const std::function<void(const failure&)>> on_failure) noexcept
        : flight<E>(std::move(plan)), on_failure_(std::move(on_failure))
    {}

private:
    void complete(error_code, outcome_of<E> outcome) override
    {
        if (!*on_failure_) return;
        for (const auto& why : outcome.failures) (*on_failure_)(why);
    }

    void forget() noexcept override {}

    std::shared_ptr<const std::function<void(const failure&)>> on_failure_;
};

}  // namespace detail

/// Tells its handlers about an event. They start in the order in which they were added, never
/// inside the caller of `notify`; one that fails or hangs does not touch another. Each has its own
/// `handler_info::timeout`, and the deadline that E asks for.
///
/// All members may be called from any thread.
template <class E>
class observers {
    static_assert(detail::check_event<E>());
    static_assert(std::is_same_v<outcome_of<E>, notified>,
                  "belay: only an event that notifies can have observers; let its fold be "
                  "belay::notify_fold<E>, or use an async_chain");

public:
    using executor_type = boost::asio::any_io_executor;

    /// `time` and `trace` must outlive what was notified.
    explicit observers(executor_type executor, clock& time = clock::steady(),
                       trace_sink* trace = nullptr)
        : executor_(std::move(executor)), time_(time), trace_(trace)
    {}

    executor_type get_executor() const noexcept { return executor_; }

    /// Adds a handler after the others. `info.position` is set here.
    template <class Handler>
    handler_id add(handler_info info, Handler handler)
    {
        return handlers_.add(std::move(info), detail::erase<E>(std::move(handler)));
    }

    /// Removes a handler; false if there is none of that id (any more).
    bool remove(handler_id id) { return handlers_.remove(id); }

    std::size_t size() const { return handlers_.list()->entries.size(); }

    /// Starts every handler and returns. `on_failure`, if given, is called on the executor once for
    /// each that fails, at any time later, so it owns or outlives what it uses; if several threads run
    /// the executor, perhaps by several at once.
    ///
    /// A handler that has not answered is work of the executor: give it a timeout, or it keeps the
    /// event loop running for as long as it likes.
    void notify(E event, std::function<void(const failure&)> on_failure = {})
    {
        const auto handlers = handlers_.list();
        if (handlers->entries.empty()) return;
        const auto told = std::make_shared<const E>(std::move(event));
        const auto report =
            std::make_shared<const std::function<void(const failure&)>>(std::move(on_failure));
        for (std::size_t i = 0; i != handlers->entries.size(); ++i) {
            auto one = std::make_shared<detail::observer_flight<E>>(
                detail::flight_plan<E>{executor_, time_, trace_, told, handlers, i, i + 1}, report);
            boost::asio::post(executor_, [one = std::move(one)] { one->run(); });
        }
    }

private:
    executor_type executor_;
    clock& time_;
    trace_sink* trace_;
    detail::handler_registry<E> handlers_;
};

}  // namespace belay

#endif
