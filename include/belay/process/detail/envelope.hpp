#ifndef BELAY_PROCESS_DETAIL_ENVELOPE_HPP
#define BELAY_PROCESS_DETAIL_ENVELOPE_HPP

// The lines between a host and its worker: {"id":1,"event":...} and {"id":1,"result":...}.

#include <belay/config.hpp>
#include <belay/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay::process::detail {

struct envelope {
    std::uint64_t id = 0;
    std::string_view value;  ///< the bytes of the event or result; empty if it is not there
};

/// Appends the line, its end included. Line breaks in `value` become blanks, which mean the same in JSON. An empty
/// value is left out.
BELAY_DECL void append_envelope(std::string& to, std::uint64_t id, std::string_view member,
                                std::string_view value);

/// Reads a line without its end. It has to be an object with `id`, a whole number, and at most one more
/// member of that name, and to be JSON in all its parts, which nest at most 500 deep.
/// The diagnosis is `errc::not_utf8`, `not_json` or `invalid_answer`; `value` is part of `line`.
BELAY_DECL checked<envelope> read_envelope(std::string_view line, std::string_view member);

/// A piece of what a program wrote, for a message: in quotes, one line, at most so many characters, none
/// of which can do anything to a terminal.
BELAY_DECL std::string quotation(std::string_view bytes, std::size_t limit = 200);

}  // namespace belay::process::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/process/impl/envelope.ipp>
#endif

#endif
