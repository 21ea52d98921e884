#ifndef BELAY_PROCESS_IMPL_WORKER_OP_IPP
#define BELAY_PROCESS_IMPL_WORKER_OP_IPP

#include <belay/process/detail/envelope.hpp>
#include <belay/process/detail/worker_child.hpp>
#include <belay/process/detail/worker_op.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/post.hpp>
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

BELAY_DECL void worker_op::request(std::string&& event,
                                   std::optional<std::chrono::milliseconds> timeout,
                                   turn_listener&& turn, worker_handler&& handler)
{
    if (is_dead_) return;
    auto slot = boost::asio::get_associated_cancellation_slot(handler.call);
    const std::size_t size = event.size();
    const clock::time_point now = time_.now();
    const ticket which =
        keep({std::move(handler), std::move(event), timeout, std::move(turn), now});
    if (slot.is_connected())
        slot.assign([weak = weak_from_this(), which](boost::asio::cancellation_type type) {
            const auto self = weak.lock();
            if (!self || self->is_dead_ || type == boost::asio::cancellation_type::none) return;
            const clock::time_point later = self->time_.now();
            self->forget_evidence();
            self->obey(self->fsm_.cancel(which, later), later);
            self->go_on();
        });
    forget_evidence();
    if (size > options_.limits.input) {
        evidence_.detail = "the event has " + std::to_string(size) + " bytes; at most " +
                           std::to_string(options_.limits.input) + " are allowed";
        return complete({which, errc::input_too_large}, now);
    }
    obey(fsm_.request(which, timeout, now), now);
    go_on();
}

BELAY_DECL void worker_op::shut_down()
{
    if (is_dead_) return;
    forget_evidence();
    obey(fsm_.shut_down(), time_.now());
    go_on();
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
                (fsm_.was_sent(answer->id) ? "it had answered before" : "it was not given") +
                " (an answer has the id of its request): " + quotation(line));
    if (answer->value.size() > options_.limits.out)
        return misbehaved(errc::output_too_large,
                          "the worker's result has " + std::to_string(answer->value.size()) +
                              " bytes; at most " + std::to_string(options_.limits.out) +
                              " are allowed");
    child_->forget_err();
    ++answers_;
    result_ = answer->value;
    obey(fsm_.answered(answer->id, lines_began_), lines_began_);
}

BELAY_DECL void worker_op::on_long_line(std::string_view beginning)
{
    misbehaved(errc::output_too_large,
               "the worker wrote a line that is too long for a result of at most " +
                   std::to_string(options_.limits.out) + " bytes: " + quotation(beginning));
}

BELAY_DECL void worker_op::on_hang_up()
{
    hung_up();
    go_on();
}

BELAY_DECL void worker_op::hung_up()
{
    forget_evidence();
    evidence_.err = child_->err();
    if (hung_up_.empty())
        hung_up_ = child_->has_closed_out() ? "closed its stdout" : "closed its stdin";
    evidence_.detail = "the worker " + hung_up_;
    last_failure_ = evidence_;
    const clock::time_point now = time_.now();
    obey(fsm_.hung_up(now), now);
}

BELAY_DECL void worker_op::on_exit(exit_status status, bool was_made_to)
{
    forget_evidence();
    evidence_.status = status;
    evidence_.err = child_->err();
    const std::string before = was_made_to ? hung_up_ + " and " : "";
    child_ = nullptr;
    errc code = errc::status_lost;
    std::string how = "ended, and its status was taken by something else,";
    if (const auto number = status.code()) {
        code = errc::exited;
        how = "exited with status " + std::to_string(*number);
    } else if (const auto signal = status.signal()) {
        code = errc::signalled;
        how = "was ended by signal " + std::to_string(*signal);
    }
    evidence_.detail = "the worker " + before + how + " before it had answered";
    last_failure_ = evidence_;
    const clock::time_point now = time_.now();
    obey(fsm_.exited(code, now), now);
    go_on();
}

BELAY_DECL void worker_op::on_alarm()
{
    forget_evidence();
    const clock::time_point now = time_.now();
    const worker_step& step = fsm_.time_passed(now);
    if (step.end == worker_end::terminate) {
        evidence_.err = child_->err();
        evidence_.detail = why_late();
        last_failure_ = evidence_;
    }
    obey(step, now);
    go_on();
}

BELAY_DECL void worker_op::end_lines()
{
    write();  // before those who hear of a completion take their time
    std::vector<completion> now = std::exchange(spare_, {});
    now.swap(ready_);
    std::size_t called = 0;
    // What has completed meanwhile is posted: whoever asks again at each failure holds up nobody. So are the
    // others where one throws.
    const auto post_the_rest = [&] {
        for (; called < now.size(); ++called) post(std::move(now[called]));
        for (completion& one : ready_) post(std::move(one));
        forget_lines();
    };
    try {
        while (called < now.size()) now[called++]();
    } catch (...) {
        post_the_rest();
        go_on();
        throw;
    }
    post_the_rest();
    now.clear();
    spare_ = std::move(now);
    write();
    set_alarm();
}

BELAY_DECL void worker_op::forget_lines() noexcept
{
    ready_.clear();
    in_lines_ = false;
}

BELAY_DECL void worker_op::on_context_destroyed() noexcept
{
    is_dead_ = true;
    child_ = nullptr;
    // Moved away first: a handler may own the worker.
    const auto pending = std::exchange(pending_, {});
    const auto ready = std::exchange(ready_, {});
}

BELAY_DECL worker_op::ticket worker_op::keep(pending_request&& request)
{
    if (free_.empty()) {
        free_.push_back(static_cast<std::uint32_t>(pending_.size()));
        pending_.emplace_back();
    }
    const std::uint32_t place = free_.back();
    free_.pop_back();
    pending_[place].emplace(std::move(request));
    return ++count_ << 32 | place;
}

BELAY_DECL void worker_op::forget(ticket which)
{
    const auto place = static_cast<std::uint32_t>(which);
    pending_[place].reset();
    free_.push_back(place);
}

BELAY_DECL void worker_op::tell_turn(ticket which, bool has_turn)
{
    if (const turn_listener& turn = at(which).turn) turn(has_turn);
}

/// The order of the members is the order of the deeds.
BELAY_DECL void worker_op::obey(const worker_step& first, clock::time_point now)
{
    const worker_step* step = &first;
    bool started = false;
    for (;; now = time_.now()) {
        if (step->end == worker_end::hang_up)
            child_->hang_up();
        else if (step->end != worker_end::none)
            std::exchange(child_, nullptr)->let_go(step->end == worker_end::retire);
        for (const auto& one : step->complete) complete(one, now);
        for (const ticket one : step->wait_again) tell_turn(one, false);
        if (!step->launch) break;
        step = &launch();
        started = true;
    }
    for (const auto& one : step->send) {
        at(one.which).pays_for_start = started;
        tell_turn(one.which, true);
        child_->queue(one.id, at(one.which).event);
    }
}

BELAY_DECL const worker_step& worker_op::launch()
{
    forget_evidence();
    const auto fail = [this](launch_fault fault) -> const worker_step& {
        evidence_.cause = fault.cause;
        evidence_.detail = std::move(fault.detail);
        return fsm_.launch_failed(fault.code, time_.now());
    };
    if (std::string fault = invocation_fault(options_.argv, options_.cwd, options_.environment);
        !fault.empty())
        return fail({errc::invalid_argv, {}, std::move(fault)});
    const auto fail_watching = [&](const error_code& error) -> const worker_step& {
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
    answers_ = 0;
    hung_up_.clear();
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

/// A lone request is written at once. Of many, those that come together are written together.
BELAY_DECL void worker_op::go_on()
{
    if (in_lines_) return;
    if (pending() == 1) {
        write();
    } else if (child_ && child_->wants_flush() && !write_is_posted_) {
        write_is_posted_ = true;
        boost::asio::post(executor_, [self = shared_from_this()] {
            self->write_is_posted_ = false;
            self->write();
            self->set_alarm();
        });
    }
    set_alarm();
}

BELAY_DECL void worker_op::write()
{
    while (child_ && !child_->flush()) hung_up();
}

BELAY_DECL void worker_op::forget_evidence() noexcept
{
    evidence_.status = {};
    evidence_.err.clear();
    evidence_.detail.clear();
    evidence_.cause = {};
}

/// What its child has done instead of answering.
BELAY_DECL std::string worker_op::why_late() const
{
    if (!hung_up_.empty()) return "the worker " + hung_up_ + " and did not exit";
    if (child_->has_unwritten()) return "the worker did not read all of its input";
    if (const auto line = child_->unfinished_line(); !line.empty())
        return "the worker wrote only " + quotation(line) +
               " (is a line break missing, or a flush?)";
    if (answers_ == 0)
        return "the worker wrote nothing (does it read line by line, and flush its output?)";
    return "the worker, which has answered " + std::to_string(answers_) +
           (answers_ == 1 ? " request" : " requests") + ", gave no answer";
}

BELAY_DECL std::string worker_op::why_unavailable(clock::time_point now) const
{
    const auto pause = std::chrono::ceil<std::chrono::milliseconds>(fsm_.not_before() - now);
    return last_failure_.detail + "; it has failed " + std::to_string(fsm_.failures()) +
           " times in a row, and is not started again for " + std::to_string(pause.count()) + " ms";
}

BELAY_DECL void worker_op::misbehaved(errc why, std::string detail)
{
    forget_evidence();
    evidence_.err = child_->err();
    evidence_.detail = std::move(detail);
    last_failure_ = evidence_;
    const clock::time_point now = time_.now();
    obey(fsm_.misbehaved(why, now), now);
    go_on();
}

BELAY_DECL void worker_op::complete(const worker_step::completion& what, clock::time_point now)
{
    pending_request& request = at(what.which);
    // Made where it most often stays, since it is large to move.
    ready_.push_back({std::move(request.handler.call), what.error, {}});
    worker_reply& reply = ready_.back().reply;
    if (!what.error) {
        reply.result = result_;
    } else if (what.error == errc::unavailable) {
        reply = last_failure_;
        reply.detail = why_unavailable(now);
    } else {
        reply = evidence_;
    }
    if (what.error == errc::timed_out && reply.detail.empty())
        reply.detail = "the request had no time";
    if (what.error == errc::timed_out && request.pays_for_start)
        reply.detail += "; its start was a part of the time";
    reply.duration = now - request.started;
    const auto elsewhere = std::move(request.handler.elsewhere);
    forget(what.which);
    if (in_lines_ && !elsewhere) return;
    completion done = std::move(ready_.back());
    ready_.pop_back();
    if (elsewhere)
        boost::asio::post(executor_, boost::asio::bind_executor(elsewhere, std::move(done)));
    else
        post(std::move(done));
}

/// So that it is never entered from inside the initiating function or a cancellation.
BELAY_DECL void worker_op::post(completion what)
{
    boost::asio::post(executor_, std::move(what));
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
