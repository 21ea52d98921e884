#ifndef BELAY_EXAMPLE_AGENT_FOLDERS_HPP
#define BELAY_EXAMPLE_AGENT_FOLDERS_HPP

#include "script.hpp"
#include <filesystem>

namespace agent {

/// A folder that a person has named. Throws bad_input.
std::filesystem::path existing_folder(const std::filesystem::path& given);

/// Writes the files of the script, but never in place of one that is there already. Throws bad_input.
void fill(const std::filesystem::path& workspace, const script& what);

/// Copies the home of the example, and puts modules into it. An extension is named by its absolute path, which is not known
/// before: in the copy, config.json has it in place of "/absolute/path/to/example".
void copy_example_home(const std::filesystem::path& home);

}  // namespace agent

#endif
