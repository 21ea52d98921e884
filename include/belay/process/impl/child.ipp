#ifndef BELAY_PROCESS_IMPL_CHILD_IPP
#define BELAY_PROCESS_IMPL_CHILD_IPP

#include <belay/process/detail/child.hpp>

#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::process::detail {

/// Returns 0 or an errno value; `info.si_pid` is 0 when the child is still running.
inline int wait_through_pidfd(int pidfd, siginfo_t& info, int options) noexcept
{
    constexpr auto by_pidfd =
        static_cast<idtype_t>(3);  // P_PIDFD, which older C libraries do not name
    info = {};
    while (::waitid(by_pidfd, static_cast<id_t>(pidfd), &info, options | WEXITED | WNOHANG) != 0)
        if (errno != EINTR) return errno;
    return 0;
}

/// Returns 0 or an errno value.
inline int signal_through_pidfd(int pidfd, int number, unsigned flags) noexcept
{
    return ::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, flags) == 0 ? 0 : errno;
}

BELAY_DECL child::~child()
{
    if (pid_ < 0) return;
    signal_group(SIGKILL);
    pollfd end{pidfd_.get(), POLLIN, 0};
    while (::poll(&end, 1, 1000) < 0 && errno == EINTR) {
    }
    reap();
}

BELAY_DECL child_state child::peek() noexcept
{
    siginfo_t info;
    if (wait_through_pidfd(pidfd_.get(), info, WNOWAIT) != 0) return child_state::lost;
    return info.si_pid == 0 ? child_state::running : child_state::ended;
}

BELAY_DECL void child::signal_group(int number) noexcept
{
    if (pid_ < 0) return;
    constexpr unsigned whole_group = 1U << 2;  // PIDFD_SIGNAL_PROCESS_GROUP
    const int error = signal_through_pidfd(pidfd_.get(), number, whole_group);
    if (error == 0 || error == ESRCH) return;
    // An older kernel, or a filter. The number is still the group's: its leader has not been reaped.
    if (peek() != child_state::lost && ::kill(-pid_, number) == 0) return;
    signal_through_pidfd(pidfd_.get(), number, 0);  // some of the group could not be reached
}

BELAY_DECL exit_status child::reap() noexcept
{
    siginfo_t info;
    const int error = wait_through_pidfd(pidfd_.get(), info, 0);
    pid_ = -1;
    pidfd_.reset();
    if (error != 0 || info.si_pid == 0) return {};
    return info.si_code == CLD_EXITED ? exit_status::exited(info.si_status)
                                      : exit_status::signalled(info.si_status);
}

}  // namespace belay::process::detail

#endif
