#include "scratch_folder.hpp"

#include <cerrno>
#include <stdlib.h>
#include <string>
#include <system_error>

namespace agent {

scratch_folder::scratch_folder()
{
    auto name = (std::filesystem::temp_directory_path() / "belay_agent.XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::system_error(errno, std::system_category(), name);
    path_ = std::filesystem::canonical(name);
}

scratch_folder::~scratch_folder()
{
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace agent
