#ifndef BELAY_HOOKS_DETAIL_JSON_HPP
#define BELAY_HOOKS_DETAIL_JSON_HPP

// JSON as hooks and config documents need it: written so that it is always valid, read without losing
// where something stands.

#include <belay/config.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::hooks::detail {

/// Writes one compact document from its start to its end. What it writes is JSON whatever it is given:
/// a byte that is not UTF-8 becomes U+FFFD, a number that is not finite becomes null.
class json_writer {
public:
    json_writer() { text_.reserve(512); }  // most documents fit

    json_writer& open(char bracket)  // '{' or '['
    {
        separate();
        text_ += bracket;
        return *this;
    }

    json_writer& close(char bracket)
    {
        text_ += bracket;
        return *this;
    }

    json_writer& key(std::string_view name)
    {
        write(name);
        text_ += ':';
        return *this;
    }

    template <class T>
    json_writer& member(std::string_view name, const T& value)
    {
        key(name).write(value);
        return *this;
    }

    /// Left out if there is none.
    template <class T>
    json_writer& member(std::string_view name, const std::optional<T>& value)
    {
        return value ? member(name, *value) : *this;
    }

    BELAY_DECL void write(std::string_view text);
    void write(const std::string& text) { write(std::string_view(text)); }
    void write(const char* text) { write(std::string_view(text)); }
    BELAY_DECL void write(bool value);
    BELAY_DECL void write(std::int64_t value);
    BELAY_DECL void write(std::uint64_t value);
    void write(unsigned value) { write(std::uint64_t{value}); }
    BELAY_DECL void write(double value);  // a whole number without a fraction
    BELAY_DECL void write(const std::vector<std::string>& values);
    BELAY_DECL void write(const boost::json::object& value);
    BELAY_DECL void write(const boost::json::array& value);
    BELAY_DECL void write(const boost::json::value& value);

    std::string take() && { return std::move(text_); }

private:
    // A comma, unless this is the first thing in its place.
    void separate()
    {
        const char before = text_.empty() ? ':' : text_.back();
        if (before != '{' && before != '[' && before != ':') text_ += ',';
    }

    BELAY_DECL void escape(unsigned char byte);  // of ASCII

    std::string text_;
};

/// A step from a value to one of its parts.
struct json_step {
    bool is_key = false;
    std::string key{};      // of a member
    std::size_t index = 0;  // of an element
};

using json_path = std::vector<json_step>;

/// As in "$.hooks[2].phase", with `root` for the "$".
BELAY_DECL std::string to_string(const json_path& path, std::string_view root = "$");

/// Where and why a text was refused.
struct json_fault {
    std::size_t offset = 0;  // in bytes
    std::string why{};
    bool beyond_limits = false;  // JSON as far as it was read, and more than is read here
};

/// How deep values may nest. The other limits: an escape is no half of a surrogate pair, and the
/// exponent of a number fits an int.
inline constexpr std::size_t json_depth_limit = 128;

/// Reads exactly one document. Of a key that is given twice, the last value counts.
BELAY_DECL std::optional<json_fault> parse_json(std::string_view text,
                                                boost::json::value& document);

/// What is wrong somewhere in a document that was read.
struct json_doubts {
    bool duplicate_keys = false;
    bool infinite_numbers = false;
};

/// Takes a small part of the time that reading takes; the functions below say where it is. `document` must be
/// as `parse_json` left it. A doubt about keys may be unfounded.
BELAY_DECL json_doubts doubts_about(const boost::json::value& document);

/// The first key that is given twice in its object and that matters. `json` must be valid.
BELAY_DECL std::optional<json_path> duplicate_key(
    std::string_view json, const std::function<bool(const json_path&)>& matters);

/// The first number that is not finite.
BELAY_DECL std::optional<json_path> not_finite(const boost::json::value& document);

/// `value` as compact JSON for a message, cut when it is long.
BELAY_DECL std::string excerpt(const boost::json::value& value);

}  // namespace belay::hooks::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/json.ipp>
#endif

#endif
