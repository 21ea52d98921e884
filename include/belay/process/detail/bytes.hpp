#ifndef BELAY_PROCESS_DETAIL_BYTES_HPP
#define BELAY_PROCESS_DETAIL_BYTES_HPP

// Looks at eight bytes of a text at a time.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace belay::process::detail {

/// Eight bytes, the first of them the lowest.
using bytes8 = std::uint64_t;

constexpr bytes8 each(unsigned char byte) noexcept
{
    return 0x0101010101010101U * byte;
}

// In what these return, the lowest bit that is set is the highest bit of the first byte that was looked for;
// none is set if there is none.

constexpr bytes8 marks_not_ascii(bytes8 word) noexcept
{
    return word & each(0x80);
}

/// `limit` is at most 0x80.
constexpr bytes8 marks_below(bytes8 word, unsigned char limit) noexcept
{
    return (word - each(limit)) & ~word & each(0x80);
}

constexpr bytes8 marks_equal(bytes8 word, unsigned char byte) noexcept
{
    return marks_below(word ^ each(byte), 1);
}

/// The first byte from `at` on that `marks` finds; the size of the text if there is none. `marks` must find
/// nothing in the letter a.
template <class Marks>
std::size_t find_marked(std::string_view text, std::size_t at, Marks marks) noexcept
{
    while (at < text.size()) {
        bytes8 word = each('a');
        const auto count = std::min(sizeof word, text.size() - at);
        if (count == sizeof word) {
            std::memcpy(&word, text.data() + at, sizeof word);
        } else {
            std::memcpy(&word, text.data() + at, count);
        }
        if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
        if (const auto found = marks(word)) {
            return at + static_cast<std::size_t>(std::countr_zero(found)) / 8;
        }
        at += count;
    }
    return text.size();
}

/// As find_marked, for longer stretches of ASCII.
inline std::size_t find_not_ascii(std::string_view text, std::size_t at) noexcept
{
    for (bytes8 words[4]; text.size() - at >= sizeof words; at += sizeof words) {
        std::memcpy(words, text.data() + at, sizeof words);
        if (marks_not_ascii(words[0] | words[1] | words[2] | words[3]) != 0) break;
    }
    return find_marked(text, at, marks_not_ascii);
}

}  // namespace belay::process::detail

#endif
