#ifndef BELAY_HOOKS_IMPL_JSON_IPP
#define BELAY_HOOKS_IMPL_JSON_IPP

#include <belay/hooks/detail/json.hpp>
#include <belay/process/detail/bytes.hpp>
#include <belay/process/utf8.hpp>

#include <boost/json/error.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/parser.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>
#include <unordered_set>

namespace belay::hooks::detail {

BELAY_DECL void json_writer::write(std::string_view text)
{
    using namespace process::detail;
    separate();
    text_.reserve(text_.size() + text.size() + text.size() / 16 + 2);  // one in 16 is escaped
    text_ += '"';
    const auto special = [](bytes8 word) {
        return marks_not_ascii(word) | marks_below(word, 0x20) | marks_equal(word, '"') |
               marks_equal(word, '\\');
    };
    for (;;) {
        const auto plain = find_marked(text, 0, special);
        text_.append(text.data(), plain);
        text.remove_prefix(plain);
        if (text.empty()) break;
        const auto byte = static_cast<unsigned char>(text.front());
        if (byte < 0x80) {
            escape(byte);
            text.remove_prefix(1);
        } else {
            const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
            const auto end = std::find_if(text.begin(), text.end(), is_ascii);
            const auto part = text.substr(0, static_cast<std::size_t>(end - text.begin()));
            if (process::utf8_error_offset(part)) {
                text_ += process::utf8_lenient(part);
            } else {
                text_ += part;
            }
            text.remove_prefix(part.size());
        }
    }
    text_ += '"';
}

// A character that cannot stand in a text as it is.
BELAY_DECL void json_writer::escape(unsigned char byte)
{
    text_ += '\\';
    switch (byte) {
    case '\b': text_ += 'b'; break;
    case '\f': text_ += 'f'; break;
    case '\n': text_ += 'n'; break;
    case '\r': text_ += 'r'; break;
    case '\t': text_ += 't'; break;
    case '"':
    case '\\': text_ += static_cast<char>(byte); break;
    default:
        constexpr std::string_view digits = "0123456789abcdef";
        text_ += {'u', '0', '0', digits[byte >> 4], digits[byte & 0xF]};
    }
}

BELAY_DECL void json_writer::write(bool value)
{
    separate();
    text_ += value ? "true" : "false";
}

BELAY_DECL void json_writer::write(std::int64_t value)
{
    separate();
    text_ += std::to_string(value);
}

BELAY_DECL void json_writer::write(std::uint64_t value)
{
    separate();
    text_ += std::to_string(value);
}

BELAY_DECL void json_writer::write(double value)
{
    separate();
    if (!std::isfinite(value)) {
        text_ += "null";
        return;
    }
    std::array<char, 64> digits;  // the shortest that reads back as the same number
    constexpr double whole_limit = 1e15;
    const bool whole = std::abs(value) < whole_limit && std::trunc(value) == value;
    const auto written = whole ? std::to_chars(digits.data(), digits.data() + digits.size(),
                                               static_cast<std::int64_t>(value))
                               : std::to_chars(digits.data(), digits.data() + digits.size(), value);
    text_.append(digits.data(), written.ptr);
}

BELAY_DECL void json_writer::write(const std::vector<std::string>& values)
{
    open('[');
    for (const auto& one : values) write(one);
    close(']');
}

BELAY_DECL void json_writer::write(const boost::json::object& value)
{
    open('{');
    for (const auto& [name, one] : value) {
        key({name.data(), name.size()});
        write(one);
    }
    close('}');
}

BELAY_DECL void json_writer::write(const boost::json::array& value)
{
    open('[');
    for (const auto& one : value) write(one);
    close(']');
}

BELAY_DECL void json_writer::write(const boost::json::value& value)
{
    switch (value.kind()) {
    case boost::json::kind::null:
        separate();
        text_ += "null";
        break;
    case boost::json::kind::bool_: write(value.get_bool()); break;
    case boost::json::kind::int64: write(value.get_int64()); break;
    case boost::json::kind::uint64: write(value.get_uint64()); break;
    case boost::json::kind::double_: write(value.get_double()); break;
    case boost::json::kind::string:
        write(std::string_view(value.get_string().data(), value.get_string().size()));
        break;
    case boost::json::kind::array: write(value.get_array()); break;
    case boost::json::kind::object: write(value.get_object()); break;
    }
}

BELAY_DECL std::string to_string(const json_path& path, std::string_view root)
{
    std::string text(root);
    for (const auto& step : path) {
        if (step.is_key) {
            if (!text.empty()) text += '.';
            text += step.key;
        } else {
            text += '[' + std::to_string(step.index) + ']';
        }
    }
    return text;
}

// With U+FFFD for every escape of half a surrogate pair.
inline std::string without_surrogates(std::string_view json)
{
    std::string text(json);
    for (std::size_t at = text.find('\\'); at < text.size(); at = text.find('\\', at + 2)) {
        const auto escape = std::string_view(text).substr(at, 6);
        const bool half =
            escape.size() == 6 && escape[1] == 'u' && (escape[2] | 0x20) == 'd' && escape[3] >= '8';
        if (half) text.replace(at + 2, 4, "fffd");
    }
    return text;
}

BELAY_DECL std::optional<json_fault> parse_json(std::string_view text, boost::json::value& document)
{
    boost::json::parse_options options;
    options.max_depth = json_depth_limit;
    // For what is not yet part of a value: room for the longest text, so that it does not grow.
    std::array<unsigned char, 4096> small;
    std::unique_ptr<unsigned char[]> large;
    const auto room = std::max(text.size() + 1024, small.size());
    if (room > small.size()) large.reset(new unsigned char[room]);
    boost::json::parser parser({}, options, large ? large.get() : small.data(), room);
    boost::system::error_code ec;
    const auto offset = parser.write_some(text.data(), text.size(), ec);
    if (ec) {
        using boost::json::error;
        bool beyond_limits = ec == error::too_deep || ec == error::exponent_overflow;
        // The parser calls half a pair a syntax error.
        if (const auto other = without_surrogates(text); !beyond_limits && other != text) {
            boost::json::value ignored;
            const auto fault = parse_json(other, ignored);
            beyond_limits = !fault || fault->beyond_limits;
        }
        return json_fault{offset, ec.message(), beyond_limits};
    }
    if (offset != text.size()) return json_fault{offset, "something follows the document"};
    auto read = parser.release();
    document.swap(read);
    return std::nullopt;
}

// Whether an object that was read has room for a key that was given again: Boost.JSON makes room for all that
// it reads, and keeps the last of each.
inline bool has_spare_room(const boost::json::object& object) noexcept
{
    return object.capacity() != object.size();
}

// Whether it is so in the Boost at hand, for objects of few members and for those of many, which are kept
// in another way.
inline bool spare_room_tells()
{
    static const bool tells = [] {
        for (const int members : {2, 100}) {
            std::string distinct = "{\"0\":0";
            for (int i = 1; i != members; ++i) distinct += ",\"" + std::to_string(i) + "\":0";
            if (has_spare_room(boost::json::parse(distinct + "}").get_object())) return false;
            if (!has_spare_room(boost::json::parse(distinct + ",\"0\":0}").get_object()))
                return false;
        }
        return true;
    }();
    return tells;
}

inline void doubt(const boost::json::value& document, json_doubts& doubts)
{
    const auto doubt_part = [&](const boost::json::value& part) {
        if (part.is_structured() || part.is_double()) doubt(part, doubts);
    };
    if (const auto* object = document.if_object()) {
        doubts.duplicate_keys |= has_spare_room(*object);
        for (const auto& one : *object) doubt_part(one.value());
    } else if (const auto* array = document.if_array()) {
        for (const auto& one : *array) doubt_part(one);
    } else if (const auto* number = document.if_double()) {
        doubts.infinite_numbers |= !std::isfinite(*number);
    }
}

BELAY_DECL json_doubts doubts_about(const boost::json::value& document)
{
    json_doubts doubts{.duplicate_keys = !spare_room_tells()};
    doubt(document, doubts);
    return doubts;
}

BELAY_DECL std::optional<json_path> duplicate_key(
    std::string_view json, const std::function<bool(const json_path&)>& matters)
{
    // What is open at one moment, outermost first, and the step that each has come to.
    std::vector<std::unordered_set<std::string>> keys;
    json_path path;
    for (std::size_t at = 0; at < json.size(); ++at) {
        switch (json[at]) {
        case '{':
        case '[':
            keys.emplace_back();
            path.push_back({.is_key = json[at] == '{'});
            break;
        case '}':
        case ']':
            keys.pop_back();
            path.pop_back();
            break;
        case ',': ++path.back().index; break;
        case '"': {
            const auto begin = at++;
            while (json[at] != '"') at += json[at] == '\\' ? 2 : 1;
            const auto next = json.find_first_not_of(" \t\r\n", at + 1);
            if (next == json.npos || json[next] != ':') break;  // a text, not a key
            const auto token = json.substr(begin, at + 1 - begin);
            auto& key = path.back().key;
            if (token.find('\\') == token.npos) {
                key = token.substr(1, token.size() - 2);
            } else {
                const auto decoded = boost::json::parse({token.data(), token.size()});
                key.assign(decoded.get_string().data(), decoded.get_string().size());
            }
            if (!keys.back().insert(key).second && matters(path)) return path;
            break;
        }
        default: break;
        }
    }
    return std::nullopt;
}

BELAY_DECL std::optional<json_path> not_finite(const boost::json::value& document)
{
    if (const auto* number = document.if_double()) {
        return std::isfinite(*number) ? std::nullopt : std::optional<json_path>(json_path());
    }
    const auto within = [](json_step step,
                           const boost::json::value& part) -> std::optional<json_path> {
        auto rest = not_finite(part);
        if (rest) rest->insert(rest->begin(), std::move(step));
        return rest;
    };
    if (const auto* object = document.if_object()) {
        for (const auto& [name, part] : *object) {
            if (auto found =
                    within({.is_key = true, .key = std::string(name.data(), name.size())}, part))
                return found;
        }
    } else if (const auto* array = document.if_array()) {
        for (std::size_t i = 0; i != array->size(); ++i) {
            if (auto found = within({.index = i}, (*array)[i])) return found;
        }
    }
    return std::nullopt;
}

BELAY_DECL std::string excerpt(const boost::json::value& value)
{
    json_writer writer;
    writer.write(value);
    auto text = std::move(writer).take();
    constexpr std::size_t longest = 80;
    if (text.size() <= longest) return text;
    auto end = longest;  // not inside a character
    while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return text.substr(0, end) + "...";
}

}  // namespace belay::hooks::detail

#endif
