#ifndef BELAY_EXAMPLE_AGENT_JSON_NODE_HPP
#define BELAY_EXAMPLE_AGENT_JSON_NODE_HPP

// A JSON document that knows where it is: what is wrong in it is reported with its place.

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace agent {

/// Parses the text of `file`. Throws bad_input with the line and the column.
boost::json::value parse_json(std::string_view text, const std::string& file);

class json_object;

/// A value, and its place. Whatever reads it as something that it is not throws bad_input.
class json_node {
public:
    json_node(const boost::json::value& value, std::string file, std::string place = "");

    std::string text() const;
    std::string filled_text() const;                   ///< not empty
    std::optional<std::string> optional_text() const;  ///< or null
    bool boolean() const;
    std::uint64_t count() const;
    std::string one_of(const std::vector<std::string>& names) const;
    std::vector<json_node> list() const;
    std::vector<std::pair<std::string, json_node>> members() const;
    const boost::json::object& raw_object() const;

    /// As an object that has no other keys than these.
    json_object object(std::initializer_list<std::string_view> keys) const;

    [[noreturn]] void fail(const std::string& why) const;

private:
    friend class json_object;

    json_node at(std::string_view key, const boost::json::value& value) const;
    [[noreturn]] void expected(std::string_view what) const;

    const boost::json::value* value_;
    std::string file_;
    std::string place_;
};

/// An object with known keys. Absent keys read as nothing.
class json_object {
public:
    json_object(const json_node& node, std::initializer_list<std::string_view> keys);

    std::optional<json_node> find(std::string_view key) const;
    json_node required(std::string_view key) const;

    std::optional<std::string> text(std::string_view key) const;
    std::optional<std::string> filled_text(std::string_view key) const;
    std::optional<bool> boolean(std::string_view key) const;
    std::optional<std::uint64_t> count(std::string_view key) const;
    std::vector<json_node> list(std::string_view key) const;

    /// What the string means; `otherwise` if there is none.
    template <class T>
    T choice(std::string_view key, T otherwise,
             std::initializer_list<std::pair<const char*, std::type_identity_t<T>>> meanings) const
    {
        const auto node = find(key);
        if (!node) return otherwise;
        std::vector<std::string> names;
        for (const auto& [name, meaning] : meanings) names.emplace_back(name);
        const auto chosen = node->one_of(names);
        for (const auto& [name, meaning] : meanings) {
            if (chosen == name) return meaning;
        }
        return otherwise;
    }

    [[noreturn]] void fail(const std::string& why) const { node_.fail(why); }

private:
    json_node node_;
};

}  // namespace agent

#endif
