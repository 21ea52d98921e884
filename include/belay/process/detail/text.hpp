#ifndef BELAY_PROCESS_DETAIL_TEXT_HPP
#define BELAY_PROCESS_DETAIL_TEXT_HPP

// The ends of a text, which must be valid UTF-8.

#include <cstddef>
#include <string_view>

namespace belay::process::detail {

struct code_point {
    char32_t value;
    std::size_t size;  // in bytes
};

/// `text` must not be empty.
constexpr code_point first_code_point(std::string_view text) noexcept
{
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::size_t size = byte(0) < 0x80 ? 1 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
    char32_t value = size == 1 ? byte(0) : byte(0) & (0xFFU >> (size + 1));
    for (std::size_t i = 1; i != size; ++i) value = (value << 6) | (byte(i) & 0x3FU);
    return {value, size};
}

/// `text` must not be empty.
constexpr code_point last_code_point(std::string_view text) noexcept
{
    auto at = text.size() - 1;
    while ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    return first_code_point(text.substr(at));
}

constexpr bool is_blank(char32_t point) noexcept
{
    return (0x0009 <= point && point <= 0x000D) || point == 0x0020 || point == 0x00A0 ||
           point == 0x1680 || (0x2000 <= point && point <= 0x200A) || point == 0x2028 ||
           point == 0x2029 || point == 0x202F || point == 0x205F || point == 0x3000 ||
           point == 0xFEFF;
}

/// Without the white space at both ends, as JavaScript's trim: all of Unicode's, and the byte-order mark.
constexpr std::string_view trim(std::string_view text) noexcept
{
    while (!text.empty()) {
        const auto point = first_code_point(text);
        if (!is_blank(point.value)) break;
        text.remove_prefix(point.size);
    }
    while (!text.empty()) {
        const auto point = last_code_point(text);
        if (!is_blank(point.value)) break;
        text.remove_suffix(point.size);
    }
    return text;
}

}  // namespace belay::process::detail

#endif
