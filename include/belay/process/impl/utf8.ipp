#ifndef BELAY_PROCESS_IMPL_UTF8_IPP
#define BELAY_PROCESS_IMPL_UTF8_IPP

#include <belay/process/detail/bytes.hpp>
#include <belay/process/utf8.hpp>

namespace belay::process {
namespace detail {

/// What stands at the start of a piece of text.
struct utf8_unit {
    std::size_t size;  // of the character, or of the maximal subpart that is not one
    bool well_formed;
};

/// Table 3-7 of the Unicode standard: only the second byte has a range of its own.
constexpr utf8_unit first_utf8_unit(std::string_view bytes) noexcept
{
    const auto at = [bytes](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const unsigned char lead = at(0);
    if (lead < 0x80) return {1, true};
    const std::size_t size = lead >= 0xC2 && lead <= 0xDF   ? 2
                             : lead >= 0xE0 && lead <= 0xEF ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
    if (size == 0) return {1, false};
    const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    for (std::size_t i = 1; i < size; ++i)
        if (i == bytes.size() || at(i) < (i == 1 ? low : 0x80) || at(i) > (i == 1 ? high : 0xBF))
            return {i, false};
    return {size, true};
}

}  // namespace detail

BELAY_DECL std::optional<std::size_t> utf8_error_offset(std::string_view bytes) noexcept
{
    for (std::size_t at = 0;;) {
        at = detail::find_not_ascii(bytes, at);
        while (at < bytes.size() && static_cast<unsigned char>(bytes[at]) >= 0x80) {
            const detail::utf8_unit unit = detail::first_utf8_unit(bytes.substr(at));
            if (!unit.well_formed) return at;
            at += unit.size;
        }
        if (at == bytes.size()) return std::nullopt;
    }
}

BELAY_DECL std::string utf8_lenient(std::string_view bytes)
{
    std::string text;
    text.reserve(bytes.size());
    while (!bytes.empty()) {
        const detail::utf8_unit unit = detail::first_utf8_unit(bytes);
        text += unit.well_formed ? bytes.substr(0, unit.size) : std::string_view("\xEF\xBF\xBD");
        bytes.remove_prefix(unit.size);
    }
    return text;
}

}  // namespace belay::process

#endif
