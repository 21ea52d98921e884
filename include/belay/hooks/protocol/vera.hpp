#ifndef BELAY_HOOKS_PROTOCOL_VERA_HPP
#define BELAY_HOOKS_PROTOCOL_VERA_HPP

// The protocol that an entry speaks unless it names another (spec: Vera, "Decide what happens").

#include <belay/config.hpp>
#include <belay/hooks/protocol.hpp>

namespace belay::hooks {

/// One compact JSON document on stdin. The answer is exit status 0 and one JSON object with a
/// `power` on stdout, which may have blanks and a byte-order mark around it; unknown keys are
/// ignored, and null is never the same as absent. In the phases that only observe, stdout is not
/// looked at.
///
/// Payloads are always valid JSON: bytes in a text that are not UTF-8 become U+FFFD, and a number that
/// is not finite becomes null, as in JavaScript.
///
/// Stricter than a JavaScript host: stdout must be valid UTF-8, a key whose value the power uses may
/// not be given twice, half of a surrogate pair is no text, and values nest at most 128 deep.
[[nodiscard]] BELAY_DECL const protocol& vera() noexcept;

}  // namespace belay::hooks

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/vera.ipp>
#endif

#endif
