#ifndef BELAY_PROCESS_IMPL_RUN_OP_IPP
#define BELAY_PROCESS_IMPL_RUN_OP_IPP

#include <belay/process/detail/run_op.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace belay::process::detail {

BELAY_DECL run_op::run_op(boost::asio::any_io_executor executor, invocation what, std::string input,
                          run_handler handler, spawner spawn)
    : executor_(std::move(executor)),
      what_(std::move(what)),
      input_(std::move(input)),
      handler_(std::move(handler)),
      handler_executor_(
          boost::asio::prefer(boost::asio::get_associated_executor(handler_, executor_),
                              boost::asio::execution::outstanding_work.tracked)),
      spawn_(spawn),
      started_(clock::now()),
      deadline_(belay::detail::time_after(
          started_, what_.timeout.value_or(std::chrono::milliseconds::max()))),
      fsm_(started_, deadline_, what_.grace > std::chrono::milliseconds::zero()),
      exit_(executor_),
      in_(executor_),
      out_{stream(executor_), {}, 0, what_.limits.out},
      err_{stream(executor_), {}, 0, what_.limits.err},
      deadline_timer_(executor_),
      pause_timer_(executor_)
{}

BELAY_DECL run_op::~run_op()
{
    if (exit_.is_open()) exit_.release();
}

BELAY_DECL void run_op::begin()
{
    auto slot = boost::asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected())
        slot.assign([weak = weak_from_this()](boost::asio::cancellation_type type) {
            if (type == boost::asio::cancellation_type::none) return;
            if (const auto self = weak.lock()) self->obey(self->fsm_.cancel());
        });
    boost::asio::dispatch(executor_, [self = shared_from_this()] {
        self->obey(self->fsm_.start(self->refusal(), clock::now()));
    });
}

/// The order of the members is the order of the deeds.
BELAY_DECL void run_op::obey(run_step step)
{
    if (step.launch) return launch();
    if (step.pause) {
        pause_timer_.expires_after(run_fsm::busy_pause);
        pause_timer_.async_wait([self = shared_from_this()](error_code error) {
            if (!error) self->obey(self->fsm_.start_again(clock::now()));
        });
        return wait_for_deadline();
    }
    if (step.watch) {
        launched_ = true;
        report_.started = true;
        wait_for_deadline();
        wait_for_input_pipe();
        wait_for_output(out_);
        wait_for_output(err_);
        wait_for_exit();
    }
    if (step.signal != group_signal::none)
        child_.signal_group(step.signal == group_signal::kill ? SIGKILL : SIGTERM);
    exit_status status;
    if (step.reap) {
        exit_.release();
        status = child_.reap();
        if (!reported_) report_.status = status;
    }
    const bool owes_status = step.release && launched_ && !report_.status.is_known() &&
                             step.report != error_code(errc::status_lost);
    if (step.report) report(*step.report);
    if (step.arm_grace) {
        pause_timer_.expires_at(belay::detail::time_after(clock::now(), what_.grace));
        pause_timer_.async_wait([self = shared_from_this()](error_code error) {
            if (!error) self->obey(self->fsm_.grace_over());
        });
    }
    if (step.release) {
        release();
        if (owes_status && what_.on_reaped)
            boost::asio::post(
                executor_, [tell = std::move(what_.on_reaped), status,
                            hard_kill = fsm_.hard_kill()] { tell(aftermath{status, hard_kill}); });
    }
}

BELAY_DECL error_code run_op::refusal()
{
    report_.detail = invocation_fault(what_.argv, what_.cwd, what_.environment);
    if (!report_.detail.empty()) return errc::invalid_argv;
    if (input_.size() > what_.limits.input) {
        report_.detail = "the input for " + what_.argv[0] + " has " +
                         std::to_string(input_.size()) + " bytes; at most " +
                         std::to_string(what_.limits.input) + " are allowed";
        return errc::input_too_large;
    }
    return {};
}

BELAY_DECL void run_op::launch()
{
    report_.cause.clear();
    report_.detail.clear();
    stdio_pipes pipes;
    if (auto fault = make_pipes(pipes, what_.argv[0])) return fail_launch(*std::move(fault));

    // A child that finds its input ready, and the end of it, runs through without a pause.
    constexpr std::size_t usual_capacity = 64 * 1024;
    constexpr std::size_t highest_capacity = 1024 * 1024;  // without privilege
    if (input_.size() > usual_capacity)
        ::fcntl(pipes.in.write.get(), F_SETPIPE_SZ,
                static_cast<int>(std::min(input_.size(), highest_capacity)));
    written_ = 0;
    if (write_input(pipes.in.write.get())) pipes.in.write.reset();

    if (auto fault = launch_child(child_, what_.argv, what_.cwd, what_.environment, pipes, spawn_))
        return fail_launch(*std::move(fault));

    error_code error;
    const auto adopt = [&error](stream& by, int number) {
        if (!error) by.assign(number, error);
        return !error;
    };
    if (adopt(exit_, child_.pidfd()) && adopt(out_.pipe, pipes.out.read.get()))
        pipes.out.read.release();
    if (adopt(err_.pipe, pipes.err.read.get())) pipes.err.read.release();
    if (pipes.in.write.is_open() && adopt(in_, pipes.in.write.get())) pipes.in.write.release();
    if (error) {
        release();
        child_ = child();  // ends and reaps it
        return fail_launch(
            {errc::spawn_failed, error, "watching " + what_.argv[0] + ": " + error.message()});
    }
    obey(fsm_.launched(clock::now()));
}

BELAY_DECL void run_op::fail_launch(launch_fault fault)
{
    report_.cause = fault.cause;
    report_.detail = std::move(fault.detail);
    obey(fsm_.launch_failed(fault.code, clock::now()));
}

/// Writes what the pipe takes. Returns whether nothing is left to do with it.
BELAY_DECL bool run_op::write_input(int number)
{
    while (written_ < input_.size()) {
        const ssize_t n =
            write_without_sigpipe(number, input_.data() + written_, input_.size() - written_);
        if (n >= 0)
            written_ += static_cast<std::size_t>(n);
        else if (errno == EAGAIN)
            return false;
        else if (errno != EINTR)
            return true;
    }
    return true;
}

BELAY_DECL void run_op::wait_for_input_pipe()
{
    if (in_.is_open())
        in_.async_wait(stream::wait_write, [self = shared_from_this()](error_code) {
            if (!self->in_.is_open()) return;
            if (self->write_input(self->in_.native_handle()))
                close(self->in_);
            else
                self->wait_for_input_pipe();
        });
}

BELAY_DECL void run_op::wait_for_output(output& from)
{
    from.pipe.async_wait(stream::wait_read, [self = shared_from_this(), &from](error_code) {
        if (from.pipe.is_open()) self->read_output(from);
    });
}

BELAY_DECL void run_op::read_output(output& from)
{
    constexpr std::size_t fair_share = 64 * 1024;
    if (read_some(from, fair_share)) wait_for_output(from);
    if (out_.is_over_limit()) obey(fsm_.over_limit());
    if (!out_.pipe.is_open() && !err_.pipe.is_open()) obey(fsm_.pipes_closed());
}

/// Reads what is there, up to `at_most` bytes. Returns whether more may come; if not, the pipe is
/// closed. It does not block: Asio has seen to that when it was waited for.
BELAY_DECL bool run_op::read_some(output& from, std::size_t at_most)
{
    char buffer[16 * 1024];
    while (at_most > 0) {
        const ssize_t n =
            ::read(from.pipe.native_handle(), buffer, std::min(at_most, sizeof buffer));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return true;
        if (n <= 0) {
            close(from.pipe);
            return false;
        }
        const auto size = static_cast<std::size_t>(n);
        at_most -= size;
        from.seen += size;
        if (!reported_) from.kept.append(buffer, std::min(size, from.limit - from.kept.size()));
    }
    return true;
}

/// Reads what the child had written before it exited, and no more: somebody else may go on writing.
BELAY_DECL void run_op::drain()
{
    const auto number = [](output& of) { return of.pipe.is_open() ? of.pipe.native_handle() : -1; };
    pollfd ends[] = {{number(out_), POLLIN, 0}, {number(err_), POLLIN, 0}};
    ::poll(ends, 2, 0);
    drain(out_, ends[0].revents);
    drain(err_, ends[1].revents);
}

BELAY_DECL void run_op::drain(output& from, short events)
{
    if (!from.pipe.is_open()) return;
    int there = 0;
    if ((events & POLLIN) != 0 && ::ioctl(from.pipe.native_handle(), FIONREAD, &there) != 0)
        there = 0;
    if (!read_some(from, static_cast<std::size_t>(there))) return;
    if ((events & POLLHUP) != 0)
        close(from.pipe);
    else if (!reported_)
        report_.pipe_still_open = true;
}

BELAY_DECL void run_op::wait_for_exit()
{
    exit_.async_wait(stream::wait_read, [self = shared_from_this()](error_code) {
        if (!self->exit_.is_open()) return;
        const child_state state = self->child_.peek();
        if (state == child_state::running) return self->wait_for_exit();
        self->drain();
        if (!self->out_.pipe.is_open() && !self->err_.pipe.is_open())
            self->obey(self->fsm_.pipes_closed());
        self->obey(self->fsm_.exited(clock::now(), self->out_.is_over_limit(),
                                     state == child_state::lost));
    });
}

BELAY_DECL void run_op::wait_for_deadline()
{
    if (deadline_ == clock::time_point::max()) return;
    deadline_timer_.expires_at(deadline_);
    deadline_timer_.async_wait([self = shared_from_this()](error_code error) {
        if (!error) self->obey(self->fsm_.deadline_passed());
    });
}

BELAY_DECL void run_op::report(error_code error)
{
    reported_ = true;
    report_.out = std::move(out_.kept);
    report_.err = std::move(err_.kept);
    report_.out_bytes = out_.seen;
    report_.err_bytes = err_.seen;
    report_.stdin_unread = launched_ && written_ < input_.size();
    report_.duration = clock::now() - started_;
    close(in_);
    deadline_timer_.cancel();

    // A post, so that it is never entered from inside the initiating function or a cancellation.
    boost::asio::post(executor_,
                      boost::asio::bind_executor(std::move(handler_executor_),
                                                 [handler = std::move(handler_), error,
                                                  report = std::move(report_)]() mutable {
                                                     std::move(handler)(error, std::move(report));
                                                 }));
}

BELAY_DECL void run_op::release()
{
    close(in_);
    close(out_.pipe);
    close(err_.pipe);
    if (exit_.is_open()) exit_.release();
    deadline_timer_.cancel();
    pause_timer_.cancel();
}

/// A descriptor that a sibling's child holds for a moment longer would stay in the reactor after a
/// plain close, and report for whatever comes next. `release` takes it out first.
BELAY_DECL void run_op::close(stream& pipe) noexcept
{
    if (pipe.is_open()) ::close(pipe.release());
}

}  // namespace belay::process::detail

#endif
