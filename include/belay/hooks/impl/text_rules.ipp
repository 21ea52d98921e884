#ifndef BELAY_HOOKS_IMPL_TEXT_RULES_IPP
#define BELAY_HOOKS_IMPL_TEXT_RULES_IPP

#include <belay/hooks/text_rules.hpp>
#include <belay/process/detail/text.hpp>
#include <belay/process/utf8.hpp>

namespace belay::hooks {
namespace detail {

// Ends a line, controls a terminal, or changes the direction of the text around it.
constexpr bool spoils_a_line(char32_t point) noexcept
{
    const auto within = [point](char32_t first, char32_t last) {
        return first <= point && point <= last;
    };
    return within(0x0000, 0x001F) || within(0x007F, 0x009F) ||  // Cc
           point == 0x061C || within(0x200E, 0x200F) ||         // direction marks
           within(0x2028, 0x2029) ||                            // line and paragraph separators
           within(0x202A, 0x202E) || within(0x2066, 0x2069);    // embeddings, overrides, isolates
}

}  // namespace detail

BELAY_DECL bool is_display_line(std::string_view text) noexcept
{
    if (process::utf8_error_offset(text)) return false;
    std::size_t points = 0;
    while (!text.empty()) {
        const auto point = process::detail::first_code_point(text);
        if (detail::spoils_a_line(point.value) || ++points > display_limit) return false;
        text.remove_prefix(point.size);
    }
    return true;
}

}  // namespace belay::hooks

#endif
