#ifndef BELAY_PROCESS_IMPL_ENVELOPE_IPP
#define BELAY_PROCESS_IMPL_ENVELOPE_IPP

#include <belay/process/detail/envelope.hpp>
#include <belay/process/detail/text.hpp>
#include <belay/process/utf8.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>
#include <system_error>

namespace belay::process::detail {

/// Walks over JSON text. What it skips it does not judge, but for where it ends.
class json_walker {
public:
    explicit json_walker(std::string_view text) noexcept
        : at_(text.data()), end_(text.data() + text.size())
    {}

    void skip_blanks() noexcept
    {
        while (at_ != end_ && is_blank(*at_)) ++at_;
    }

    bool at_end() const noexcept { return at_ == end_; }

    bool take(char c) noexcept
    {
        skip_blanks();
        if (at_ == end_ || *at_ != c) return false;
        ++at_;
        return true;
    }

    /// A string without its quotes, escapes as they are. Nothing: there is none, or no end of it.
    std::optional<std::string_view> take_string() noexcept
    {
        if (!take('"')) return std::nullopt;
        const char* const from = at_;
        if (!skip_rest_of_string()) return std::nullopt;
        return std::string_view(from, static_cast<std::size_t>(at_ - from) - 1);
    }

    /// The bytes of a value. Nothing: there is none, or no end of it.
    std::optional<std::string_view> take_value() noexcept
    {
        skip_blanks();
        const char* const from = at_;
        if (at_ != end_ && *at_ == '"') {
            ++at_;
            if (!skip_rest_of_string()) return std::nullopt;
        } else if (at_ != end_ && (*at_ == '{' || *at_ == '[')) {
            if (!skip_nested()) return std::nullopt;
        } else {
            while (at_ != end_ && !is_blank(*at_) && *at_ != ',' && *at_ != '}' && *at_ != ']')
                ++at_;
        }
        if (at_ == from) return std::nullopt;
        return std::string_view(from, static_cast<std::size_t>(at_ - from));
    }

private:
    static bool is_blank(char c) noexcept
    {
        return c == ' ' || c == '\t' || c == '\r' || c == '\n';
    }

    /// Up to the first quote that an even number of backslashes stands before.
    bool skip_rest_of_string() noexcept
    {
        const char* const begin = at_;
        while (const void* const found =
                   std::memchr(at_, '"', static_cast<std::size_t>(end_ - at_))) {
            const char* const quote = static_cast<const char*>(found);
            const char* unescaped = quote;
            while (unescaped != begin && unescaped[-1] == '\\') --unescaped;
            at_ = quote + 1;
            if ((quote - unescaped) % 2 == 0) return true;
        }
        return false;
    }

    bool skip_nested() noexcept
    {
        std::size_t depth = 0;
        while (at_ != end_) {
            const char c = *at_++;
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

    const char* at_;
    const char* end_;
};

BELAY_DECL void append_envelope(std::string& to, std::uint64_t id, std::string_view member,
                                std::string_view value)
{
    char
        before[64];  // appended at once; the greatest id has 20 digits, and the member a short name
    char* end = before;
    const auto add = [&end](std::string_view part) { end = std::ranges::copy(part, end).out; };
    add("{\"id\":");
    end = std::to_chars(end, before + sizeof before, id).ptr;
    if (!value.empty()) {
        add(",\"");
        add(member);
        add("\":");
    }
    to.append(before, static_cast<std::size_t>(end - before));
    const std::size_t begin = to.size();
    to += value;
    for (const char line_end : {'\r', '\n'})
        for (auto at = to.find(line_end, begin); at != to.npos; at = to.find(line_end, at + 1))
            to[at] = ' ';
    to.append("}\n", 2);
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
            const char* const after = value->data() + value->size();
            const auto number = std::from_chars(value->data(), after, found.id);
            const bool padded = value->size() > 1 && value->front() == '0';
            if (number.ec != std::errc() || number.ptr != after || padded)
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
