#ifndef BELAY_PROCESS_IMPL_FILE_DESCRIPTOR_IPP
#define BELAY_PROCESS_IMPL_FILE_DESCRIPTOR_IPP

#include <belay/process/detail/file_descriptor.hpp>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>

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
    const int flags = ::fcntl(end.get(), F_GETFL);
    return flags < 0 || ::fcntl(end.get(), F_SETFL, flags | O_NONBLOCK) != 0 ? errno : 0;
}

BELAY_DECL ssize_t write_without_sigpipe(int number, const char* bytes, std::size_t size) noexcept
{
    sigset_t pending;
    ::sigpending(&pending);
    const bool was_pending = ::sigismember(&pending, SIGPIPE) == 1;  // then it is not ours to take

    sigset_t broken_pipe;
    ::sigemptyset(&broken_pipe);
    ::sigaddset(&broken_pipe, SIGPIPE);
    sigset_t before;
    ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
    const ssize_t written = ::write(number, bytes, size);
    const int error = errno;
    if (written < 0 && error == EPIPE && !was_pending) {
        const timespec at_once{};
        while (::sigtimedwait(&broken_pipe, nullptr, &at_once) < 0 && errno == EINTR) {
        }
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return written;
}

}  // namespace belay::process::detail

#endif
