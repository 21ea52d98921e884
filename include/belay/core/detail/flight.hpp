#ifndef BELAY_CORE_DETAIL_FLIGHT_HPP
#define BELAY_CORE_DETAIL_FLIGHT_HPP

// One dispatch of an async_chain: chain_fsm says what is next, and a flight does it.

#include <belay/core/clock.hpp>
#include <belay/core/detail/async_handler.hpp>
#include <belay/core/detail/chain_fsm.hpp>
#include <belay/core/detail/folding.hpp>
#include <belay/core/detail/post_completion.hpp>
#include <belay/core/detail/subject_index.hpp>
#include <belay/core/detail/time_after.hpp>
#include <belay/core/handler.hpp>
#include <belay/core/matcher.hpp>
#include <belay/core/reply.hpp>
#include <belay/core/trace.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace belay {
namespace detail {

template <class E>
class flight;

// The handlers of a chain at one moment. A dispatch keeps the list that it started with.
template <class E>
class handler_list {
public:
    struct entry {
        std::shared_ptr<async_handler<E>> handler;
        handler_info info;
        matcher only_for;
        handler_id id;
        bool immediate;  // what the handler says of itself
    };
    // Lists share their entries, and so does a handler that outlives its dispatch: it keeps no other.
    using entry_pointer = std::shared_ptr<const entry>;
    using cursor = typename subject_index<entry_pointer>::cursor;

    handler_list() = default;
    explicit handler_list(std::vector<entry_pointer> entries) : entries_(std::move(entries))
    {
        std::size_t position = 0;
        for (auto& one : entries_) {
            if (one->info.position != ++position) {
                auto moved = std::make_shared<entry>(*one);
                moved->info.position = position;
                one = std::move(moved);
            }
            waits_ = waits_ || !one->immediate;
            index_.add(one);
        }
    }
    handler_list(const handler_list&) = delete;
    handler_list& operator=(const handler_list&) = delete;

    const std::vector<entry_pointer>& entries() const noexcept { return entries_; }

    // Those that are for a subject.
    cursor find(std::string_view subject) const { return index_.find(subject); }

    // Whether one of them answers later.
    bool waits() const noexcept { return waits_; }

private:
    std::vector<entry_pointer> entries_;
    subject_index<entry_pointer> index_;
    bool waits_ = false;
};

// The list that a chain has now. Changing it makes a new one; the old one, and with it a handler that
// was removed, is destroyed outside the lock, since its destructor may come back here.
template <class E>
class handler_registry {
public:
    using list = handler_list<E>;
    using list_pointer = std::shared_ptr<const list>;

    handler_registry() = default;
    handler_registry(const handler_registry&) = delete;
    handler_registry& operator=(const handler_registry&) = delete;
    ~handler_registry() { const auto last = std::exchange(list_, std::make_shared<list>()); }

    handler_id add(handler_info info, matcher only_for, std::shared_ptr<async_handler<E>> handler)
    {
        std::unique_lock lock(mutex_);
        const auto id = static_cast<handler_id>(++last_id_);
        auto entries = list_->entries();
        info.position = entries.size() + 1;
        const bool immediate = handler->immediate();
        entries.push_back(std::make_shared<const typename list::entry>(typename list::entry{
            std::move(handler), std::move(info), std::move(only_for), id, immediate}));
        const auto before = std::exchange(list_, std::make_shared<list>(std::move(entries)));
        lock.unlock();
        return id;
    }

    bool remove(handler_id id)
    {
        std::unique_lock lock(mutex_);
        auto entries = list_->entries();
        const auto is_it = [&](const auto& one) { return one->id == id; };
        if (std::erase_if(entries, is_it) == 0) return false;
        const auto before = std::exchange(list_, std::make_shared<list>(std::move(entries)));
        lock.unlock();
        return true;
    }

    list_pointer current() const
    {
        const std::lock_guard lock(mutex_);
        return list_;
    }

private:
    mutable std::mutex mutex_;
    list_pointer list_ = std::make_shared<list>();
    unsigned long long last_id_ = 0;
};

// One call of a handler that answers later. It may outlive its dispatch, and keeps alive what the
// handler may still touch: the handler, its info, its version of the event, its cancellation signal.
template <class E>
class pending_call final : public waiting_call<E> {
public:
    using time_point = clock::time_point;
    using said = typename call_base<E>::said;
    using failed = typename call_base<E>::failed;
    using entry = typename handler_list<E>::entry;

    pending_call(std::weak_ptr<flight<E>> owner, std::shared_ptr<const entry> handler,
                 std::shared_ptr<const E> event, time_point deadline, clock& time) noexcept
        : owner_(std::move(owner)),
          handler_(std::move(handler)),
          event_(std::move(event)),
          deadline_(deadline),
          clock_(time)
    {}

    void start(const std::shared_ptr<pending_call>& self)
    {
        try {
            handler_->handler->start(*event_, reply<E>(self));
        } catch (...) {
            // Whatever it had said before it threw does not count.
            settle(failed{errc::threw, message_of(std::current_exception())}, true);
        }
    }

    void settle(said what) noexcept override { settle(std::move(what), false); }

    bool open() const noexcept override
    {
        const std::lock_guard lock(mutex_);
        return state_ != state::closed && !said_;
    }

    const handler_info& info() const noexcept override { return handler_->info; }

    boost::asio::any_io_executor executor() const override
    {
        const auto owner = owner_.lock();
        return owner ? owner->get_executor() : boost::asio::any_io_executor();
    }
    boost::asio::cancellation_slot slot() noexcept override { return stop_.slot(); }

    time_point deadline() const noexcept override
    {
        const std::lock_guard lock(mutex_);
        return turn_ ? time_point::max() : deadline_;
    }

    void await_turn(std::chrono::milliseconds at_most, std::string what) noexcept override
    {
        const std::lock_guard lock(mutex_);
        if (!turn_) turn_.emplace(turn{clock_.now(), at_most, std::move(what)});
    }

    bool begin() noexcept override
    {
        const std::lock_guard lock(mutex_);
        if (state_ == state::closed || said_) return false;
        if (turn_) {
            end_wait(clock_.now());
            tell();
        }
        return true;
    }

    // On the strand of the dispatch from here on.

    // False if there is news already; else it will be announced.
    bool await() noexcept
    {
        const std::lock_guard lock(mutex_);
        if (said_ || waited_) return false;
        state_ = state::waiting;
        return true;
    }

    bool answered() const noexcept
    {
        const std::lock_guard lock(mutex_);
        return said_.has_value();
    }

    // Until when it waits for its turn, if it does.
    std::optional<time_point> awaits_turn_until() const noexcept
    {
        const std::lock_guard lock(mutex_);
        return turn_ ? std::optional(turn_->until()) : std::nullopt;
    }

    // If it waits for its turn, and has done so for too long by `now`: why it is closed.
    std::optional<std::string> give_up_turn(time_point now)
    {
        const std::lock_guard lock(mutex_);
        if (!turn_ || now < turn_->until()) return std::nullopt;
        auto why = "no " + turn_->what + " was free within " +
                   std::to_string(turn_->at_most.count()) + "ms";
        end_wait(now);
        state_ = state::closed;
        return why;
    }

    // How long it had to wait for its turn, once that has come; says it once.
    std::optional<time_point::duration> take_waited() noexcept
    {
        const std::lock_guard lock(mutex_);
        return std::exchange(waited_, std::nullopt);
    }

    // Nothing that is said from now on counts. Whether it had been answered.
    bool close() noexcept
    {
        const std::lock_guard lock(mutex_);
        state_ = state::closed;
        return said_.has_value();
    }

    said& answer() noexcept { return *said_; }  // if answered()
    time_point answered_at() const noexcept { return answered_at_; }
    boost::asio::cancellation_signal& stop() noexcept { return stop_; }

private:
    enum class state : unsigned char { starting, waiting, closed };

    struct turn {
        time_point since;
        std::chrono::milliseconds at_most;
        std::string what;  // is waited for

        time_point until() const noexcept { return time_after(since, at_most); }
    };

    void settle(said what, bool overrule) noexcept
    {
        const std::lock_guard lock(mutex_);
        if (state_ == state::closed || (said_ && !overrule)) return;
        said_.emplace(std::move(what));
        answered_at_ = clock_.now();
        if (turn_) end_wait(answered_at_);
        tell();
    }

    void end_wait(time_point now) noexcept
    {
        const auto waited = now - turn_->since;
        turn_.reset();
        waited_ = waited_.value_or(time_point::duration::zero()) + waited;
        if (deadline_ != time_point::max()) deadline_ += waited;
    }

    // Still under the lock: the dispatch closes its calls before its executor can go.
    void tell() noexcept
    {
        if (state_ != state::waiting) return;
        if (auto owner = owner_.lock()) owner->announce();
    }

    mutable std::mutex mutex_;
    state state_ = state::starting;
    std::optional<said> said_;
    time_point answered_at_{};
    const std::weak_ptr<flight<E>> owner_;
    const std::shared_ptr<const entry> handler_;
    const std::shared_ptr<const E> event_;
    time_point deadline_;
    std::optional<turn> turn_;  // that it waits for
    std::optional<time_point::duration> waited_;
    clock& clock_;
    boost::asio::cancellation_signal stop_;
};

// What a dispatch is made of.
template <class E>
struct flight_plan {
    boost::asio::any_io_executor executor;
    clock& time;
    trace_sink* trace;
    std::shared_ptr<const E> event;
    std::shared_ptr<const handler_list<E>> handlers;    // it asks those for the event's subject
    typename handler_list<E>::entry_pointer only = {};  // without `handlers`: this one
};

// One dispatch. If all handlers of the chain answer at once it runs to its end where it was
// started; else it runs on a strand of its own, and is at each moment in one of these states:
//
//     advancing    running_ is null, or the call whose handler is being started or concluded
//     waiting      idle_; running_ is the call, armed_for_ is the same call; the timer's handler
//                  owns the dispatch, and the call has promised to announce its answer, and that
//                  its turn has come
//     over         running_ is null, the completion handler is gone
//
// resume() takes it from waiting to advancing, whoever calls it and however often.
template <class E>
class flight : public asking<E>, public std::enable_shared_from_this<flight<E>> {
public:
    explicit flight(flight_plan<E> plan)
        : asking<E>(*plan.event, plan.trace, plan.time), plan_(std::move(plan))
    {
        if (plan_.handlers) wanted_.emplace(plan_.handlers->find(subject_of(*plan_.event)));
        const bool waits = plan_.handlers ? plan_.handlers->waits() : !plan_.only->immediate;
        if (waits) strand_.emplace(plan_.executor);
    }

    virtual ~flight() = default;

    void run()
    {
        if (!strand_) return advance();
        boost::asio::dispatch(*strand_, [self = this->shared_from_this()] { self->advance(); });
    }

    // From any thread.
    void cancel()
    {
        cancelled_ = true;
        if (strand_) announce();
    }

    // Something has happened that a waiting dispatch wants to know; from any thread.
    void announce()
    {
        boost::asio::post(*strand_, [self = this->shared_from_this()] { self->resume(); });
    }

    boost::asio::any_io_executor get_executor() const { return *strand_; }

protected:
    const boost::asio::any_io_executor& io_executor() const noexcept { return plan_.executor; }
    const flight_plan<E>& plan() const noexcept { return plan_; }

private:
    using timer_strand = boost::asio::strand<boost::asio::any_io_executor>;
    using entry_pointer = typename handler_list<E>::entry_pointer;

    using asking<E>::folding_;
    using asking<E>::fsm_;
    using asking<E>::now_;
    using asking<E>::in_time_;
    using asking<E>::late;
    using asking<E>::overdue;

    // Owns the dispatch while it waits. If the event loop dies first, so does this, and with it
    // everything of the dispatch that needs the loop.
    struct timer_handler {
        using executor_type = timer_strand;

        timer_handler(std::shared_ptr<flight> f, std::shared_ptr<pending_call<E>> c) noexcept
            : owner(std::move(f)), waited(std::move(c)), strand(*owner->strand_)
        {}
        timer_handler(timer_handler&&) noexcept = default;
        ~timer_handler()
        {
            if (owner && owner->running_ == waited) owner->drop();
        }
        void operator()(boost::system::error_code ec)
        {
            const auto self = std::move(owner);
            if (ec) return;
            if (self->armed_for_ == waited) self->armed_for_.reset();
            self->resume();
        }
        executor_type get_executor() const noexcept { return strand; }

        std::shared_ptr<flight> owner;
        std::shared_ptr<pending_call<E>> waited;
        executor_type strand;
    };

    virtual void complete(error_code ec, outcome_of<E> outcome) = 0;
    virtual void forget() noexcept = 0;  // destroys the completion handler uncalled

    void resume()
    {
        if (std::exchange(idle_, false)) advance();
    }

    // Goes on from where it stands until it is finished or has to wait.
    void advance()
    {
        error_code ec;
        std::optional<outcome_of<E>> outcome;
        try {
            if (!ask_all()) return;
            if (fsm_.cancelled()) {
                ec = errc::cancelled;
            } else {
                outcome.emplace(std::move(folding_).finish());
            }
        } catch (...) {
            // The fold, or memory. Nobody is asked any more, and the default outcome is the safe one.
            if (running_) abandon();
            ec = errc::threw;
        }
        end();
        complete(ec, outcome ? *std::move(outcome) : outcome_of<E>());
    }

    // False: it has to wait.
    bool ask_all()
    {
        for (;;) {
            if (cancelled_) fsm_.cancel();
            if (running_) {
                if (conclude()) continue;
                arm();
                idle_ = running_->await();
                if (idle_) return false;
            } else if (const auto* one = fsm_.finished() ? nullptr : find_next()) {
                ask(*one);
            } else {
                skip_the_rest();
                return true;
            }
        }
    }

    // Null: there is none. The trace hears of those before it, which are not for this subject.
    const entry_pointer* find_next()
    {
        if (!wanted_) return std::exchange(asked_, true) ? nullptr : &plan_.only;
        const auto* found = wanted_->next();
        if (found == nullptr) return nullptr;
        if (folding_.traced()) {
            const auto& all = plan_.handlers->entries();
            while (all[heard_] != *found) folding_.skip(all[heard_++]->info, false);
            ++heard_;
        }
        return found;
    }

    void ask(const entry_pointer& which)
    {
        const auto& one = *which;
        using scope = deadline_rule::scope;
        constexpr auto rule = deadline_of<E>().of;
        const bool timed = one.info.timeout || rule == scope::per_handler;  // from now on
        if (!now_ && (timed || (rule == scope::shared && !in_time_))) now_ = plan_.time.now();
        const auto now = now_.value_or(clock::time_point::min());
        now_.reset();  // the handler takes its time
        in_time_ = false;
        if (fsm_.next(now, one.info.timeout) == chain_fsm::action::not_started) {
            fsm_.settled(folding_.fail(overdue(errc::not_started, one.info), one.info));
        } else if (one.immediate) {
            fsm_.settled(one.handler->ask(*this, one.info));
        } else {
            start(which);
        }
    }

    void start(const entry_pointer& one)
    {
        running_ = std::make_shared<pending_call<E>>(
            this->weak_from_this(), one, draft_access::lend(folding_.event(), plan_.event),
            fsm_.until(), plan_.time);
        folding_.begin();
        const auto call = running_;
        call->start(call);
    }

    // Takes the running call's answer, or gives up on it. False: it goes on running.
    bool conclude()
    {
        now_ = plan_.time.now();
        const auto call = running_;
        const auto& info = call->info();
        if (const auto waited = call->take_waited()) {
            fsm_.waited(*waited);
            folding_.begin();
        }
        if (fsm_.cancelled()) {
            abandon();
            folding_.interrupt(info);
            fsm_.settled(flow::stop);
        } else if (call->answered()) {
            running_.reset();
            call->close();
            if (auto* answer = std::get_if<0>(&call->answer())) {
                const auto in_time = [&] { return late(call->answered_at(), info); };
                fsm_.settled(folding_.take(std::move(*answer), info, in_time));
            } else {
                // If it threw, whoever has its reply may still be reading the event.
                draft_access::abandon(folding_.event());
                auto& why = std::get<1>(call->answer());
                if (why.message.empty()) why.message = make_error_code(why.code).message();
                fsm_.settled(folding_.fail({why.code, info, std::move(why.message)}, info));
            }
        } else if (auto in_vain = call->give_up_turn(*now_)) {
            if (const auto waited = call->take_waited()) fsm_.waited(*waited);
            abandon();
            fsm_.settled(folding_.fail({errc::not_started, info, *std::move(in_vain)}, info));
        } else if (call->awaits_turn_until()) {
            return false;
        } else if (auto why = late(*now_, info)) {
            abandon();
            fsm_.settled(folding_.fail(*std::move(why), info));
        } else {
            return false;
        }
        if (timer_) timer_->cancel();
        return true;
    }

    void abandon() noexcept
    {
        const auto call = std::exchange(running_, nullptr);
        draft_access::abandon(folding_.event());
        // After an answer, what the slot was bound to may be gone.
        if (call->close()) return;
        try {
            call->stop().emit(boost::asio::cancellation_type::terminal);
        } catch (...) {
            // A cancellation handler that throws has heard of the cancellation.
        }
    }

    // Also without a deadline: the wait keeps the event loop at work, and sees it die.
    void arm()
    {
        if (!timer_) timer_ = plan_.time.make_timer(plan_.executor);
        const auto until = running_->awaits_turn_until().value_or(fsm_.until());
        if (armed_for_ == running_ && armed_until_ == until) return;
        if (armed_for_ == running_) timer_->cancel();
        armed_for_ = running_;
        armed_until_ = until;
        timer_->async_wait(until, timer_handler(this->shared_from_this(), running_));
    }

    void skip_the_rest()
    {
        if (!folding_.traced() || !wanted_) return;
        const auto& all = plan_.handlers->entries();
        for (; heard_ != all.size(); ++heard_) {
            const auto& one = *all[heard_];
            folding_.skip(one.info, one.only_for.matches(subject_of(*plan_.event)));
        }
    }

    void end() noexcept
    {
        timer_.reset();
        armed_for_.reset();
    }

    // The event loop is being destroyed.
    void drop() noexcept
    {
        std::exchange(running_, nullptr)->close();
        idle_ = false;
        end();
        forget();
    }

    const flight_plan<E> plan_;
    bool asked_ = false;  // the only one
    std::optional<typename handler_list<E>::cursor> wanted_;
    std::size_t heard_ = 0;  // the trace has heard of so many of the handlers
    std::optional<timer_strand> strand_;
    std::atomic<bool> cancelled_{false};
    std::shared_ptr<pending_call<E>> running_;
    std::shared_ptr<pending_call<E>> armed_for_;
    clock::time_point armed_until_{};
    std::unique_ptr<clock::timer> timer_;
    bool idle_ = false;
};

// A dispatch that completes an asynchronous operation.
template <class E, class Handler>
class dispatch_op final : public flight<E> {
public:
    dispatch_op(flight_plan<E> plan, Handler handler)
        : flight<E>(std::move(plan)),
          handler_(std::move(handler)),
          work_(boost::asio::get_associated_executor(*handler_, this->io_executor()))
    {}

    void start()
    {
        const auto self = this->shared_from_this();
        auto slot = boost::asio::get_associated_cancellation_slot(*handler_);
        if (slot.is_connected()) {
            slot.assign([flying = this->weak_from_this()](boost::asio::cancellation_type) {
                if (const auto it = flying.lock()) it->cancel();
            });
        }
        this->run();
    }

private:
    using handler_executor =
        boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>;

    void complete(error_code ec, outcome_of<E> outcome) override
    {
        auto handler = *std::move(handler_);
        handler_.reset();
        post_completion(this->io_executor(), std::move(work_), std::move(handler), ec,
                        std::move(outcome));
    }

    void forget() noexcept override
    {
        work_.reset();
        handler_.reset();
    }

    std::optional<Handler> handler_;
    boost::asio::executor_work_guard<handler_executor> work_;
};

}  // namespace detail
}  // namespace belay

#endif
