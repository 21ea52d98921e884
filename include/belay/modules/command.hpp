#ifndef BELAY_MODULES_COMMAND_HPP
#define BELAY_MODULES_COMMAND_HPP

// Slash commands: `/name arguments`.

#include <belay/core/any_handler.hpp>
#include <belay/core/event.hpp>

#include <string>
#include <string_view>
#include <variant>

namespace belay::modules {

/// A person has given a slash command. Nothing can be said about it.
struct command {
    static constexpr std::string_view event_name = "command";
    using answer = std::variant<observe>;
    using fold = notify_fold<command>;

    std::string name{};       ///< without the slash
    std::string arguments{};  ///< all that comes after the first space, as it was written
};

/// A command that a module has registered.
struct command_info {
    std::string name{};
    std::string description{};  ///< for people; may be empty
    std::string module{};
};

}  // namespace belay::modules

#endif
