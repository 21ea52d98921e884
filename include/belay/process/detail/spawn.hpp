#ifndef BELAY_PROCESS_DETAIL_SPAWN_HPP
#define BELAY_PROCESS_DETAIL_SPAWN_HPP

// Starts a program. Never by fork: the cost does not grow with the memory of the host.

#include <belay/config.hpp>

#include <array>
#include <span>
#include <sys/types.h>

#if !defined(__linux__)
#error "belay::process needs Linux 5.4 or newer: a child is waited for through a pidfd"
#endif

namespace belay::process::detail {

enum class spawn_way : unsigned char {
    automatic,    ///< `clone`, and `posix_spawn` where the kernel or a sandbox refuses that
    clone,        ///< `clone(CLONE_VM | CLONE_VFORK | CLONE_PIDFD)`, own stack, raw system calls
    posix_spawn,  ///< of glibc 2.34 or newer, then `pidfd_open`
};

/// What a failed spawn was doing.
enum class spawn_stage : unsigned char {
    start,  ///< making the child, or its place in the world
    stdio,  ///< giving it descriptors 0, 1 and 2
    cwd,    ///< entering its working directory
    setup,  ///< the caller's own function
    exec,   ///< becoming the program
};

/// Pointers and descriptors are the caller's and have to last until `spawn` returns.
struct spawn_request {
    const char* file = nullptr;                ///< a path; PATH is not searched
    const char* const* argv = nullptr;         ///< ends with a null pointer
    const char* const* environment = nullptr;  ///< likewise; null: the host's
    const char* cwd = nullptr;                 ///< null: the host's
    std::array<int, 3> stdio{-1, -1, -1};      ///< what becomes 0, 1, 2; -1: the host's own
    std::span<const int> keep;  ///< other descriptors that the child keeps, ascending
    bool own_group = true;      ///< whether it leads a process group of its own

    /// Called in the child, last before the program, in the host's memory while the host's thread
    /// stands still: it may only make calls that are async-signal-safe. Returns an errno value.
    /// `clone` only.
    int (*setup)(void* context) = nullptr;
    void* context = nullptr;

    spawn_way way = spawn_way::automatic;
};

/// A started child, or (`error` is not 0) no child at all: what had been started has been reaped.
struct spawn_result {
    pid_t pid = -1;
    int pidfd = -1;
    int error = 0;  ///< errno value
    spawn_stage stage = spawn_stage::start;
};

/// Returns when the child has become its program, or could not. The calling thread stands still
/// meanwhile. The child has every signal at its default and none blocked; descriptors other than 0,
/// 1, 2 and `keep` are closed in it.
BELAY_DECL spawn_result spawn(const spawn_request& request);

}  // namespace belay::process::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/process/impl/spawn.ipp>
#endif

#endif
