#ifndef BELAY_TEST_CONFORMANCE_VECTORS_HPP
#define BELAY_TEST_CONFORMANCE_VECTORS_HPP

// The notation of the vectors: reading a file of them, expanding its short forms, reading objects so
// strictly that nothing in a vector is passed over, and comparing JSON by its meaning.

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parser.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conformance {

namespace json = boost::json;

/// The file cannot be used at all. The message names it, and the place in it.
struct unusable_file : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A vector that cannot be run as it is written. The message names the key.
struct malformed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline std::string_view view(const json::string& text)
{
    return {text.data(), text.size()};
}

/// JSON for people: at most `limit` bytes of it.
inline std::string shown(const json::value& value, std::size_t limit = 160)
{
    auto text = json::serialize(value);
    if (text.size() <= limit) return text;
    auto end = limit;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    return text.substr(0, end) + "... (" + std::to_string(text.size()) + " bytes)";
}

// --- Reading ------------------------------------------------------------------------------------

/// The vectors of a file, which has to be an array.
inline json::array read_vectors(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path)) throw unusable_file(path + ": cannot be read");
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const std::size_t mark = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;

    json::parse_options options;
    options.max_depth = 256;
    json::parser parser({}, options);
    json::error_code error;
    const auto used = parser.write_some(text.data() + mark, text.size() - mark, error);
    auto at = mark + used;
    if (!error) {
        at = text.find_first_not_of(" \t\r\n", at);
        if (at != std::string::npos) error = json::error::extra_data;
    }
    if (error) {
        at = std::min(at, text.size());
        const auto begin = text.begin();
        const auto here = begin + static_cast<std::ptrdiff_t>(at);
        const auto line_begin = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
        const auto column = at - (line_begin == std::string::npos ? 0 : line_begin + 1) + 1;
        throw unusable_file(path + ":" + std::to_string(std::count(begin, here, '\n') + 1) + ":" +
                            std::to_string(column) + ": not JSON: " + error.message());
    }
    auto document = parser.release();
    if (!document.is_array()) throw unusable_file(path + ":1:1: not an array of vectors");
    return std::move(document.get_array());
}

// --- Short forms --------------------------------------------------------------------------------

inline constexpr std::size_t longest_string = 64U << 20U;

inline json::value expanded(const json::value& value, const std::string& path);

inline std::string expanded_text(const json::value& value, const std::string& path)
{
    const auto text = expanded(value, path);
    if (!text.is_string()) throw malformed(path + ": must be a string");
    return std::string(view(text.get_string()));
}

inline json::value expanded_form(std::string_view form, const json::value& argument,
                                 const std::string& path)
{
    std::string text;
    const auto add = [&](std::string_view more) {
        if (more.size() > longest_string - text.size()) {
            throw malformed(path + ": expands to more than 64 MiB");
        }
        text += more;
    };
    if (form == "$concat") {
        if (!argument.is_array()) throw malformed(path + ".$concat: must be an array of strings");
        for (std::size_t i = 0; i != argument.get_array().size(); ++i) {
            add(expanded_text(argument.get_array()[i],
                              path + ".$concat[" + std::to_string(i) + "]"));
        }
    } else if (form == "$repeat") {
        const auto* pair = argument.if_array();
        if (pair == nullptr || pair->size() != 2 || !(*pair)[1].is_int64() ||
            (*pair)[1].get_int64() < 0) {
            throw malformed(path + ".$repeat: must be an array of a string and a count");
        }
        const auto unit = expanded_text((*pair)[0], path + ".$repeat[0]");
        for (auto left = (*pair)[1].get_int64(); left > 0 && !unit.empty(); --left) add(unit);
    } else {
        throw malformed(path + "." + std::string(form) + ": there is no such short form");
    }
    return json::value(json::string(text));
}

/// `value` with every `$repeat` and `$concat` in it expanded.
inline json::value expanded(const json::value& value, const std::string& path)
{
    if (const auto* object = value.if_object()) {
        for (const auto& member : *object) {
            const std::string_view key(member.key().data(), member.key().size());
            const bool is_form = key == "$repeat" || key == "$concat" ||
                                 (key.starts_with('$') && object->size() == 1);
            if (!is_form) continue;
            if (object->size() != 1)
                throw malformed(path + "." + std::string(key) + ": must stand alone");
            return expanded_form(key, member.value(), path);
        }
        json::object copy;
        for (const auto& member : *object) {
            copy.emplace(member.key(),
                         expanded(member.value(), path + "." + std::string(member.key())));
        }
        return copy;
    }
    if (const auto* array = value.if_array()) {
        json::array copy;
        for (std::size_t i = 0; i != array->size(); ++i) {
            copy.push_back(expanded((*array)[i], path + "[" + std::to_string(i) + "]"));
        }
        return copy;
    }
    return value;
}

// --- Objects whose every key has to be read -----------------------------------------------------

/// An object of a vector. `finish()` refuses the keys that nobody has asked for.
class reader {
public:
    reader(const json::value& value, std::string path) : path_(std::move(path))
    {
        object_ = value.if_object();
        if (object_ == nullptr) throw malformed(path_ + ": must be an object");
    }

    const std::string& path() const noexcept { return path_; }
    std::string path_of(std::string_view key) const { return path_ + "." + std::string(key); }
    bool has(std::string_view key) const { return object_->contains(key); }

    const json::value* find(std::string_view key)
    {
        read_.emplace_back(key);
        return object_->if_contains(key);
    }

    const json::value& get(std::string_view key)
    {
        const auto* value = find(key);
        if (value == nullptr) throw malformed(path_of(key) + ": is missing");
        return *value;
    }

    std::optional<std::string> find_text(std::string_view key)
    {
        const auto* value = find(key);
        if (value == nullptr) return std::nullopt;
        return as_text(*value, path_of(key));
    }
    std::string text(std::string_view key) { return as_text(get(key), path_of(key)); }

    std::optional<bool> find_bool(std::string_view key)
    {
        const auto* value = find(key);
        if (value == nullptr) return std::nullopt;
        if (!value->is_bool()) throw malformed(path_of(key) + ": must be true or false");
        return value->get_bool();
    }

    std::optional<std::int64_t> find_integer(std::string_view key, std::int64_t low,
                                             std::int64_t high)
    {
        const auto* value = find(key);
        if (value == nullptr) return std::nullopt;
        json::error_code inexact;
        const auto number = value->to_number<std::int64_t>(inexact);
        if (inexact || number < low || number > high) {
            throw malformed(path_of(key) + ": must be a whole number from " + std::to_string(low) +
                            " to " + std::to_string(high) + ", not " + shown(*value));
        }
        return number;
    }

    std::vector<std::string> texts(std::string_view key)
    {
        return as_texts(get(key), path_of(key));
    }

    /// The name of one of `names`, as its place in them.
    template <class Choice>
    Choice choice(std::string_view key, std::initializer_list<std::string_view> names)
    {
        const auto said = text(key);
        std::size_t place = 0;
        for (const auto name : names) {
            if (said == name) return static_cast<Choice>(place);
            ++place;
        }
        throw malformed(path_of(key) + ": there is no \"" + said + "\"");
    }

    void finish() const
    {
        for (const auto& member : *object_) {
            if (std::find(read_.begin(), read_.end(), member.key()) == read_.end()) {
                throw malformed(path_of(member.key()) + ": the runner does not know this key");
            }
        }
    }

    static std::string as_text(const json::value& value, const std::string& path)
    {
        if (!value.is_string()) throw malformed(path + ": must be a string, not " + shown(value));
        return std::string(view(value.get_string()));
    }

    static std::vector<std::string> as_texts(const json::value& value, const std::string& path)
    {
        if (!value.is_array()) throw malformed(path + ": must be an array of strings");
        std::vector<std::string> texts;
        for (const auto& one : value.get_array()) texts.push_back(as_text(one, path + "[]"));
        return texts;
    }

private:
    std::string path_;
    const json::object* object_ = nullptr;
    std::vector<std::string> read_;
};

// --- Comparing ----------------------------------------------------------------------------------

/// Whether two numbers are equal as numbers, whatever their JSON spelling.
inline bool same_number(const json::value& a, const json::value& b)
{
    if (a.is_double() || b.is_double()) {
        const auto wide = [](const json::value& value) {
            if (value.is_double()) return static_cast<long double>(value.get_double());
            return value.is_int64() ? static_cast<long double>(value.get_int64())
                                    : static_cast<long double>(value.get_uint64());
        };
        return wide(a) == wide(b);
    }
    if (a.is_int64() == b.is_int64()) return a == b;
    const auto& small = a.is_int64() ? a : b;
    const auto& big = a.is_int64() ? b : a;
    return small.get_int64() >= 0 &&
           static_cast<std::uint64_t>(small.get_int64()) == big.get_uint64();
}

/// Where `actual` does not mean the same as `expected`, in words. The order of keys means nothing,
/// and 0.0 is 0.
inline std::optional<std::string> difference(const json::value& expected, const json::value& actual,
                                             const std::string& path)
{
    const auto differ = [&]() -> std::optional<std::string> {
        return path + ": expected " + shown(expected) + ", got " + shown(actual);
    };
    if (expected.is_number() && actual.is_number()) {
        return same_number(expected, actual) ? std::nullopt : differ();
    }
    if (expected.kind() != actual.kind()) return differ();
    if (expected.is_object()) {
        const auto& want = expected.get_object();
        const auto& have = actual.get_object();
        for (const auto& member : want) {
            const auto* value = have.if_contains(member.key());
            const auto inner = path + "." + std::string(member.key());
            if (value == nullptr)
                return inner + ": expected " + shown(member.value()) + ", got nothing";
            if (auto found = difference(member.value(), *value, inner)) return found;
        }
        for (const auto& member : have) {
            if (!want.contains(member.key())) {
                return path + "." + std::string(member.key()) + ": expected nothing, got " +
                       shown(member.value());
            }
        }
        return std::nullopt;
    }
    if (expected.is_array()) {
        const auto& want = expected.get_array();
        const auto& have = actual.get_array();
        for (std::size_t i = 0; i != std::min(want.size(), have.size()); ++i) {
            if (auto found = difference(want[i], have[i], path + "[" + std::to_string(i) + "]")) {
                return found;
            }
        }
        return want.size() == have.size() ? std::nullopt : differ();
    }
    return expected == actual ? std::nullopt : differ();
}

}  // namespace conformance

#endif
