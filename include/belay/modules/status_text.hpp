#ifndef BELAY_MODULES_STATUS_TEXT_HPP
#define BELAY_MODULES_STATUS_TEXT_HPP

// A text of a module as people may see it in a terminal, which it cannot control.

#include <belay/config.hpp>

#include <string>
#include <string_view>

namespace belay::modules {

/// The text without escape sequences (ECMA-48: CSI; OSC, DCS, SOS, PM and APC with what is in them;
/// those of two and three characters), with each control character as a space, several spaces as one,
/// and no white space at the ends (spec: Veyyon, "Status line behavior"). A sequence that is not
/// terminated reaches to the end. It is UTF-8; ill-formed parts become U+FFFD.
[[nodiscard]] BELAY_DECL std::string sanitize_status(std::string_view text);

}  // namespace belay::modules

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/impl/status_text.ipp>
#endif

#endif
