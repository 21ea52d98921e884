#ifndef BELAY_MODULES_STATUS_LINE_HPP
#define BELAY_MODULES_STATUS_LINE_HPP

// What modules say with `ui::set_status`, as one line of a terminal (spec: Veyyon, "Status line
// behavior"). It needs ICU, and so is a part of its own: link `belay::status_line`.
//
//     belay::modules::status_line status;
//     status.set("checkpoint", "\x1b[32msaved\x1b[0m at 12:00");
//     for (auto& line : status.render(columns)) draw(line);

#include <belay/config.hpp>
#include <belay/modules/status_text.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::modules {

/// The texts of all keys. All text is UTF-8; ill-formed parts show as U+FFFD.
class status_line {
public:
    /// Keeps the text of a key as it is given; none removes the key.
    BELAY_DECL void set(std::string_view key, std::optional<std::string> text);

    /// No line if there are no keys, else one: the texts, each as `sanitize_status` has it, in the order
    /// of their keys, with a space between them. One that is wider than `width` columns is cut between
    /// two characters, as a reader sees them, and ends with `…`, within the width.
    ///
    /// Keys are in the order of Unicode's root collation; those that it holds for equal, of their bytes.
    BELAY_DECL std::vector<std::string> render(std::size_t width) const;

private:
    std::map<std::string, std::string, std::less<>> texts_;
};

/// How many columns of a terminal a sanitized text takes. An approximation, since terminals differ: a
/// grapheme cluster (UAX #29) is as wide as its widest code point, and at least two columns if U+FE0F
/// makes it an emoji. A code point takes two if it is wide or full width (UAX #11; ambiguous ones are
/// narrow) or an emoji by default, none if it is a mark without width, a control or a format character,
/// else one.
[[nodiscard]] BELAY_DECL std::size_t terminal_width(std::string_view text);

}  // namespace belay::modules

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/impl/status_line.ipp>
#endif

#endif
