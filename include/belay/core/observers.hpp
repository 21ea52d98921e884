#ifndef BELAY_CORE_OBSERVERS_HPP
#define BELAY_CORE_OBSERVERS_HPP

// Handlers of an event that only notifies: all start together, and nobody waits for them (but a host
// that shuts down may: <belay/core/observer_group.hpp>).
//
//     belay::observers<session_end> watchers(io.get_executor());
//     watchers.add({.name = "ledger"}, [](const session_end& event) { write(event); });
//     watchers.notify(event, [](const belay::failure& why) { log(why); });

#include <belay/core/async_chain.hpp>
#include <belay/core/detail/observer_group_state.hpp>
#include <belay/core/matcher.hpp>
#include <belay/core/observer_group.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace belay {
namespace detail {

// The dispatch of one event to one observer, which its group knows of from `enter` to its end.
template <class E>
class observer_flight final : public flight<E>, public observer_run {
public:
    using failure_handler = std::function<void(const failure&)>;

    observer_flight(flight_plan<E> plan, std::shared_ptr<const failure_handler> on_failure,
                    observer_group_ptr group) noexcept
        : flight<E>(std::move(plan)), on_failure_(std::move(on_failure)), group_(std::move(group))
    {}

    ~observer_flight() override { group_->gone(id_); }

    void enter()
    {
        id_ = group_->enter(std::static_pointer_cast<observer_flight>(this->shared_from_this()));
    }

    void cut() override { this->cancel(); }

private:
    void complete(error_code ec, outcome_of<E> outcome) override
    {
        const bool was_cut = ec == errc::cancelled;
        try {
            if (*on_failure_) report(outcome, was_cut);
        } catch (...) {
            group_->finished(id_, was_cut);
            throw;
        }
        group_->finished(id_, was_cut);
    }

    void report(const outcome_of<E>& outcome, bool was_cut)
    {
        for (const auto& why : outcome.failures) (*on_failure_)(why);
        if (!was_cut) return;
        const auto& plan = this->plan();
        (*on_failure_)({errc::cancelled, plan.only->info, "it was cut off before it had ended"});
    }

    void forget() noexcept override {}

    const std::shared_ptr<const failure_handler> on_failure_;
    const observer_group_ptr group_;
    observer_group_state::run_id id_ = 0;
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

    /// In a group of their own. `time` and `trace` must outlive what was notified.
    explicit observers(executor_type executor, clock& time = clock::steady(),
                       trace_sink* trace = nullptr)
        : observers(observer_group(std::move(executor), time), trace)
    {}

    /// On the executor of a group, which others may belong to, too, and with its clock.
    explicit observers(observer_group group, trace_sink* trace = nullptr)
        : group_(std::move(group)), trace_(trace)
    {}

    executor_type get_executor() const noexcept { return group_.get_executor(); }

    /// Whom a host asks that shuts down.
    const observer_group& group() const noexcept { return group_; }

    /// Adds a handler after the others. `info.position` is set here.
    template <class Handler>
    handler_id add(handler_info info, Handler handler)
    {
        return handlers_.add(std::move(info), {}, detail::erase<E>(std::move(handler)));
    }

    /// Adds a handler that is told only about events of some subjects.
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

    /// Starts every handler and returns. `on_failure`, if given, is called on the executor once for
    /// each that fails, at any time later, so it owns or outlives what it uses; if several threads run
    /// the executor, perhaps by several at once.
    ///
    /// A handler that has not answered is work of the executor: give it a timeout, or it keeps the
    /// event loop running for as long as it likes.
    void notify(E event, std::function<void(const failure&)> on_failure = {})
    {
        const auto handlers = handlers_.current();
        if (handlers->entries().empty()) return;
        using one_flight = detail::observer_flight<E>;
        const auto executor = get_executor();
        const auto told = std::make_shared<const E>(std::move(event));
        const auto report =
            std::make_shared<const typename one_flight::failure_handler>(std::move(on_failure));
        const auto subject = detail::subject_of(*told);
        if (trace_ != nullptr) {
            for (const auto& one : handlers->entries()) {
                if (!one->only_for.matches(subject))
                    detail::trace_skip<E>(*trace_, one->info, false);
            }
        }
        auto wanted = handlers->find(subject);
        while (const auto* handler = wanted.next()) {
            auto one = std::make_shared<one_flight>(
                detail::flight_plan<E>{executor, group_.get_clock(), trace_, told, {}, *handler},
                report, group_.state());
            one->enter();
            boost::asio::post(executor, [one = std::move(one)] { one->run(); });
        }
    }

private:
    observer_group group_;
    trace_sink* trace_;
    detail::handler_registry<E> handlers_;
};

}  // namespace belay

#endif
