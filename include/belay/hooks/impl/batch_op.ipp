#ifndef BELAY_HOOKS_IMPL_BATCH_OP_IPP
#define BELAY_HOOKS_IMPL_BATCH_OP_IPP

#include <belay/hooks/detail/batch_op.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/post.hpp>

#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

namespace belay::hooks::detail {

template <class T>
T failure_of(const std::string& message)
{
    if constexpr (std::is_same_v<T, tool_result>) {
        return text_result(message, true);
    } else {
        return T::deny("Permission check failed: " + message);
    }
}

// What a function that answers at once says; one that is absent has failed.
template <class T>
T ask_now(const host_function<T>& function, const tool_call& call, const char* if_absent)
{
    if (!function) return failure_of<T>(if_absent);
    try {
        return function(call);
    } catch (...) {
        return failure_of<T>(belay::detail::message_of(std::current_exception()));
    }
}

// A call of the permission check or of the tool, from its start to its answer, if that comes later or
// from elsewhere. It may outlive the batch, and keeps alive what the function may still touch: itself, and what it was called with.
template <class T>
class batch_call final : public host_call<T>, public pending_host_call {
public:
    batch_call(std::shared_ptr<batch_op> owner, boost::asio::any_io_executor executor, clock& time,
               std::size_t call, host_function<T> function, std::shared_ptr<const tool_call> what)
        : owner_(std::move(owner)),
          executor_(std::move(executor)),
          time_(time),
          call_(call),
          function_(std::move(function)),
          what_(std::move(what))
    {}

    // Here, or on a pool if it may block there.
    void start(const std::shared_ptr<batch_call>& self, const belay::detail::pool_place& place)
    {
        host_reply<T> reply(self);
        if (!place.pool || !function_.immediate()) return call(std::move(reply));
        boost::asio::post(place.pool,
                          [self = belay::detail::homing<batch_call>(self, place.home),
                           reply = std::move(reply)]() mutable { self->call(std::move(reply)); });
    }

    void answer(T what) noexcept override
    {
        const std::lock_guard lock(mutex_);
        if (said_ || !owner_) return;
        said_.emplace(std::move(what));
        ended_ = time_.now();
        send();
    }

    void fail(std::exception_ptr why) noexcept override
    {
        answer(failure_of<T>(belay::detail::message_of(std::move(why))));
    }

    boost::asio::any_io_executor executor() const noexcept override { return executor_; }
    boost::asio::cancellation_slot slot() noexcept override { return stop_.slot(); }

    void close(bool stop) noexcept override
    {
        std::shared_ptr<batch_op> released;
        {
            const std::lock_guard lock(mutex_);
            released = std::move(owner_);
            owner_.reset();
        }
        if (stop && released) stop_.emit(boost::asio::cancellation_type::terminal);
    }

private:
    // What it throws is a failure, also if it has answered before.
    void call(host_reply<T> reply)
    {
        {
            const std::lock_guard lock(mutex_);
            if (!owner_) return;  // nobody waits for it any more
            calling_ = true;
            began_ = time_.now();
        }
        try {
            function_(*what_, std::move(reply));
        } catch (...) {
            auto failed = failure_of<T>(belay::detail::message_of(std::current_exception()));
            const std::lock_guard lock(mutex_);
            said_.emplace(std::move(failed));
            ended_ = time_.now();
        }
        const std::lock_guard lock(mutex_);
        calling_ = false;
        send();
    }

    // Under the lock: the batch closes its calls before its executor can go.
    void send() noexcept
    {
        if (calling_ || !said_ || !owner_) return;
        boost::asio::post(executor_, [owner = std::exchange(owner_, nullptr), call = call_,
                                      took = ended_ - began_.value_or(ended_),
                                      said = std::move(*said_)]() mutable {
            owner->answered(call, std::move(said), took);
        });
    }

    std::mutex mutex_;
    bool calling_ = false;
    std::optional<T> said_;
    std::optional<clock::time_point> began_;
    clock::time_point ended_{};
    std::shared_ptr<batch_op> owner_;  // until the answer is on its way, or nobody wants it
    const boost::asio::any_io_executor executor_;
    clock& time_;
    const std::size_t call_;
    const host_function<T> function_;
    const std::shared_ptr<const tool_call> what_;
    boost::asio::cancellation_signal stop_;
};

inline std::vector<bool> which_are_offered(const session_fsm& session,
                                           const std::vector<tool_call>& calls)
{
    std::vector<bool> offered;
    for (const auto& one : calls) offered.push_back(session.offers(one.name));
    return offered;
}

BELAY_DECL batch_op::batch_op(std::shared_ptr<session_state> session, std::vector<tool_call> calls,
                              tool_host host, handler_ptr handler)
    : session_(std::move(session)),
      host_(std::move(host)),
      handler_(std::move(handler)),
      records_(calls.size()),
      fsm_(which_are_offered(session_->fsm, calls), host_.chains_at_once, host_.tools_at_once)
{
    for (std::size_t i = 0; i != calls.size(); ++i) {
        records_[i].call = std::move(calls[i]);
        if (!session_->fsm.offers(records_[i].call.name)) {
            refuse(i, call_fate::not_offered, "Tool not offered: " + records_[i].call.name);
        }
    }
}

BELAY_DECL void batch_op::start()
{
    handler_->on_cancel([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (self && self->session_->running.lock() == self) self->session_->cancel_operation();
    });
    timer_ = session_->host->time.make_timer(session_->host->executor);
    timer_->async_wait(clock::time_point::max(), loop_guard<batch_op>(shared_from_this()));
    advance();
}

BELAY_DECL void batch_op::cancel(error_code why)
{
    fsm_.cancel();
    stop_everything(true);
    finish(why, {});
}

BELAY_DECL void batch_op::advance()
{
    // Tools that answer at once are called one after another, but not for long: others want the
    // executor, too.
    constexpr std::chrono::milliseconds long_enough(1);
    const auto& host = *session_->host;
    std::optional<clock::time_point> until;
    for (;;) {
        const auto step = fsm_.next();
        switch (step.what) {
        case batch_fsm::act::ask_hooks: ask_hooks(step.call); break;
        case batch_fsm::act::ask_permission: ask_permission(step.call); break;
        case batch_fsm::act::run_tool:
            if (!until) until = host.time.now() + long_enough;
            run_tool(step.call);
            if (host.time.now() < *until) break;
            return boost::asio::post(host.executor,
                                     [self = shared_from_this()] { self->advance(); });
        case batch_fsm::act::tell_hooks: tell_hooks(step.call); break;
        case batch_fsm::act::wait: return;
        case batch_fsm::act::done:
            if (!handler_->pending()) return;  // it was cancelled
            session_->running.reset();
            session_->fsm.end_tools();
            return finish({}, std::move(records_));
        }
    }
}

BELAY_DECL void batch_op::ask_hooks(std::size_t call)
{
    pre_tool_use event{records_[call].call, session_->fsm.who().id, session_->fsm.who().workspace};
    auto done = [self = shared_from_this(), call](error_code ec, pre_tool_use::outcome said) {
        self->hooks_said(call, ec, std::move(said));
    };
    session_->hooks->hooks_of<pre_tool_use>().async_dispatch(
        std::move(event),
        boost::asio::bind_cancellation_slot(at_work_[call].stop.slot(), std::move(done)));
}

BELAY_DECL void batch_op::hooks_said(std::size_t call, error_code ec, pre_tool_use::outcome said)
{
    if (!handler_->pending()) return;
    if (ec) return session_->fail_operation(ec);
    at_work_.erase(call);
    auto& record = records_[call];
    log_failures<pre_tool_use>(
        session_->host->options.log, said, [&] { return occasion(call); }, "blocked");
    if (said.input) record.call.input = *said.input;

    auto verdict = batch_fsm::verdict::proceed;
    if (const auto* blocked = std::get_if<block>(&said.decision)) {
        refuse(call, said.failed ? call_fate::hook_failed : call_fate::blocked, blocked->reason);
        verdict = batch_fsm::verdict::refuse;
    } else if (const auto* replaced = std::get_if<pre_tool_use::replace>(&said.decision)) {
        record.fate = call_fate::replaced;
        record.result = replaced->result;
        verdict = batch_fsm::verdict::replace;
    }
    record.before = std::move(said);
    fsm_.hooks_said(call, verdict);
    advance();
}

template <class T>
void batch_op::call_host(std::size_t call, const host_function<T>& function,
                         const belay::detail::pool_place& place)
{
    const auto& host = *session_->host;
    auto& work = at_work_[call];
    if (!work.call) work.call = std::make_shared<const tool_call>(records_[call].call);
    const auto pending = std::make_shared<batch_call<T>>(shared_from_this(), host.executor,
                                                         host.time, call, function, work.call);
    work.host_call = pending;
    pending->start(pending, place);
}

BELAY_DECL void batch_op::ask_permission(std::size_t call)
{
    if (host_.permit && !host_.permit.immediate()) return call_host(call, host_.permit, {});
    take(call, ask_now(host_.permit, records_[call].call, "the host has none"));
}

BELAY_DECL void batch_op::take(std::size_t call, permission said)
{
    if (!handler_->pending()) return;  // it was cancelled
    at_work_.erase(call);
    if (!said.granted) refuse(call, call_fate::denied, said.reason);
    fsm_.permission_said(call, said.granted);
}

BELAY_DECL void batch_op::run_tool(std::size_t call)
{
    records_[call].fate = call_fate::ran;
    const auto& place = session_->host->pool;
    if (host_.run && (place.pool || !host_.run.immediate()))
        return call_host(call, host_.run, place);
    const auto& time = session_->host->time;
    const auto began = time.now();
    auto said = ask_now(host_.run, records_[call].call, "the host runs no tools");
    take(call, std::move(said), time.now() - began);
}

BELAY_DECL void batch_op::take(std::size_t call, tool_result said, clock::time_point::duration took)
{
    if (!handler_->pending()) return;
    at_work_.erase(call);
    records_[call].result = std::move(said);
    records_[call].duration = took;
    fsm_.tool_ended(call);
}

BELAY_DECL void batch_op::tell_hooks(std::size_t call)
{
    auto& record = records_[call];
    auto& hooks = session_->hooks->hooks_of<post_tool_use>();
    if (hooks.size() == 0) {
        record.after.emplace();
        return fsm_.hooks_told();
    }
    post_tool_use event{record.call, record.result, record.duration, session_->fsm.who().id,
                        session_->fsm.who().workspace};
    auto done = [self = shared_from_this(), call](error_code ec, post_tool_use::outcome said) {
        self->hooks_told(call, ec, std::move(said));
    };
    hooks.async_dispatch(std::move(event), boost::asio::bind_cancellation_slot(
                                               at_work_[call].stop.slot(), std::move(done)));
}

BELAY_DECL void batch_op::hooks_told(std::size_t call, error_code ec, post_tool_use::outcome said)
{
    if (!handler_->pending()) return;
    if (ec) return session_->fail_operation(ec);
    at_work_.erase(call);
    log_failures<post_tool_use>(
        session_->host->options.log, said, [&] { return occasion(call); }, "patches_dropped");
    if (said.result) records_[call].result = *said.result;
    records_[call].after = std::move(said);
    fsm_.hooks_told();
    advance();
}

BELAY_DECL void batch_op::refuse(std::size_t call, call_fate fate, const std::string& text)
{
    records_[call].fate = fate;
    records_[call].result = text_result(text, true);
}

BELAY_DECL void batch_op::finish(error_code ec, std::vector<call_record> records)
{
    handler_->complete(ec, std::move(records));
    timer_.reset();
}

// The event loop is being destroyed.
BELAY_DECL void batch_op::drop() noexcept
{
    fsm_.cancel();
    stop_everything(false);
    timer_.reset();
    handler_->forget();
}

BELAY_DECL void batch_op::stop_everything(bool tell) noexcept
{
    for (auto& [call, one] : at_work_) {
        if (const auto running = std::exchange(one.host_call, nullptr)) running->close(tell);
        if (tell) one.stop.emit(boost::asio::cancellation_type::terminal);
    }
}

BELAY_DECL boost::json::object batch_op::occasion(std::size_t call) const
{
    auto made = session_->occasion();
    made.emplace("toolCallId", records_[call].call.id);
    made.emplace("toolName", records_[call].call.name);
    return made;
}

}  // namespace belay::hooks::detail

#endif
