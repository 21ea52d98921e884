#ifndef BELAY_CORE_ANSWER_HPP
#define BELAY_CORE_ANSWER_HPP

// The answers that every phase shares, and what a fold says after each.
//
// An answer is what one handler may say about an event: `E::answer`, a std::variant whose first
// alternative is `observe`. An alternative may carry `static constexpr std::string_view name`,
// which is what a trace shows.

#include <string>
#include <string_view>

namespace belay {

/// No opinion. A handler that returns nothing has said this.
struct observe {
    static constexpr std::string_view name = "observe";
};

/// Stop what is about to happen.
struct block {
    static constexpr std::string_view name = "block";

    std::string reason{};  ///< shown to the model and to people; not empty
};

/// What a fold says after an answer or a failure: ask the next handler, or ask nobody else.
enum class flow : unsigned char { proceed, stop };

}  // namespace belay

#endif
