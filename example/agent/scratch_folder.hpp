#ifndef BELAY_EXAMPLE_AGENT_SCRATCH_FOLDER_HPP
#define BELAY_EXAMPLE_AGENT_SCRATCH_FOLDER_HPP

#include <filesystem>

namespace agent {

/// A temporary folder of this run, removed with the object.
class scratch_folder {
public:
    scratch_folder();
    ~scratch_folder();
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;

    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace agent

#endif
