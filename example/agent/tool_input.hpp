#ifndef BELAY_EXAMPLE_AGENT_TOOL_INPUT_HPP
#define BELAY_EXAMPLE_AGENT_TOOL_INPUT_HPP

#include <boost/json/object.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace agent {

/// Why a call cannot be run as it stands. The model gets to read it.
struct refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A string of a call's input. Throws refused if it is not there.
inline std::string argument(const boost::json::object& input, std::string_view name)
{
    const auto* value = input.if_contains(name);
    if (!value || !value->is_string()) {
        throw refused("the input has no string \"" + std::string(name) + "\"");
    }
    return std::string(value->get_string());
}

}  // namespace agent

#endif
