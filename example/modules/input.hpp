#ifndef BELAY_EXAMPLE_MODULES_INPUT_HPP
#define BELAY_EXAMPLE_MODULES_INPUT_HPP

#include <boost/json/object.hpp>

#include <string>
#include <string_view>

/// A string of a tool's input; empty if there is none of that name.
inline std::string text_at(const boost::json::object& input, std::string_view name)
{
    const auto* value = input.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string())
                                                  : std::string();
}

#endif
