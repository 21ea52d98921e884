#ifndef BELAY_PROCESS_IMPL_FILE_DESCRIPTOR_IPP
#define BELAY_PROCESS_IMPL_FILE_DESCRIPTOR_IPP

#include <belay/process/detail/file_descriptor.hpp>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace belay::process::detail {

BELAY_DECL int make_pipe(pipe_ends& ends) noexcept
{
    int numbers[2];
    if (::pipe2(numbers, O_CLOEXEC) != 0) return errno;
    ends.read.reset(numbers[0]);
    ends.write.reset(numbers[1]);
    for (file_descriptor* const end : {&ends.read, &ends.write}) {
        if (end->get() > 2) continue;
        const int higher = ::fcntl(end->get(), F_DUPFD_CLOEXEC, 3);
        if (higher < 0) return errno;
        end->reset(higher);
    }
    return 0;
}

BELAY_DECL int make_nonblocking(const file_descriptor& end) noexcept
{
    int on = 1;
    return ::ioctl(end.get(), FIONBIO, &on) == 0 ? 0 : errno;
}

BELAY_DECL ssize_t write_with_no_signal_flag(int number, const char* bytes,
                                             std::size_t size) noexcept
{
    constexpr int no_signal = 0x100;  // RWF_NOSIGNAL, which older headers do not name
    const iovec all{const_cast<char*>(bytes), size};
    constexpr long at_its_place = -1;
    return ::syscall(SYS_pwritev2, number, &all, 1, at_its_place, at_its_place, no_signal);
}

BELAY_DECL ssize_t write_with_sigpipe_masked(int number, const char* bytes,
                                             std::size_t size) noexcept
{
    sigset_t broken_pipe;
    ::sigemptyset(&broken_pipe);
    ::sigaddset(&broken_pipe, SIGPIPE);
    sigset_t before;
    ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
    const bool was_masked = ::sigismember(&before, SIGPIPE) == 1;
    sigset_t pending;
    ::sigemptyset(&pending);
    if (was_masked) ::sigpending(&pending);  // one that is pending is not ours to take
    const ssize_t written = ::write(number, bytes, size);
    const int error = errno;
    if (written < 0 && error == EPIPE && ::sigismember(&pending, SIGPIPE) == 0) {
        const timespec at_once{};
        while (::sigtimedwait(&broken_pipe, nullptr, &at_once) < 0 && errno == EINTR) {
        }
    }
    if (!was_masked) ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return written;
}

BELAY_DECL ssize_t write_without_sigpipe(int number, const char* bytes, std::size_t size) noexcept
{
    static std::atomic<bool> has_flag = true;
    if (has_flag.load(std::memory_order_relaxed)) {
        const ssize_t written = write_with_no_signal_flag(number, bytes, size);
        if (written >= 0 || errno == EPIPE || errno == EAGAIN || errno == EINTR) return written;
        // A kernel, or a sandbox, that does not know the flag says so in many ways.
        has_flag.store(false, std::memory_order_relaxed);
    }
    return write_with_sigpipe_masked(number, bytes, size);
}

}  // namespace belay::process::detail

#endif
