#ifndef BELAY_HOOKS_TEXT_RULES_HPP
#define BELAY_HOOKS_TEXT_RULES_HPP

// The bounds on text that a hook gives, which several phases share.

#include <belay/config.hpp>

#include <cstddef>
#include <string_view>

namespace belay::hooks {

/// Bytes of UTF-8 that one hook may supply as context (spec: Vera, "When a conversation starts").
inline constexpr std::size_t context_limit = 128 * 1024;

/// Code points in a `display` line.
inline constexpr std::size_t display_limit = 200;

/// Whether `text` may be shown as a transcript row: valid UTF-8, at most 200 code points, one line.
/// Control characters, line and paragraph separators and the characters that change the direction
/// of text are refused, since the row is shown in a terminal.
[[nodiscard]] BELAY_DECL bool is_display_line(std::string_view text) noexcept;

}  // namespace belay::hooks

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/text_rules.ipp>
#endif

#endif
