#ifndef BELAY_CORE_IMPL_OBSERVER_GROUP_IPP
#define BELAY_CORE_IMPL_OBSERVER_GROUP_IPP

#include <belay/core/detail/observer_group_state.hpp>
#include <belay/core/detail/time_after.hpp>
#include <belay/core/detail/waiting_handler.hpp>
#include <belay/core/observer_group.hpp>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <limits>

namespace belay {
namespace detail {

// One drain, on a strand of its own. The timer keeps it alive, also after the budget.
class drain_op : public std::enable_shared_from_this<drain_op> {
public:
    using handler_type = waiting_handler<std::size_t>::handler_type;

    drain_op(observer_group_ptr group, handler_type handler)
        : group_(std::move(group)),
          strand_(boost::asio::make_strand(group_->executor)),
          handler_(waiting_handler<std::size_t>::make(strand_, std::move(handler))),
          before_(group_->cut_so_far())
    {}

    void launch(std::chrono::milliseconds budget)
    {
        boost::asio::dispatch(strand_,
                              [self = shared_from_this(), budget] { self->start(budget); });
    }

    // An observer has ended; from any thread.
    void announce()
    {
        boost::asio::post(strand_, [self = shared_from_this()] { self->check(); });
    }

private:
    // Sees the event loop die.
    struct timer_handler {
        using executor_type = boost::asio::any_io_executor;

        explicit timer_handler(std::shared_ptr<drain_op> drain) noexcept
            : owner(std::move(drain)), strand(owner->strand_)
        {}
        timer_handler(timer_handler&&) noexcept = default;
        ~timer_handler()
        {
            if (owner) owner->handler_->forget();
        }
        void operator()(error_code ec)
        {
            const auto self = std::move(owner);
            if (ec || !self->handler_->pending()) return;
            self->cut();
            self->check();
        }
        executor_type get_executor() const noexcept { return strand; }

        std::shared_ptr<drain_op> owner;
        executor_type strand;
    };

    void start(std::chrono::milliseconds budget)
    {
        handler_->on_cancel([weak = weak_from_this()] {
            if (const auto self = weak.lock()) self->finish(errc::cancelled);
        });
        group_->add(shared_from_this());
        timer_ = group_->time.make_timer(group_->executor);
        if (budget.count() > 0) {
            wait_until(time_after(group_->time.now(), budget));
        } else {
            cut();
        }
        check();
    }

    void check()
    {
        if (handler_->pending() && group_->none_up_to(last_)) finish({});
    }

    // Those that are cut end soon, each on its own strand, and that is waited for.
    void cut()
    {
        wait_until(clock::time_point::max());
        last_ = group_->cut_all();
    }

    void finish(error_code ec)
    {
        handler_->complete(ec, group_->cut_so_far() - before_);
        timer_.reset();
    }

    void wait_until(clock::time_point when)
    {
        timer_->async_wait(when, timer_handler(shared_from_this()));
    }

    const observer_group_ptr group_;
    const boost::asio::any_io_executor strand_;
    const waiting_ptr<std::size_t> handler_;
    const std::size_t before_;  // that were cut
    observer_group_state::run_id last_ =
        std::numeric_limits<observer_group_state::run_id>::max();  // whose end it waits for
    std::unique_ptr<clock::timer> timer_;
};

BELAY_DECL observer_group_state::observer_group_state(boost::asio::any_io_executor where,
                                                      clock& which)
    : executor(std::move(where)), time(which)
{}

BELAY_DECL observer_group_state::run_id observer_group_state::enter(std::weak_ptr<observer_run> run)
{
    const std::lock_guard lock(mutex_);
    running_.emplace(last_ + 1, std::move(run));
    return ++last_;
}

BELAY_DECL void observer_group_state::finished(run_id which, bool was_cut)
{
    std::vector<std::shared_ptr<drain_op>> drains;
    {
        const std::lock_guard lock(mutex_);
        if (running_.erase(which) == 0) return;
        if (was_cut) ++cut_;
        for (const auto& one : drains_) {
            if (auto drain = one.lock()) drains.push_back(std::move(drain));
        }
    }
    for (const auto& drain : drains) drain->announce();
}

BELAY_DECL void observer_group_state::gone(run_id which) noexcept
{
    const std::lock_guard lock(mutex_);
    running_.erase(which);
}

BELAY_DECL std::size_t observer_group_state::running() const
{
    const std::lock_guard lock(mutex_);
    return running_.size();
}

BELAY_DECL bool observer_group_state::none_up_to(run_id last) const
{
    const std::lock_guard lock(mutex_);
    return running_.empty() || running_.begin()->first > last;
}

BELAY_DECL observer_group_state::run_id observer_group_state::cut_all()
{
    run_id last = 0;
    std::vector<std::shared_ptr<observer_run>> runs;  // they end, and go, outside of the lock
    {
        const std::lock_guard lock(mutex_);
        last = last_;
        for (const auto& [id, weak] : running_) {
            if (auto run = weak.lock()) runs.push_back(std::move(run));
        }
    }
    for (const auto& run : runs) run->cut();
    return last;
}

BELAY_DECL std::size_t observer_group_state::cut_so_far() const
{
    const std::lock_guard lock(mutex_);
    return cut_;
}

BELAY_DECL void observer_group_state::add(const std::shared_ptr<drain_op>& drain)
{
    const std::lock_guard lock(mutex_);
    std::erase_if(drains_, [](const auto& one) { return one.expired(); });
    drains_.push_back(drain);
}

BELAY_DECL void drain_observers(
    observer_group_ptr group, std::chrono::milliseconds budget,
    boost::asio::any_completion_handler<void(error_code, std::size_t)> handler)
{
    std::make_shared<drain_op>(std::move(group), std::move(handler))->launch(budget);
}

}  // namespace detail

BELAY_DECL observer_group::observer_group(executor_type executor, clock& time)
    : state_(std::make_shared<detail::observer_group_state>(std::move(executor), time))
{}

BELAY_DECL observer_group::executor_type observer_group::get_executor() const noexcept
{
    return state_->executor;
}

BELAY_DECL clock& observer_group::get_clock() const noexcept
{
    return state_->time;
}

BELAY_DECL std::size_t observer_group::running() const
{
    return state_->running();
}

}  // namespace belay

#endif
