#ifndef BELAY_PROCESS_IMPL_WORKER_OP_IPP
#define BELAY_PROCESS_IMPL_WORKER_OP_IPP

#include <belay/process/detail/envelope.hpp>
#include <belay/process/detail/worker_child.hpp>
#include <belay/process/detail/worker_op.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <utility>

namespace belay::process::detail {

/// Calls its worker at a time. Kept alive by its own wait.
class worker_alarm : public std::enable_shared_from_this<worker_alarm> {
public:
    worker_alarm(const boost::asio::any_io_executor& executor, clock& time,
                 std::shared_ptr<worker_op> owner)
        : executor_(executor), timer_(time.make_timer(executor)), owner_(std::move(owner))
    {}
    worker_alarm(const worker_alarm&) = delete;
    worker_alarm& operator=(const worker_alarm&) = delete;

    ~worker_alarm()
    {
        if (is_set_) owner_->on_context_destroyed();
    }

    /// At that time or earlier: one that is set for an earlier time stays, since to set it anew costs more
    /// than to be called once in vain.
    void set(clock::time_point when)
    {
        if (is_set_ && when_ <= when) return;
        clear();
        is_set_ = true;
        when_ = when;
        timer_->async_wait(
            when, boost::asio::bind_executor(
                      executor_, [self = shared_from_this(), number = number_](error_code) {
                          if (self->number_ != number) return;
                          self->is_set_ = false;
                          self->owner_->on_alarm();
                      }));
    }

    void clear() noexcept
    {
        ++number_;
        if (std::exchange(is_set_, false)) timer_->cancel();
    }

private:
    boost::asio::any_io_executor executor_;
    std::unique_ptr<clock::timer> timer_;
    std::shared_ptr<worker_op> owner_;
    clock::time_point when_{};
    unsigned long long number_ = 0;
    bool is_set_ = false;
};

BELAY_DECL worker_op::worker_op(boost::asio::any_io_executor executor, worker_options options,
                                clock& time, spawner spawn)
    : executor_(std::move(executor)),
      options_(std::move(options)),
      time_(time),
      spawn_(spawn),
      fsm_({options_.in_flight, options_.recycle_after, options_.idle_timeout, options_.first_pause,
            options_.longest_pause, options_.grace})
{}

BELAY_DECL void worker_op::request(std::string event,
                                   std::optional<std::chrono::milliseconds> timeout,
                                   worker_handler handler)
{
    if (is_dead_) return;
    const ticket which = ++last_ticket_;
    auto slot = boost::asio::get_associated_cancellation_slot(handler);
    if (slot.is_connected())
        slot.assign([weak = weak_from_this(), which](boost::asio::cancellation_type type) {
            const auto self = weak.lock();
            if (!self || self->is_dead_ || type == boost::asio::cancellation_type::none) return;
            self->evidence_ = {};
            self->obey(self->fsm_.cancel(which, self->time_.now()));
        });
    const std::size_t size = event.size();
    const clock::time_point now = time_.now();
    evidence_ = {};
    boost::asio::any_completion_executor where =
        boost::asio::prefer(boost::asio::get_associated_executor(handler, executor_),
                            boost::asio::execution::outstanding_work.tracked);
    pending_.emplace(which, pending_request{std::move(handler), std::move(where), std::move(event),
                                            timeout, now});
    if (size > options_.limits.input) {
        evidence_.detail = "the event has " + std::to_string(size) + " bytes; at most " +
                           std::to_string(options_.limits.input) + " are allowed";
        return complete({which, errc::input_too_large});
    }
    obey(fsm_.request(which, timeout, now));
}

BELAY_DECL void worker_op::shut_down()
{
    if (is_dead_) return;
    evidence_ = {};
    obey(fsm_.shut_down());
}

BELAY_DECL void worker_op::on_line(std::string_view line)
{
    const auto answer = read_envelope(line, "result");
    if (!answer)
        return misbehaved(answer.error().code, "the worker wrote a line that is no answer, " +
                                                   answer.error().message + ": " + quotation(line));
    if (!fsm_.is_in_flight(answer->id))
        return misbehaved(
            errc::invalid_answer,
            std::string("the worker answered a request that ") +
                (fsm_.was_sent(answer->id) ? "it had answered before: " : "it was not given: ") +
                quotation(line));
    if (answer->value.size() > options_.limits.out)
        return misbehaved(errc::output_too_large,
                          "the worker's result has " + std::to_string(answer->value.size()) +
                              " bytes; at most " + std::to_string(options_.limits.out) +
                              " are allowed");
    child_->forget_err();
    result_ = answer->value;
    obey(fsm_.answered(answer->id, time_.now()));
}

BELAY_DECL void worker_op::on_long_line(std::string_view beginning)
{
    misbehaved(errc::output_too_large,
               "the worker wrote a line that is too long for a result of at most " +
                   std::to_string(options_.limits.out) + " bytes: " + quotation(beginning));
}

BELAY_DECL void worker_op::on_hang_up()
{
    obey(fsm_.hung_up(time_.now()));
}

BELAY_DECL void worker_op::on_exit(exit_status status)
{
    evidence_ = {};
    evidence_.status = status;
    evidence_.err = std::exchange(child_, nullptr)->err();
    errc code = errc::status_lost;
    std::string how = "ended, and its status was taken by something else,";
    if (const auto number = status.code()) {
        code = errc::exited;
        how = "exited with status " + std::to_string(*number);
    } else if (const auto signal = status.signal()) {
        code = errc::signalled;
        how = "was ended by signal " + std::to_string(*signal);
    }
    evidence_.detail = "the worker " + how + " before it had answered";
    obey(fsm_.exited(code, time_.now()));
}

BELAY_DECL void worker_op::on_alarm()
{
    evidence_ = {};
    if (child_) evidence_.err = child_->err();
    obey(fsm_.time_passed(time_.now()));
}

BELAY_DECL void worker_op::begin_lines() noexcept
{
    in_lines_ = true;
}

BELAY_DECL void worker_op::end_lines()
{
    in_lines_ = false;
    write_now();
}

BELAY_DECL void worker_op::on_context_destroyed() noexcept
{
    is_dead_ = true;
    child_ = nullptr;
    // Moved away first: a handler may own the worker.
    const auto pending = std::exchange(pending_, {});
}

/// The order of the members is the order of the deeds.
BELAY_DECL void worker_op::obey(worker_step step)
{
    for (bool again = true; again;) {
        again = false;
        if (step.end == worker_end::hang_up)
            child_->hang_up();
        else if (step.end != worker_end::none)
            std::exchange(child_, nullptr)->let_go(step.end == worker_end::retire);
        for (const auto& one : step.complete) complete(one);
        if (step.launch) {
            step = launch();
            again = true;
            continue;
        }
        for (const auto& one : step.send) child_->queue(one.id, pending_.at(one.which).event);
        if (!step.send.empty() && !write_soon()) {
            step = fsm_.hung_up(time_.now());
            again = true;
        }
    }
    set_alarm();
}

BELAY_DECL worker_step worker_op::launch()
{
    evidence_ = {};
    const auto fail = [this](launch_fault fault) {
        evidence_.cause = fault.cause;
        evidence_.detail = std::move(fault.detail);
        return fsm_.launch_failed(fault.code, time_.now());
    };
    if (std::string fault = invocation_fault(options_.argv, options_.cwd, options_.environment);
        !fault.empty())
        return fail({errc::invalid_argv, {}, std::move(fault)});
    const auto fail_watching = [&](const error_code& error) {
        return fail(
            {errc::spawn_failed, error, "watching " + options_.argv[0] + ": " + error.message()});
    };
    std::shared_ptr<worker_child> next;
    try {
        next = make_child();
    } catch (const boost::system::system_error& failure) {  // Asio's reactor could not be made
        return fail_watching(failure.code());
    }
    stdio_pipes pipes;
    if (auto fault = make_pipes(pipes, options_.argv[0])) return fail(*std::move(fault));
    child started;
    if (auto fault =
            launch_child(started, options_.argv, options_.cwd, options_.environment, pipes, spawn_))
        return fail(*std::move(fault));
    if (const error_code error = next->adopt(std::move(started), pipes, shared_from_this()))
        return fail_watching(error);
    child_ = next.get();
    child_->watch();
    return fsm_.launched(time_.now());
}

BELAY_DECL std::shared_ptr<worker_child> worker_op::make_child()
{
    const std::size_t out = options_.limits.out;
    const std::size_t line = out + std::min(envelope_limit, no_limit - out);
    return std::make_shared<worker_child>(
        executor_, worker_child::bounds{line, options_.limits.err, options_.grace});
}

/// A lone request is written at once. Of many, those that come together are written together. Returns false
/// when the child does not read any more.
BELAY_DECL bool worker_op::write_soon()
{
    if (in_lines_ || flush_is_posted_) return true;
    if (pending_.size() == 1) return child_->flush();
    flush_is_posted_ = true;
    boost::asio::post(executor_, [self = shared_from_this()] {
        self->flush_is_posted_ = false;
        self->write_now();
    });
    return true;
}

BELAY_DECL void worker_op::write_now()
{
    if (child_ && !child_->flush()) obey(fsm_.hung_up(time_.now()));
}

BELAY_DECL void worker_op::misbehaved(errc why, std::string detail)
{
    evidence_ = {};
    evidence_.err = child_->err();
    evidence_.detail = std::move(detail);
    obey(fsm_.misbehaved(why, time_.now()));
}

BELAY_DECL void worker_op::complete(const worker_step::completion& what)
{
    auto node = pending_.extract(what.which);
    pending_request& request = node.mapped();
    worker_reply reply;
    if (what.error)
        reply = evidence_;
    else
        reply.result = std::exchange(result_, {});
    if (what.error == errc::timed_out)
        reply.detail =
            "the worker gave no answer within " + std::to_string(request.timeout->count()) + " ms";
    reply.duration = time_.now() - request.started;
    // A post, so that it is never entered from inside the initiating function or a cancellation.
    boost::asio::post(executor_, boost::asio::bind_executor(
                                     std::move(request.executor),
                                     [handler = std::move(request.handler), error = what.error,
                                      reply = std::move(reply)]() mutable {
                                         std::move(handler)(error, std::move(reply));
                                     }));
}

BELAY_DECL void worker_op::set_alarm()
{
    auto alarm = alarm_.lock();
    if (const auto when = fsm_.next_wake()) {
        if (!alarm)
            alarm_ = alarm = std::make_shared<worker_alarm>(executor_, time_, shared_from_this());
        alarm->set(*when);
    } else if (alarm && !child_) {
        alarm->clear();
    }
}

}  // namespace belay::process::detail

#endif
