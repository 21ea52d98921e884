#ifndef BELAY_BENCH_PROGRAMS_BARE_HPP
#define BELAY_BENCH_PROGRAMS_BARE_HPP

// An executable hook that links no C library, so that little of the time of a run is its own: where a
// hypervisor answers the questions that glibc asks the processor at its start, they take most of it.
// Whoever includes this defines `run`. Linked with -nostdlib -static.

namespace {

enum : long {
#if defined(__x86_64__)
    number_of_read = 0,
    number_of_write = 1,
    number_of_nanosleep = 35,
    number_of_exit = 60,
#elif defined(__aarch64__)
    number_of_read = 63,
    number_of_write = 64,
    number_of_exit = 93,
    number_of_nanosleep = 101,
#else
#error "no system calls are known for this machine"
#endif
};

long system_call(long number, long a, const void* b, unsigned long c)
{
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register const void* x1 __asm__("x1") = b;
    register unsigned long x2 __asm__("x2") = c;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory", "cc");
    return x0;
#endif
}

char buffer[64 * 1024];

void read_all()
{
    while (system_call(number_of_read, 0, buffer, sizeof buffer) > 0) {
    }
}

bool observe()
{
    constexpr char answer[] = "{\"power\":\"observe\"}";
    constexpr long size = sizeof answer - 1;
    return system_call(number_of_write, 1, answer, size) == size;
}

bool run();  // whether all is well

}  // namespace

// Nobody has called it, so the stack is not as a function may expect.
#if defined(__x86_64__)
extern "C" [[noreturn, gnu::force_align_arg_pointer]] void _start();
#else
extern "C" [[noreturn]] void _start();
#endif

void _start()
{
    const int status = run() ? 0 : 1;
    for (;;) system_call(number_of_exit, status, nullptr, 0);
}

#endif
