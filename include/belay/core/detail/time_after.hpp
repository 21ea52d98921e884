#ifndef BELAY_CORE_DETAIL_TIME_AFTER_HPP
#define BELAY_CORE_DETAIL_TIME_AFTER_HPP

// Points in time that may be far away.

#include <algorithm>
#include <chrono>

namespace belay::detail {

// `start + wait`, or the end of time. A negative wait is none.
inline std::chrono::steady_clock::time_point time_after(std::chrono::steady_clock::time_point start,
                                                        std::chrono::milliseconds wait) noexcept
{
    using std::chrono::milliseconds;
    constexpr auto end = std::chrono::steady_clock::time_point::max();
    if (wait >= std::chrono::duration_cast<milliseconds>(end - start)) return end;
    return start + std::max(wait, milliseconds::zero());
}

}  // namespace belay::detail

#endif
