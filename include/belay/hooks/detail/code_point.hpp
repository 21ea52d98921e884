#ifndef BELAY_HOOKS_DETAIL_CODE_POINT_HPP
#define BELAY_HOOKS_DETAIL_CODE_POINT_HPP

// The code points at the ends of a text, which must be valid UTF-8.

#include <cstddef>
#include <string_view>

namespace belay::hooks::detail {

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

}  // namespace belay::hooks::detail

#endif
