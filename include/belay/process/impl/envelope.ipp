#ifndef BELAY_PROCESS_IMPL_ENVELOPE_IPP
#define BELAY_PROCESS_IMPL_ENVELOPE_IPP

#include <belay/process/detail/bytes.hpp>
#include <belay/process/detail/envelope.hpp>
#include <belay/process/detail/text.hpp>
#include <belay/process/utf8.hpp>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>

namespace belay::process::detail {

/// Walks over JSON text, and stops where it is none.
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
        return skip_one(c);
    }

    /// A string without its quotes, escapes as they are. Nothing: there is none, or no end of it.
    std::optional<std::string_view> take_string() noexcept
    {
        if (!take('"')) return std::nullopt;
        const char* const from = at_;
        if (!skip_rest_of_string()) return std::nullopt;
        return std::string_view(from, static_cast<std::size_t>(at_ - from) - 1);
    }

    /// The bytes of a value. Nothing: there is none.
    std::optional<std::string_view> take_value() noexcept
    {
        skip_blanks();
        const char* const from = at_;
        if (!skip_value(0)) return std::nullopt;
        return std::string_view(from, static_cast<std::size_t>(at_ - from));
    }

    std::size_t offset_in(std::string_view text) const noexcept
    {
        return static_cast<std::size_t>(at_ - text.data());
    }

private:
    static bool is_blank(char c) noexcept
    {
        return c == ' ' || c == '\t' || c == '\r' || c == '\n';
    }

    static bool is_hex(char c) noexcept
    {
        return ('0' <= c && c <= '9') || ('a' <= (c | 0x20) && (c | 0x20) <= 'f');
    }

    bool next_is(char c) const noexcept { return at_ != end_ && *at_ == c; }

    bool skip_one(char c) noexcept
    {
        if (!next_is(c)) return false;
        ++at_;
        return true;
    }

    bool skip_value(unsigned depth) noexcept
    {
        if (skip_one('"')) return skip_rest_of_string();
        if (next_is('{') || next_is('[')) return skip_nested(depth);
        return skip_word("true") || skip_word("false") || skip_word("null") || skip_number();
    }

    bool skip_rest_of_string() noexcept
    {
        const auto marks = [](bytes8 word) {
            return marks_equal(word, '"') | marks_equal(word, '\\') | marks_below(word, 0x20);
        };
        for (;; ++at_) {
            const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
            at_ += find_marked(rest, 0, marks);
            if (skip_one('"')) return true;
            if (!next_is('\\') || !skip_to_end_of_escape()) return false;
        }
    }

    /// From the backslash to the last character.
    bool skip_to_end_of_escape() noexcept
    {
        if (++at_ == end_) return false;
        if (*at_ != 'u') return std::string_view("\"\\/bfnrt").find(*at_) != std::string_view::npos;
        for (int i = 0; i != 4; ++i) {
            if (++at_ == end_ || !is_hex(*at_)) return false;
        }
        return true;
    }

    bool skip_nested(unsigned depth) noexcept
    {
        constexpr unsigned deepest = 500;
        if (depth == deepest) return false;
        const bool is_object = *at_++ == '{';
        const char last = is_object ? '}' : ']';
        if (take(last)) return true;
        do {
            if (is_object && !(take_string() && take(':'))) return false;
            skip_blanks();
            if (!skip_value(depth + 1)) return false;
        } while (take(','));
        return take(last);
    }

    bool skip_word(std::string_view word) noexcept
    {
        if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(word))
            return false;
        at_ += word.size();
        return true;
    }

    bool skip_number() noexcept
    {
        skip_one('-');
        if (!skip_one('0') && !skip_digits()) return false;
        if (skip_one('.') && !skip_digits()) return false;
        if (!skip_one('e') && !skip_one('E')) return true;
        if (!skip_one('+')) skip_one('-');
        return skip_digits();
    }

    bool skip_digits() noexcept
    {
        const char* const from = at_;
        while (at_ != end_ && '0' <= *at_ && *at_ <= '9') ++at_;
        return at_ != from;
    }

    const char* at_;
    const char* end_;
};

BELAY_DECL void append_envelope(std::string& to, std::uint64_t id, std::string_view member,
                                std::string_view value)
{
    // Appended at once. The greatest id has 20 digits.
    assert(member.size() <= 16);
    char before[64];
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

    const auto invalid = [](std::string why) {
        return diagnosis{errc::invalid_answer, std::move(why)};
    };
    envelope found;
    bool has_id = false;
    std::optional<std::string_view> other;
    json_walker at(line);
    const auto not_json = [&] {
        return diagnosis{errc::not_json,
                         "not valid JSON at byte " + std::to_string(at.offset_in(line))};
    };
    if (!at.take('{')) return diagnosis{errc::not_json, "not a JSON object"};
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
            if (number.ec != std::errc() || number.ptr != after)
                return invalid("\"id\" is not a whole number");
        } else if (*key == member) {
            if (!found.value.empty()) return invalid(quotation(member) + " is there twice");
            found.value = *value;
        } else if (!other) {
            other = *key;
        }
    }
    at.skip_blanks();
    if (!at.at_end()) return not_json();
    if (!has_id)
        return invalid("it has no \"id\" (a line is {\"id\":1," + quotation(member) + ":...})");
    if (other) return invalid("it has a member " + quotation(*other));
    return found;
}

BELAY_DECL std::string quotation(std::string_view bytes, std::size_t limit)
{
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
