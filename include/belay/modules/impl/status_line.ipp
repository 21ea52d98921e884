#ifndef BELAY_MODULES_IMPL_STATUS_LINE_IPP
#define BELAY_MODULES_IMPL_STATUS_LINE_IPP

#include <belay/modules/status_line.hpp>
#include <belay/process/detail/text.hpp>
#include <belay/process/utf8.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <unicode/brkiter.h>
#include <unicode/coll.h>
#include <unicode/locid.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>
#include <utility>

namespace belay::modules {
namespace detail {

inline void check_icu(UErrorCode status, const char* what)
{
    if (U_SUCCESS(status)) return;
    throw std::runtime_error(std::string("ICU has no ") + what + ": " + u_errorName(status));
}

// The columns of one code point.
inline std::size_t width_of(char32_t point)
{
    const auto c = static_cast<UChar32>(point);
    constexpr auto zero = U_GC_MN_MASK | U_GC_ME_MASK | U_GC_CC_MASK | U_GC_CF_MASK;
    if ((U_GET_GC_MASK(c) & zero) != 0) return 0;
    const auto east_asian = u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH);
    const bool wide = east_asian == U_EA_WIDE || east_asian == U_EA_FULLWIDTH ||
                      u_hasBinaryProperty(c, UCHAR_EMOJI_PRESENTATION);
    return wide ? 2 : 1;
}

// The columns of one grapheme cluster.
inline std::size_t width_of_cluster(std::string_view cluster)
{
    const auto base = static_cast<UChar32>(process::detail::first_code_point(cluster).value);
    std::size_t widest = 0;
    while (!cluster.empty()) {
        const auto point = process::detail::first_code_point(cluster);
        const bool emoji = point.value == 0xFE0F && u_hasBinaryProperty(base, UCHAR_EMOJI);
        widest = std::max(widest, emoji ? 2 : width_of(point.value));
        cluster.remove_prefix(point.size);
    }
    return widest;
}

struct grapheme_cluster {
    std::size_t end;    // in bytes, from the start of the text
    std::size_t width;  // in columns
};

// `text` must be well-formed.
inline std::vector<grapheme_cluster> clusters_of(std::string_view text)
{
    UErrorCode status = U_ZERO_ERROR;
    const std::unique_ptr<icu::BreakIterator> boundaries(
        icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), status));
    check_icu(status, "boundaries of characters");
    const icu::LocalUTextPointer opened(
        utext_openUTF8(nullptr, text.data(), static_cast<std::int64_t>(text.size()), &status));
    boundaries->setText(opened.getAlias(), status);
    check_icu(status, "access to UTF-8");

    std::vector<grapheme_cluster> found;
    auto begin = static_cast<std::size_t>(boundaries->first());
    for (auto at = boundaries->next(); at != icu::BreakIterator::DONE; at = boundaries->next()) {
        const auto end = static_cast<std::size_t>(at);
        found.push_back({end, width_of_cluster(text.substr(begin, end - begin))});
        begin = end;
    }
    return found;
}

// At most `width` columns of a well-formed text.
inline std::string truncate(std::string text, std::size_t width)
{
    std::size_t used = 0;
    std::size_t kept = 0;  // bytes that leave a column for the ellipsis
    for (const auto& one : clusters_of(text)) {
        used += one.width;
        if (used > width) return width == 0 ? "" : text.substr(0, kept) + "\u2026";
        if (used < width) kept = one.end;
    }
    return text;
}

using status_entry = std::pair<const std::string, std::string>;

inline void sort_by_key(std::vector<const status_entry*>& entries)
{
    UErrorCode status = U_ZERO_ERROR;
    const std::unique_ptr<icu::Collator> root(
        icu::Collator::createInstance(icu::Locale::getRoot(), status));
    check_icu(status, "root collation");
    std::ranges::sort(entries, [&](const auto* a, const auto* b) {
        UErrorCode failed = U_ZERO_ERROR;
        const auto order = root->compareUTF8(a->first, b->first, failed);
        return order == UCOL_EQUAL ? a->first < b->first : order == UCOL_LESS;
    });
}

}  // namespace detail

BELAY_DECL void status_line::set(std::string_view key, std::optional<std::string> text)
{
    if (text) {
        texts_.insert_or_assign(std::string(key), *std::move(text));
    } else if (const auto found = texts_.find(key); found != texts_.end()) {
        texts_.erase(found);
    }
}

BELAY_DECL std::vector<std::string> status_line::render(std::size_t width) const
{
    if (texts_.empty()) return {};
    std::vector<const detail::status_entry*> entries;
    for (const auto& one : texts_) entries.push_back(&one);
    detail::sort_by_key(entries);
    std::string line;
    for (const auto* one : entries) {
        if (one != entries.front()) line += ' ';
        line += sanitize_status(one->second);
    }
    return {detail::truncate(std::move(line), width)};
}

BELAY_DECL std::size_t terminal_width(std::string_view text)
{
    std::size_t width = 0;
    for (const auto& one : detail::clusters_of(process::utf8_lenient(text))) width += one.width;
    return width;
}

}  // namespace belay::modules

#endif
