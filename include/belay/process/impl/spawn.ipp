#ifndef BELAY_PROCESS_IMPL_SPAWN_IPP
#define BELAY_PROCESS_IMPL_SPAWN_IPP

#include <belay/process/detail/file_descriptor.hpp>
#include <belay/process/detail/spawn.hpp>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace belay::process::detail {

/// For a child that did not become its program, and a child that nobody could watch.
inline void reap_failed_child(pid_t pid) noexcept
{
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
}

// ------------------------------------------------------------------------------------------
// clone
// ------------------------------------------------------------------------------------------

#if defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))

// The child runs in the host's memory, beside the host's other threads, with the calling thread's
// thread-local storage. So what it runs is not instrumented (a sanitizer would count its frames as
// the calling thread's, and they never return) and makes raw system calls (the C library's wrappers
// write errno).
#if defined(__clang__)
#define BELAY_IN_CHILD __attribute__((disable_sanitizer_instrumentation, no_stack_protector))
#elif defined(__GNUC__) && __GNUC__ >= 11
#define BELAY_IN_CHILD                                                             \
    __attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined, \
                   no_stack_protector))
#else
#define BELAY_IN_CHILD \
    __attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined))
#endif

struct clone_frame {
    const spawn_request* request;
    const char* const* environment;
    int error;
    spawn_stage stage;
};

BELAY_IN_CHILD inline long system_call(long number, long a = 0, long b = 0, long c = 0,
                                       long d = 0) noexcept
{
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory", "cc");
    return x0;
#endif
}

BELAY_IN_CHILD inline long system_call(long number, const void* a, long b = 0, long c = 0) noexcept
{
    return system_call(number, reinterpret_cast<long>(a), b, c);
}

/// Calls `function(frame)` in a new process on a stack of its own, and returns when that process
/// has become another program or has exited. Returns its pid, or a negative errno value.
BELAY_IN_CHILD inline long clone_and_call(void (*function)(clone_frame*), clone_frame* frame,
                                          char* stack_end, int* pidfd) noexcept
{
    constexpr long flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD;
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    register clone_frame* r12 __asm__("r12") = frame;
    register void (*r13)(clone_frame*) __asm__("r13") = function;
    __asm__ volatile(
        "syscall\n\t"
        "test %%rax, %%rax\n\t"
        "jnz 1f\n\t"
        "xor %%ebp, %%ebp\n\t"
        "mov %%r12, %%rdi\n\t"
        "call *%%r13\n\t"
        "ud2\n"
        "1:"
        : "=a"(result)
        : "a"(static_cast<long>(SYS_clone)), "D"(flags), "S"(stack_end), "d"(pidfd), "r"(r10),
          "r"(r8), "r"(r12), "r"(r13)
        : "rcx", "r11", "memory", "cc");
    return result;
#else
    register long x8 __asm__("x8") = SYS_clone;
    register long x0 __asm__("x0") = flags;
    register char* x1 __asm__("x1") = stack_end;
    register int* x2 __asm__("x2") = pidfd;
    register long x3 __asm__("x3") = 0;
    register long x4 __asm__("x4") = 0;
    register clone_frame* x20 __asm__("x20") = frame;
    register void (*x21)(clone_frame*) __asm__("x21") = function;
    __asm__ volatile(
        "svc #0\n\t"
        "cbnz x0, 1f\n\t"
        "mov x29, xzr\n\t"
        "mov x0, x20\n\t"
        "blr x21\n\t"
        "brk #1\n"
        "1:"
        : "+r"(x0)
        : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x20), "r"(x21)
        : "memory", "cc");
    return x0;
#endif
}

/// Closes what `/proc/self/fd` lists from `first` to `last`, for kernels before 5.9.
BELAY_IN_CHILD inline void close_listed(unsigned first, unsigned last) noexcept
{
    struct entry_header {
        std::uint64_t inode;
        std::int64_t offset;
        unsigned short size;
        unsigned char type;
        char name[1];
    };
    alignas(8) char entries[1024];

    // Each pass closes what the pass before had listed, until a pass finds nothing.
    for (bool found = true; found;) {
        found = false;
        const long list = system_call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/fd"),
                                      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (list < 0) return;
        for (long size; (size = system_call(SYS_getdents64, list, reinterpret_cast<long>(entries),
                                            static_cast<long>(sizeof entries))) > 0;) {
            for (long at = 0; at < size;) {
                const auto* const entry = reinterpret_cast<const entry_header*>(entries + at);
                unsigned number = 0;
                const char* digit = entry->name;
                for (; *digit >= '0' && *digit <= '9'; ++digit)
                    number = number * 10 + static_cast<unsigned>(*digit - '0');
                if (digit != entry->name && number >= first && number <= last &&
                    static_cast<long>(number) != list) {
                    system_call(SYS_close, static_cast<long>(number));
                    found = true;
                }
                at += entry->size;
            }
        }
        system_call(SYS_close, list);
    }
}

BELAY_IN_CHILD inline void close_range(unsigned first, unsigned last) noexcept
{
    constexpr long number = 436;  // SYS_close_range, which older headers do not name
    if (first <= last && system_call(number, static_cast<long>(first), static_cast<long>(last)) < 0)
        close_listed(first, last);
}

/// Returns a negative errno value, or 0 or more.
BELAY_IN_CHILD inline long place_stdio(std::array<int, 3> from) noexcept
{
    // One that stands in the way of another moves out of it first.
    for (int target = 0; target < 3; ++target) {
        int& number = from.begin()[target];
        if (number >= 0 && number < 3 && number != target) {
            const long higher = system_call(SYS_fcntl, number, F_DUPFD_CLOEXEC, 3);
            if (higher < 0) return higher;
            number = static_cast<int>(higher);
        }
    }
    for (int target = 0; target < 3; ++target) {
        const int number = from.begin()[target];
        if (number < 0) continue;
        const long placed = number == target ? system_call(SYS_fcntl, number, F_SETFD, 0)
                                             : system_call(SYS_dup3, number, target, 0);
        if (placed < 0) return placed;
    }
    return 0;
}

/// The child, from its first instruction to the program's.
BELAY_IN_CHILD inline void become_program(clone_frame* frame) noexcept
{
    const spawn_request& request = *frame->request;
    const auto fail = [frame](spawn_stage stage, long error) BELAY_IN_CHILD {
        frame->stage = stage;
        frame->error = static_cast<int>(error);
        system_call(SYS_exit_group, 127);
    };

    // Every signal is blocked here. A handler of the host's must not run in this process, so all go
    // before the mask does; and what the host ignores (SIGPIPE, often) is not the program's to
    // inherit.
    const unsigned long default_action[8] = {};
    for (long number = 1; number <= 64; ++number)
        system_call(SYS_rt_sigaction, number, reinterpret_cast<long>(default_action), 0, 8);

    if (request.own_group)
        if (const long error = system_call(SYS_setpgid, 0L, 0L); error < 0)
            return fail(spawn_stage::start, -error);
    if (const long error = place_stdio(request.stdio); error < 0)
        return fail(spawn_stage::stdio, -error);
    if (request.cwd)
        if (const long error = system_call(SYS_chdir, request.cwd); error < 0)
            return fail(spawn_stage::cwd, -error);
    if (request.setup)
        if (const int error = request.setup(request.context); error != 0)
            return fail(spawn_stage::setup, error);

    unsigned first = 3;
    const int* const keep = request.keep.data();
    for (std::size_t i = 0; i < request.keep.size(); ++i) {
        if (keep[i] < 3) continue;
        const auto kept = static_cast<unsigned>(keep[i]);
        if (kept > first) close_range(first, kept - 1);
        first = kept + 1;
    }
    close_range(first, UINT_MAX);

    const unsigned long nothing = 0;
    system_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&nothing), 0, 8);
    const long error = system_call(SYS_execve, reinterpret_cast<long>(request.file),
                                   reinterpret_cast<long>(request.argv),
                                   reinterpret_cast<long>(frame->environment));
    fail(spawn_stage::exec, -error);
}

/// Where a thread's children run until they are programs, one after the other: made for the first, since
/// a new one costs as much as several system calls. Room for a caller's `setup`; the page below it is
/// not accessible.
class child_stack {
public:
    /// The end of this thread's, or null: see errno. Also for what runs when a thread, or the program,
    /// is ending and its objects are gone: the stack is made once more, then, and stays.
    static char* end() noexcept
    {
        if (!memory_) make();
        return memory_ ? memory_ + guard_size + size : nullptr;
    }

private:
    static constexpr std::size_t guard_size = 64 * 1024;  // a page, whatever the machine calls that
    static constexpr std::size_t size = 64 * 1024;

    struct owner {
        ~owner() { ::munmap(std::exchange(memory_, nullptr), guard_size + size); }
    };

    static void make() noexcept
    {
        void* const memory = ::mmap(nullptr, guard_size + size, PROT_NONE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (memory == MAP_FAILED) return;
        if (::mprotect(static_cast<char*>(memory) + guard_size, size, PROT_READ | PROT_WRITE) !=
            0) {
            ::munmap(memory, guard_size + size);
            return;
        }
        memory_ = static_cast<char*>(memory);
        if (!std::exchange(owned_, true)) own();
    }

    static void own() noexcept { thread_local const owner at_the_end_of_the_thread; }

    static inline thread_local constinit char* memory_ = nullptr;
    static inline thread_local constinit bool owned_ = false;
};

/// `refused`: clone is not to be had here, and another way may be tried.
inline spawn_result spawn_by_clone(const spawn_request& request, bool& refused) noexcept
{
    char* const stack_end = child_stack::end();
    if (!stack_end) return {.error = errno};

    clone_frame frame{&request, request.environment ? request.environment : ::environ, 0,
                      spawn_stage::start};

    // Also the C library's own signals, which sigfillset leaves out: one of them changes user ids.
    const unsigned long every_signal = ~0UL;
    unsigned long before = 0;
    spawn_result result;
    system_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&every_signal),
                reinterpret_cast<long>(&before), 8);
    const long pid = clone_and_call(&become_program, &frame, stack_end, &result.pidfd);
    system_call(SYS_rt_sigprocmask, SIG_SETMASK, reinterpret_cast<long>(&before), 0, 8);

    if (pid < 0) {
        result.pidfd = -1;
        result.error = static_cast<int>(-pid);
        refused = pid == -ENOSYS || pid == -EPERM || pid == -EINVAL;
    } else if (frame.error != 0) {
        reap_failed_child(static_cast<pid_t>(pid));
        ::close(result.pidfd);
        result.pidfd = -1;
        result.error = frame.error;
        result.stage = frame.stage;
    } else
        result.pid = static_cast<pid_t>(pid);
    return result;
}

#undef BELAY_IN_CHILD

#else

inline spawn_result spawn_by_clone(const spawn_request&, bool& refused) noexcept
{
    refused = true;
    return {.error = ENOSYS};
}

#endif

// ------------------------------------------------------------------------------------------
// posix_spawn
// ------------------------------------------------------------------------------------------

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)

/// What posix_spawn is told, released on every path.
struct spawn_orders {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    spawn_orders() noexcept
    {
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawnattr_init(&attributes);
    }
    spawn_orders(const spawn_orders&) = delete;
    spawn_orders& operator=(const spawn_orders&) = delete;
    ~spawn_orders()
    {
        ::posix_spawn_file_actions_destroy(&actions);
        ::posix_spawnattr_destroy(&attributes);
    }
};

inline spawn_result spawn_by_posix_spawn(const spawn_request& request)
{
    if (request.setup ||
        std::any_of(request.keep.begin(), request.keep.end(), [](int n) { return n > 2; }))
        return {.error = ENOTSUP, .stage = spawn_stage::setup};

    // posix_spawn does not say which of its steps failed. So the directory is opened here, where a
    // failure is the directory's, and entered there by its descriptor.
    file_descriptor cwd;
    if (request.cwd) {
        cwd.reset(::open(request.cwd, O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (!cwd.is_open() || ::faccessat(cwd.get(), ".", X_OK, AT_EACCESS) != 0)
            return {.error = errno, .stage = spawn_stage::cwd};
    }

    spawn_orders orders;
    int error = 0;
    const auto order = [&error](int outcome) {
        if (error == 0) error = outcome;
    };

    std::array<file_descriptor, 3> moved;
    for (int target = 0; target < 3; ++target) {
        const auto at = static_cast<std::size_t>(target);
        int number = request.stdio[at];
        if (number < 0) continue;
        if (number < 3 && number != target) {
            moved[at].reset(::fcntl(number, F_DUPFD_CLOEXEC, 3));
            if (!moved[at].is_open()) return {.error = errno, .stage = spawn_stage::stdio};
            number = moved[at].get();
        }
        order(::posix_spawn_file_actions_adddup2(&orders.actions, number, target));
    }
    if (cwd.is_open()) order(::posix_spawn_file_actions_addfchdir_np(&orders.actions, cwd.get()));
    order(::posix_spawn_file_actions_addclosefrom_np(&orders.actions, 3));

    sigset_t every_signal;
    ::sigfillset(&every_signal);
    sigset_t no_signal;
    ::sigemptyset(&no_signal);
    order(::posix_spawnattr_setsigdefault(&orders.attributes, &every_signal));
    order(::posix_spawnattr_setsigmask(&orders.attributes, &no_signal));
    order(::posix_spawnattr_setpgroup(&orders.attributes, 0));
    order(::posix_spawnattr_setflags(
        &orders.attributes, static_cast<short>(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                               (request.own_group ? POSIX_SPAWN_SETPGROUP : 0))));
    if (error != 0) return {.error = error};

    pid_t pid = -1;
    error = ::posix_spawn(
        &pid, request.file, &orders.actions, &orders.attributes,
        const_cast<char* const*>(request.argv),
        const_cast<char* const*>(request.environment ? request.environment : ::environ));
    if (error != 0) return {.error = error, .stage = spawn_stage::exec};

    const long pidfd = ::syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0) {
        // A child that cannot be watched must not run on.
        error = errno;
        ::kill(request.own_group ? -pid : pid, SIGKILL);
        reap_failed_child(pid);
        return {.error = error};
    }
    return {.pid = pid, .pidfd = static_cast<int>(pidfd)};
}

#else

inline spawn_result spawn_by_posix_spawn(const spawn_request&)
{
    return {.error = ENOSYS};
}

#endif

BELAY_DECL spawn_result spawn(const spawn_request& request)
{
    if (request.way == spawn_way::posix_spawn) return spawn_by_posix_spawn(request);
    bool refused = false;
    spawn_result result = spawn_by_clone(request, refused);
    if (refused && request.way == spawn_way::automatic) result = spawn_by_posix_spawn(request);
    return result;
}

}  // namespace belay::process::detail

#endif
