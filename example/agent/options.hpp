#ifndef BELAY_EXAMPLE_AGENT_OPTIONS_HPP
#define BELAY_EXAMPLE_AGENT_OPTIONS_HPP

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agent {

/// The command line.
struct options {
    std::optional<std::filesystem::path> script;
    std::optional<std::filesystem::path> home;
    std::optional<std::filesystem::path> workspace;
    std::vector<std::string> modules;  ///< those of --extension, then those of --hook
    bool discover = true;              ///< modules of the home, too; false: no modules at all
    bool trace = false;
    bool help = false;
};

extern const std::string_view usage;

/// Throws bad_input.
options read_options(int argc, char** argv);

}  // namespace agent

#endif
