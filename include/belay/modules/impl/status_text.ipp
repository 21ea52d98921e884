#ifndef BELAY_MODULES_IMPL_STATUS_TEXT_IPP
#define BELAY_MODULES_IMPL_STATUS_TEXT_IPP

#include <belay/modules/status_text.hpp>
#include <belay/process/detail/text.hpp>
#include <belay/process/utf8.hpp>

#include <utility>

namespace belay::modules {
namespace detail {

// Where in an escape sequence a code point stands.
enum class escape_state : unsigned char {
    text,
    escape,         // after ESC
    designation,    // after ESC and a character that wants another one
    csi,            // until a final character
    osc,            // until BEL or ST
    osc_escape,     // after ESC in it
    string,         // DCS, SOS, PM, APC: until ST
    string_escape,  // after ESC in it
};

struct escape_rule {
    escape_state in;
    char32_t first, last;
    escape_state then;
};

inline constexpr char32_t any_first = 0, any_last = 0x10FFFF;

// The first that fits counts; if none does, the state stays.
inline constexpr escape_rule escape_rules[] = {
    {escape_state::text, 0x1B, 0x1B, escape_state::escape},
    {escape_state::text, 0x90, 0x90, escape_state::string},
    {escape_state::text, 0x98, 0x98, escape_state::string},
    {escape_state::text, 0x9B, 0x9B, escape_state::csi},
    {escape_state::text, 0x9D, 0x9D, escape_state::osc},
    {escape_state::text, 0x9E, 0x9F, escape_state::string},

    {escape_state::escape, '[', '[', escape_state::csi},
    {escape_state::escape, ']', ']', escape_state::osc},
    {escape_state::escape, 'P', 'P', escape_state::string},
    {escape_state::escape, 'X', 'X', escape_state::string},
    {escape_state::escape, '^', '_', escape_state::string},
    {escape_state::escape, ' ', ' ', escape_state::designation},
    {escape_state::escape, '#', '#', escape_state::designation},
    {escape_state::escape, '%', '%', escape_state::designation},
    {escape_state::escape, '(', '+', escape_state::designation},
    {escape_state::escape, '.', '/', escape_state::designation},
    {escape_state::escape, any_first, any_last, escape_state::text},

    {escape_state::designation, any_first, any_last, escape_state::text},

    {escape_state::csi, 0x40, 0x7E, escape_state::text},

    {escape_state::osc, 0x07, 0x07, escape_state::text},
    {escape_state::osc, 0x9C, 0x9C, escape_state::text},
    {escape_state::osc, 0x1B, 0x1B, escape_state::osc_escape},
    {escape_state::osc_escape, '\\', '\\', escape_state::text},
    {escape_state::osc_escape, 0x07, 0x07, escape_state::text},
    {escape_state::osc_escape, 0x9C, 0x9C, escape_state::text},
    {escape_state::osc_escape, 0x1B, 0x1B, escape_state::osc_escape},
    {escape_state::osc_escape, any_first, any_last, escape_state::osc},

    {escape_state::string, 0x9C, 0x9C, escape_state::text},
    {escape_state::string, 0x1B, 0x1B, escape_state::string_escape},
    {escape_state::string_escape, '\\', '\\', escape_state::text},
    {escape_state::string_escape, 0x9C, 0x9C, escape_state::text},
    {escape_state::string_escape, 0x1B, 0x1B, escape_state::string_escape},
    {escape_state::string_escape, any_first, any_last, escape_state::string},
};

constexpr escape_state next_escape_state(escape_state now, char32_t point) noexcept
{
    for (const auto& rule : escape_rules) {
        if (rule.in == now && rule.first <= point && point <= rule.last) return rule.then;
    }
    return now;
}

constexpr bool is_control(char32_t point) noexcept
{
    return point <= 0x1F || (0x7F <= point && point <= 0x9F);
}

}  // namespace detail

BELAY_DECL std::string sanitize_status(std::string_view text)
{
    using detail::escape_state;
    const auto whole = process::utf8_lenient(text);
    std::string shown;
    auto state = escape_state::text;
    for (std::string_view rest = whole; !rest.empty();) {
        const auto point = process::detail::first_code_point(rest);
        const auto before = std::exchange(state, detail::next_escape_state(state, point.value));
        if (before == escape_state::text && state == escape_state::text) {
            const bool blank = point.value == ' ' || detail::is_control(point.value);
            if (!blank) {
                shown += rest.substr(0, point.size);
            } else if (!shown.ends_with(' ')) {
                shown += ' ';
            }
        }
        rest.remove_prefix(point.size);
    }
    return std::string(process::detail::trim(shown));
}

}  // namespace belay::modules

#endif
