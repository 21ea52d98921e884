#ifndef BELAY_PROCESS_IMPL_ENVELOPE_IPP
#define BELAY_PROCESS_IMPL_ENVELOPE_IPP

#include <belay/process/detail/envelope.hpp>
#include <belay/process/detail/text.hpp>
#include <belay/process/utf8.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>

namespace belay::process::detail {

/// Walks over JSON text. What it skips it does not judge, but for where it ends.
class json_walker {
public:
    explicit json_walker(std::string_view text) noexcept : rest_(text) {}

    void skip_blanks() noexcept
    {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    }

    bool at_end() const noexcept { return rest_.empty(); }

    bool take(char c) noexcept
    {
        skip_blanks();
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }

    /// A string without its quotes, escapes as they are. Nothing: there is none, or no end of it.
    std::optional<std::string_view> take_string() noexcept
    {
        if (!take('"')) return std::nullopt;
        const std::string_view from = rest_;
        if (!skip_rest_of_string()) return std::nullopt;
        return from.substr(0, from.size() - rest_.size() - 1);
    }

    /// The bytes of a value. Nothing: there is none, or no end of it.
    std::optional<std::string_view> take_value() noexcept
    {
        skip_blanks();
        const std::string_view from = rest_;
        if (rest_.starts_with('"')) {
            rest_.remove_prefix(1);
            if (!skip_rest_of_string()) return std::nullopt;
        } else if (rest_.starts_with('{') || rest_.starts_with('[')) {
            if (!skip_nested()) return std::nullopt;
        } else {
            rest_.remove_prefix(std::min(rest_.find_first_of(",]} \t\r\n"), rest_.size()));
        }
        const std::string_view value = from.substr(0, from.size() - rest_.size());
        return value.empty() ? std::nullopt : std::optional(value);
    }

private:
    bool skip_rest_of_string() noexcept
    {
        for (std::size_t at = 0; at < rest_.size(); ++at) {
            if (rest_[at] == '\\') {
                ++at;
            } else if (rest_[at] == '"') {
                rest_.remove_prefix(at + 1);
                return true;
            }
        }
        return false;
    }

    bool skip_nested() noexcept
    {
        std::size_t depth = 0;
        while (!rest_.empty()) {
            const char c = rest_.front();
            rest_.remove_prefix(1);
            if (c == '"') {
                if (!skip_rest_of_string()) return false;
            } else if (c == '{' || c == '[') {
                ++depth;
            } else if (c == '}' || c == ']') {
                if (--depth == 0) return true;
            }
        }
        return false;
    }

    std::string_view rest_;
};

BELAY_DECL void append_envelope(std::string& to, std::uint64_t id, std::string_view member,
                                std::string_view value)
{
    to += "{\"id\":";
    to += std::to_string(id);
    if (!value.empty()) {
        to += ",\"";
        to += member;
        to += "\":";
        const std::size_t begin = to.size();
        to += value;
        for (const char end : {'\r', '\n'})
            for (auto at = to.find(end, begin); at != to.npos; at = to.find(end, at + 1))
                to[at] = ' ';
    }
    to += "}\n";
}

BELAY_DECL checked<envelope> read_envelope(std::string_view line, std::string_view member)
{
    if (const auto offset = utf8_error_offset(line))
        return diagnosis{errc::not_utf8, "not UTF-8 at byte " + std::to_string(*offset)};

    const auto not_json = [] { return diagnosis{errc::not_json, "not a JSON object"}; };
    const auto invalid = [](std::string why) {
        return diagnosis{errc::invalid_answer, std::move(why)};
    };
    envelope found;
    bool has_id = false;
    json_walker at(line);
    if (!at.take('{')) return not_json();
    for (bool first = true; !at.take('}'); first = false) {
        if (!first && !at.take(',')) return not_json();
        const auto key = at.take_string();
        if (!key || !at.take(':')) return not_json();
        const auto value = at.take_value();
        if (!value) return not_json();
        if (*key == "id") {
            if (has_id) return invalid("\"id\" is there twice");
            has_id = true;
            const char* const end = value->data() + value->size();
            const auto number = std::from_chars(value->data(), end, found.id);
            const bool padded = value->size() > 1 && value->front() == '0';
            if (number.ec != std::errc() || number.ptr != end || padded)
                return invalid("\"id\" is not a whole number");
        } else if (*key == member) {
            if (!found.value.empty()) return invalid(quotation(member) + " is there twice");
            found.value = *value;
        } else {
            return invalid("it has a member " + quotation(*key));
        }
    }
    at.skip_blanks();
    if (!at.at_end()) return not_json();
    if (!has_id) return invalid("it has no \"id\"");
    return found;
}

BELAY_DECL std::string quotation(std::string_view bytes)
{
    constexpr std::size_t limit = 200;  // code points
    // Before the conversion: it may be much. A code point has at most four bytes.
    const std::string text = utf8_lenient(bytes.substr(0, 4 * (limit + 1)));
    const auto is_harmful = [](char32_t point) {
        return point < 0x20 || (0x7F <= point && point <= 0x9F) || point == 0x061C ||
               (0x200B <= point && point <= 0x200F) || (0x2028 <= point && point <= 0x202E) ||
               (0x2060 <= point && point <= 0x206F) || point == 0xFEFF;
    };
    std::string shown = "\"";
    std::string_view rest = text;
    for (std::size_t count = 0; !rest.empty(); ++count) {
        if (count == limit) return shown + "\"...";
        const code_point point = first_code_point(rest);
        if (is_harmful(point.value)) {
            constexpr char digits[] = "0123456789abcdef";
            shown += "\\u";
            for (int shift = 12; shift >= 0; shift -= 4)
                shown += digits[point.value >> shift & 0xF];
        } else {
            shown += rest.substr(0, point.size);
        }
        rest.remove_prefix(point.size);
    }
    return shown + '"';
}

}  // namespace belay::process::detail

#endif
