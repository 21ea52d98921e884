#ifndef BELAY_PROCESS_UTF8_HPP
#define BELAY_PROCESS_UTF8_HPP

// Bytes that a child wrote, as text: strictly for a verdict, leniently for a message.

#include <belay/config.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace belay::process {

/// Where `bytes` stops being UTF-8: the offset of the first byte of the first ill-formed sequence.
/// Overlong forms, lone continuation bytes, surrogates, values above U+10FFFF and a cut tail are
/// ill-formed. NUL is a character like any other.
[[nodiscard]] BELAY_DECL std::optional<std::size_t> utf8_error_offset(
    std::string_view bytes) noexcept;

/// `bytes` with every ill-formed part turned into U+FFFD, one for each maximal subpart, as the
/// Unicode standard recommends and every browser does.
[[nodiscard]] BELAY_DECL std::string utf8_lenient(std::string_view bytes);

}  // namespace belay::process

#if defined(BELAY_HEADER_ONLY)
#include <belay/process/impl/utf8.ipp>
#endif

#endif
