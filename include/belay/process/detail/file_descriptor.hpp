#ifndef BELAY_PROCESS_DETAIL_FILE_DESCRIPTOR_HPP
#define BELAY_PROCESS_DETAIL_FILE_DESCRIPTOR_HPP

// An owned descriptor, and the pipes that a child is given.

#include <belay/config.hpp>

#include <unistd.h>
#include <utility>

namespace belay::process::detail {

class file_descriptor {
public:
    file_descriptor() = default;
    explicit file_descriptor(int number) noexcept : number_(number) {}
    file_descriptor(file_descriptor&& other) noexcept : number_(other.release()) {}
    file_descriptor& operator=(file_descriptor&& other) noexcept
    {
        reset(other.release());
        return *this;
    }
    ~file_descriptor() { reset(); }

    int get() const noexcept { return number_; }
    bool is_open() const noexcept { return number_ >= 0; }
    int release() noexcept { return std::exchange(number_, -1); }

    void reset(int number = -1) noexcept
    {
        if (const int old = std::exchange(number_, number); old >= 0) ::close(old);
    }

private:
    int number_ = -1;
};

struct pipe_ends {
    file_descriptor read;
    file_descriptor write;
};

/// Makes a pipe whose ends are close-on-exec and never 0, 1 or 2, also when the host has closed
/// those: a child's descriptors are put there, and one must not land on another. Returns an errno
/// value.
BELAY_DECL int make_pipe(pipe_ends& ends) noexcept;

/// Makes reads and writes of this end return at once. Returns an errno value.
BELAY_DECL int make_nonblocking(const file_descriptor& end) noexcept;

/// `write` to a pipe, but a reader that has gone is EPIPE and nothing else: what the host does with
/// SIGPIPE is not touched.
BELAY_DECL ssize_t write_without_sigpipe(int number, const char* bytes, std::size_t size) noexcept;

// The two ways in which it does that.

/// The signal does not arise. Needs Linux 6.18; before, errno is EOPNOTSUPP.
BELAY_DECL ssize_t write_with_no_signal_flag(int number, const char* bytes,
                                             std::size_t size) noexcept;

/// The signal is held back for this thread, and taken.
BELAY_DECL ssize_t write_with_sigpipe_masked(int number, const char* bytes,
                                             std::size_t size) noexcept;

}  // namespace belay::process::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/process/impl/file_descriptor.ipp>
#endif

#endif
