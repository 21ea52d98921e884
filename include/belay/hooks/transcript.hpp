#ifndef BELAY_HOOKS_TRANSCRIPT_HPP
#define BELAY_HOOKS_TRANSCRIPT_HPP

// What a person sees of what hooks added: one row for each, never the text itself (spec: Vera,
// "Before a turn", "When a turn ends"). The text of session_start hooks is shown as it is; see
// session_start::outcome::message().

#include <belay/config.hpp>
#include <belay/hooks/turn_events.hpp>

#include <string>

namespace belay::hooks {

/// One line of the transcript.
struct transcript_row {
    std::string text{};

    /// Who is to be named after the text, dimmed. Empty: the text names it already.
    std::string source{};

    /// The row without colours: "<text>", or "<text> · <source>".
    [[nodiscard]] BELAY_DECL std::string line() const;
};

/// "<source> added context", or its display line. For each of pre_turn::outcome::contexts.
[[nodiscard]] BELAY_DECL transcript_row added_context_row(const added_context& added);

/// "<source> continued the turn", or its display line. For turn_ending::outcome::continuation.
[[nodiscard]] BELAY_DECL transcript_row continued_turn_row(const added_context& added);

}  // namespace belay::hooks

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/transcript.ipp>
#endif

#endif
