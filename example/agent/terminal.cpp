#include "terminal.hpp"

#include <belay/process/utf8.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace agent {
namespace {

bool obeyed_by_terminals(char32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

// The bytes of the UTF-8 sequence that begins with `first`.
std::size_t length_of(unsigned char first)
{
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

char32_t decoded(std::string_view sequence)
{
    const auto first = static_cast<unsigned char>(sequence[0]);
    if (sequence.size() == 1) return first;
    char32_t c = first & (0x7fu >> sequence.size());
    for (const auto byte : sequence.substr(1))
        c = c << 6 | (static_cast<unsigned char>(byte) & 0x3fu);
    return c;
}

// As much as a person wants to read of one line, without half a character at its end.
std::string_view beginning(std::string_view line)
{
    constexpr std::size_t most = 1000;
    if (line.size() <= most) return line;
    auto end = most;
    while (end != 0 && (static_cast<unsigned char>(line[end]) & 0xc0u) == 0x80u) --end;
    return line.substr(0, end);
}

const char* code_of(style how)
{
    switch (how) {
    case style::plain: return "";
    case style::bold: return "\033[1m";
    case style::dim: return "\033[2m";
    case style::green: return "\033[32m";
    case style::yellow: return "\033[33m";
    case style::red: return "\033[31m";
    }
    return "";
}

}  // namespace

std::string printable(std::string_view text)
{
    const auto valid = belay::process::utf8_lenient(text);
    std::string shown;
    for (std::string_view rest = valid; !rest.empty();) {
        const auto one = rest.substr(0, length_of(static_cast<unsigned char>(rest[0])));
        rest.remove_prefix(one.size());
        const auto c = decoded(one);
        if (c == '\t') {
            shown += "    ";
        } else if (obeyed_by_terminals(c)) {
            char spelled[16];
            std::snprintf(spelled, sizeof spelled, "\\u{%x}", static_cast<unsigned>(c));
            shown += spelled;
        } else {
            shown += one;
        }
    }
    return shown;
}

void terminal::text(int indent, std::string_view margin, std::string_view lines, std::size_t most,
                    style how)
{
    while (lines.ends_with('\n')) lines.remove_suffix(1);
    for (std::size_t shown = 0;; ++shown) {
        const auto end = lines.find('\n');
        if (shown == most && end != std::string_view::npos) {
            std::size_t left = 1;
            for (const auto c : lines) left += c == '\n' ? 1 : 0;
            line(indent, dim(margin), dim("(" + std::to_string(left) + " more lines)"));
            return;
        }
        line(indent, dim(margin), styled{how, lines.substr(0, end)});
        if (end == std::string_view::npos) return;
        lines.remove_prefix(end + 1);
    }
}

void terminal::block(int indent, std::string_view margin, std::string_view shown)
{
    while (!shown.empty()) {
        const auto line = shown.substr(0, shown.find('\n'));
        out_ << std::string(static_cast<std::size_t>(indent), ' ');
        put(dim(margin));
        if (!line.empty()) out_ << ' ' << line;
        out_ << '\n';
        shown.remove_prefix(std::min(line.size() + 1, shown.size()));
    }
}

void terminal::put(styled text)
{
    const bool coloured = colours_ && text.how != style::plain && !text.text.empty();
    const auto shown = beginning(text.text);
    if (coloured) out_ << code_of(text.how);
    out_ << printable(shown);
    if (coloured) out_ << "\033[0m";
    if (shown.size() != text.text.size()) {
        out_ << " (" << text.text.size() - shown.size() << " more bytes)";
    }
}

bool stdout_has_colours()
{
    const auto* no_color = std::getenv("NO_COLOR");
    const auto* kind = std::getenv("TERM");
    return ::isatty(STDOUT_FILENO) == 1 && (!no_color || !*no_color) &&
           (!kind || std::string_view(kind) != "dumb");
}

}  // namespace agent
