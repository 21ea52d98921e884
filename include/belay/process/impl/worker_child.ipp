#ifndef BELAY_PROCESS_IMPL_WORKER_CHILD_IPP
#define BELAY_PROCESS_IMPL_WORKER_CHILD_IPP

#include <belay/process/detail/worker_child.hpp>
#include <belay/process/detail/worker_op.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace belay::process::detail {

BELAY_DECL worker_child::worker_child(boost::asio::any_io_executor executor, const bounds& within)
    : executor_(std::move(executor)),
      within_(within),
      fsm_(within.grace > std::chrono::milliseconds::zero()),
      exit_(executor_),
      in_(executor_),
      out_(executor_),
      error_(executor_),
      grace_(executor_),
      bytes_(new char[out_share])
{}

BELAY_DECL worker_child::~worker_child()
{
    close(in_);
    close(out_);
    close(error_);
    if (exit_.is_open()) exit_.release();
    if (owner_) owner_->on_context_destroyed();
}

BELAY_DECL error_code worker_child::adopt(child started, stdio_pipes& pipes,
                                          std::shared_ptr<worker_op> owner)
{
    child_ = std::move(started);
    error_code error;
    const auto take = [&error](stream& by, file_descriptor& from) {
        if (!error) by.assign(from.get(), error);
        if (!error) from.release();
    };
    exit_.assign(child_.pidfd(), error);
    take(in_, pipes.in.write);
    take(out_, pipes.out.read);
    take(error_, pipes.err.read);
    if (!error) owner_ = std::move(owner);
    return error;
}

BELAY_DECL void worker_child::watch()
{
    read_out();
    wait_for_err();
    wait_for_exit();
}

BELAY_DECL bool worker_child::flush()
{
    if (!wants_flush()) return true;
    std::size_t written = 0;
    bool readable = in_.is_open();
    while (readable && written < unwritten_.size()) {
        const ssize_t n = write_without_sigpipe(in_.native_handle(), unwritten_.data() + written,
                                                unwritten_.size() - written);
        if (n >= 0)
            written += static_cast<std::size_t>(n);
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            readable = false;
    }
    unwritten_.erase(0, readable ? written : unwritten_.size());
    if (!unwritten_.empty()) wait_for_in();
    return readable;
}

BELAY_DECL void worker_child::hang_up()
{
    obey(fsm_.hang_up());
}

BELAY_DECL void worker_child::let_go(bool politely)
{
    owner_.reset();
    line_ = {};
    err_ = {};
    obey(politely ? fsm_.hang_up() : fsm_.terminate());
}

BELAY_DECL const std::string& worker_child::err()
{
    read_err(bytes_in(error_));
    return err_;
}

/// The order of the members is the order of the deeds.
BELAY_DECL void worker_child::obey(ending_step step)
{
    if (step.hang_up) {
        unwritten_ = {};
        close(in_);
    }
    if (step.signal != group_signal::none)
        child_.signal_group(step.signal == group_signal::kill ? SIGKILL : SIGTERM);
    if (step.arm_grace) {
        grace_.expires_at(
            belay::detail::time_after(std::chrono::steady_clock::now(), within_.grace));
        grace_.async_wait([self = shared_from_this()](error_code error) {
            if (!error) self->obey(self->fsm_.grace_over());
        });
    }
    if (step.reap) {
        exit_.release();
        const exit_status status = child_.reap();
        grace_.cancel();
        // What is reaped without a signal has ended by itself.
        if (const auto owner = std::exchange(owner_, nullptr))
            owner->on_exit(status, step.signal != group_signal::none);
        close(in_);
        close(out_);
        close(error_);
    }
}

BELAY_DECL void worker_child::wait_for_in()
{
    waits_for_in_ = true;
    in_.async_wait(stream::wait_write, [self = shared_from_this()](error_code) {
        self->waits_for_in_ = false;
        if (self->in_.is_open() && !self->flush() && self->owner_)
            std::shared_ptr(self->owner_)->on_hang_up();
    });
}

/// While stdout is open, this is under way: not a wait and then a read, which would be a system call more.
BELAY_DECL void worker_child::read_out()
{
    if (!out_.is_open()) return;
    out_.async_read_some(boost::asio::buffer(bytes_.get(), out_share),
                         [self = shared_from_this()](error_code error, std::size_t size) {
                             if (!self->out_.is_open()) return;
                             const std::shared_ptr<worker_op> owner = self->owner_;
                             if (owner) owner->begin_lines();
                             self->take_lines({self->bytes_.get(), size});
                             if (error && error != boost::asio::error::operation_aborted)
                                 close(self->out_);
                             if (!self->out_.is_open() && self->owner_) owner->on_hang_up();
                             self->check_pipes();
                             if (self->has_exited_)
                                 self->on_exit();
                             else
                                 self->read_out();
                             if (owner) owner->end_lines();
                         });
}

BELAY_DECL void worker_child::wait_for_err()
{
    constexpr std::size_t fair_share = 64 * 1024;
    if (error_.is_open())
        error_.async_wait(stream::wait_read, [self = shared_from_this()](error_code) {
            if (!self->error_.is_open()) return;
            self->read_err(fair_share);
            self->check_pipes();
            self->wait_for_err();
        });
}

BELAY_DECL void worker_child::wait_for_exit()
{
    exit_.async_wait(stream::wait_read, [self = shared_from_this()](error_code) {
        if (!self->exit_.is_open()) return;
        if (self->child_.peek() == child_state::running) return self->wait_for_exit();
        self->has_exited_ = true;
        if (!self->out_.is_open()) return self->on_exit();
        error_code ignored;  // what was read already comes first
        self->out_.cancel(ignored);
    });
}

/// Takes what the child had written before it exited, and no more: somebody else may go on writing.
BELAY_DECL void worker_child::on_exit()
{
    drain_out(bytes_in(out_));
    read_err(bytes_in(error_));
    check_pipes();
    obey(fsm_.exited());
}

BELAY_DECL void worker_child::check_pipes()
{
    if (!out_.is_open() && !error_.is_open()) obey(fsm_.pipes_closed());
}

/// Whoever is told of a line may let this go, and then no further line counts.
BELAY_DECL void worker_child::take_lines(std::string_view bytes)
{
    const std::shared_ptr<worker_op> owner = owner_;
    while (!bytes.empty() && owner_) {
        const std::size_t end = std::min(bytes.find('\n'), bytes.size());
        const bool whole = end != bytes.size();
        if (line_.size() + end > within_.line) {
            line_ += bytes.substr(0, end);
            return owner->on_long_line(std::string(line_));
        }
        if (!whole) {
            line_ += bytes;
            return;
        }
        if (line_.empty()) {
            owner->on_line(bytes.substr(0, end));
        } else {
            line_ += bytes.substr(0, end);
            owner->on_line(std::exchange(line_, {}));
        }
        bytes.remove_prefix(end + 1);
    }
}

BELAY_DECL void worker_child::drain_out(std::size_t at_most)
{
    while (at_most > 0) {
        const ssize_t n = ::read(out_.native_handle(), bytes_.get(), std::min(at_most, out_share));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) return close(out_);
        const auto size = static_cast<std::size_t>(n);
        at_most -= size;
        take_lines({bytes_.get(), size});
    }
}

BELAY_DECL void worker_child::read_err(std::size_t at_most)
{
    char buffer[16 * 1024];
    while (at_most > 0 && error_.is_open()) {
        const ssize_t n = ::read(error_.native_handle(), buffer, std::min(at_most, sizeof buffer));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) return close(error_);
        const auto size = static_cast<std::size_t>(n);
        at_most -= size;
        if (!owner_) continue;
        err_.append(buffer, size);
        if (err_.size() > within_.err) err_.erase(0, err_.size() - within_.err);
    }
}

BELAY_DECL std::size_t worker_child::bytes_in(stream& pipe) noexcept
{
    int there = 0;
    if (!pipe.is_open() || ::ioctl(pipe.native_handle(), FIONREAD, &there) != 0) return 0;
    return static_cast<std::size_t>(there);
}

/// As `run_op::close`.
BELAY_DECL void worker_child::close(stream& pipe) noexcept
{
    if (pipe.is_open()) ::close(pipe.release());
}

}  // namespace belay::process::detail

#endif
