#include "json_node.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>

#include "bad_input.hpp"
#include <algorithm>
#include <cctype>
#include <numeric>

namespace agent {
namespace {

namespace json = boost::json;

std::string quoted(std::string_view text)
{
    return json::serialize(json::value(text));
}

// The value for a message: what it is, and, cut, what it holds.
std::string described(const json::value& value)
{
    auto text = json::serialize(value);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    switch (value.kind()) {
    case json::kind::null: return "null";
    case json::kind::bool_: return text;
    case json::kind::string: return "the string " + text;
    case json::kind::array: return "the array " + text;
    case json::kind::object: return "the object " + text;
    default: return "the number " + text;
    }
}

std::string listed(const std::vector<std::string>& names)
{
    std::string text;
    for (const auto& name : names) text += (text.empty() ? "" : ", ") + quoted(name);
    return text;
}

// How many characters to add, drop or change to get from one to the other.
std::size_t distance(std::string_view from, std::string_view to)
{
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i != from.size(); ++i) {
        auto diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j != to.size(); ++j) {
            const auto changed = diagonal + (from[i] == to[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

// "; did you mean ...?", or what there is to choose from.
std::string suggestion(std::string_view given, const std::vector<std::string>& names)
{
    const auto nearest = std::ranges::min_element(
        names, {}, [&](const std::string& name) { return distance(given, name); });
    if (nearest != names.end() &&
        distance(given, *nearest) <= std::max<std::size_t>(2, given.size() / 3)) {
        return "; did you mean " + quoted(*nearest) + "?";
    }
    return "; it may be " + listed(names);
}

}  // namespace

json::value parse_json(std::string_view text, const std::string& file)
{
    json::stream_parser parser;
    boost::system::error_code error;
    const auto used = parser.write_some(text.data(), text.size(), error);
    if (!error && used < text.size()) error = json::error::extra_data;
    if (!error) parser.finish(error);
    if (!error) return parser.release();

    const auto before = text.substr(0, used);
    const auto line = std::ranges::count(before, '\n') + 1;
    const auto column = before.size() - (before.rfind('\n') + 1) + 1;
    throw bad_input(file + ":" + std::to_string(line) + ":" + std::to_string(column) +
                    ": not JSON: " + error.message());
}

json_node::json_node(const json::value& value, std::string file, std::string place)
    : value_(&value), file_(std::move(file)), place_(std::move(place))
{}

std::string json_node::text() const
{
    if (!value_->is_string()) expected("a string");
    return std::string(value_->get_string());
}

std::string json_node::filled_text() const
{
    auto filled = text();
    if (filled.empty()) fail("must not be empty");
    return filled;
}

std::optional<std::string> json_node::optional_text() const
{
    return value_->is_null() ? std::nullopt : std::optional(text());
}

bool json_node::boolean() const
{
    if (!value_->is_bool()) expected("true or false");
    return value_->get_bool();
}

std::uint64_t json_node::count() const
{
    if (!value_->is_int64() || value_->get_int64() < 0) expected("a whole number, 0 or more");
    return static_cast<std::uint64_t>(value_->get_int64());
}

std::string json_node::one_of(const std::vector<std::string>& names) const
{
    auto chosen = text();
    if (std::ranges::find(names, chosen) == names.end()) {
        fail("unknown value " + quoted(chosen) + suggestion(chosen, names));
    }
    return chosen;
}

std::vector<json_node> json_node::list() const
{
    if (!value_->is_array()) expected("an array");
    std::vector<json_node> nodes;
    for (const auto& one : value_->get_array()) {
        nodes.emplace_back(one, file_, place_ + "[" + std::to_string(nodes.size()) + "]");
    }
    return nodes;
}

std::vector<std::pair<std::string, json_node>> json_node::members() const
{
    std::vector<std::pair<std::string, json_node>> nodes;
    for (const auto& [key, value] : raw_object()) nodes.emplace_back(key, at(key, value));
    return nodes;
}

const json::object& json_node::raw_object() const
{
    if (!value_->is_object()) expected("an object");
    return value_->get_object();
}

json_object json_node::object(std::initializer_list<std::string_view> keys) const
{
    return {*this, keys};
}

json_node json_node::at(std::string_view key, const json::value& value) const
{
    const bool plain =
        std::ranges::all_of(key, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
    const auto name =
        plain ? (place_.empty() ? "" : ".") + std::string(key) : "[" + quoted(key) + "]";
    return {value, file_, place_ + name};
}

void json_node::fail(const std::string& why) const
{
    throw bad_input(file_ + ": " + (place_.empty() ? "" : place_ + ": ") + why);
}

void json_node::expected(std::string_view what) const
{
    fail("must be " + std::string(what) + ", and is " + described(*value_));
}

json_object::json_object(const json_node& node, std::initializer_list<std::string_view> keys)
    : node_(node)
{
    const std::vector<std::string> known(keys.begin(), keys.end());
    for (const auto& [key, value] : node_.raw_object()) {
        if (std::ranges::find(known, std::string_view(key)) == known.end()) {
            node_.fail("unknown key " + quoted(key) + suggestion(key, known));
        }
    }
}

std::optional<json_node> json_object::find(std::string_view key) const
{
    const auto* value = node_.raw_object().if_contains(key);
    return value ? std::optional(node_.at(key, *value)) : std::nullopt;
}

json_node json_object::required(std::string_view key) const
{
    auto node = find(key);
    if (!node) node_.fail(quoted(key) + " is missing");
    return *std::move(node);
}

std::optional<std::string> json_object::text(std::string_view key) const
{
    const auto node = find(key);
    return node ? std::optional(node->text()) : std::nullopt;
}

std::optional<std::string> json_object::filled_text(std::string_view key) const
{
    const auto node = find(key);
    return node ? std::optional(node->filled_text()) : std::nullopt;
}

std::optional<bool> json_object::boolean(std::string_view key) const
{
    const auto node = find(key);
    return node ? std::optional(node->boolean()) : std::nullopt;
}

std::optional<std::uint64_t> json_object::count(std::string_view key) const
{
    const auto node = find(key);
    return node ? std::optional(node->count()) : std::nullopt;
}

std::vector<json_node> json_object::list(std::string_view key) const
{
    const auto node = find(key);
    return node ? node->list() : std::vector<json_node>();
}

}  // namespace agent
