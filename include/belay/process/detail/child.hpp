#ifndef BELAY_PROCESS_DETAIL_CHILD_HPP
#define BELAY_PROCESS_DETAIL_CHILD_HPP

// A started child that leads its own process group. It is reaped exactly once.

#include <belay/config.hpp>
#include <belay/process/detail/file_descriptor.hpp>
#include <belay/process/exit_report.hpp>

#include <sys/types.h>
#include <utility>

namespace belay::process::detail {

enum class child_state : unsigned char {
    running,
    ended,  ///< a zombie that `reap` can take
    lost,   ///< it ended, and somebody else has its status
};

class child {
public:
    child() = default;
    child(pid_t pid, int pidfd) noexcept : pid_(pid), pidfd_(pidfd) {}
    child(child&& other) noexcept
        : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_))
    {}

    /// Kills the group if the child has not been reaped, and waits for it, at most one second: a
    /// child that the kernel cannot end in that time is left to whoever inherits it.
    BELAY_DECL ~child();

    /// Replaces a child that has been reaped, or none.
    child& operator=(child&& other) noexcept
    {
        std::swap(pid_, other.pid_);
        std::swap(pidfd_, other.pidfd_);
        return *this;
    }

    /// Readable when the child has ended. Readiness is a hint: ask `peek`.
    int pidfd() const noexcept { return pidfd_.get(); }

    /// Never blocks, and leaves a zombie as it is.
    BELAY_DECL child_state peek() noexcept;

    /// To the whole group, by way of the pidfd where the kernel can (6.9), else by number. The
    /// number cannot have been used again: that takes a reap, and after `reap` nothing is sent.
    BELAY_DECL void signal_group(int number) noexcept;

    /// Takes the status of a child that has ended, and forgets the pid. Never blocks.
    BELAY_DECL exit_status reap() noexcept;

private:
    pid_t pid_ = -1;
    file_descriptor pidfd_;
};

}  // namespace belay::process::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/process/impl/child.ipp>
#endif

#endif
