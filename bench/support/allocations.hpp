#ifndef BELAY_BENCH_SUPPORT_ALLOCATIONS_HPP
#define BELAY_BENCH_SUPPORT_ALLOCATIONS_HPP

// Counts what operator new gives out. Link bench_allocations: its operator new is in a translation unit of its
// own, where no compiler looks through it.

#include <cstddef>

namespace bench {

/// How often operator new has been called so far, in all threads.
std::size_t allocations() noexcept;

}  // namespace bench

#endif
