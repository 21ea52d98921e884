#ifndef BELAY_HOOKS_COMMAND_HOOKS_HPP
#define BELAY_HOOKS_COMMAND_HOOKS_HPP

// The ready-made extension: executables that are listed in its own configuration.

#include <belay/config.hpp>
#include <belay/hooks/extension.hpp>

#include <filesystem>
#include <string_view>

namespace belay::hooks {

/// The name of the ready-made extension.
inline constexpr std::string_view command_hooks_name = "vera.command-hooks";

/// Registers the executables of a `hooks` list in its own configuration, all or nothing; without a
/// list there are none (spec: Vera, "Register from an extension"). Its entries are as in a config
/// document, except that `argv[0]` is an absolute path and all limits are judged at once; an invalid
/// list fails the activation, and the diagnosis names the entry, the field and the value. Included
/// unless the host says otherwise; `where` is the folder by which a configuration names it.
///
/// The list of config.json itself is run by the host, with or without this extension.
[[nodiscard]] BELAY_DECL extension command_hooks(std::filesystem::path where = {});

}  // namespace belay::hooks

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/command_hooks.ipp>
#endif

#endif
