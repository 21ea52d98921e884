#ifndef BELAY_EXAMPLE_AGENT_LOGS_HPP
#define BELAY_EXAMPLE_AGENT_LOGS_HPP

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace agent {

/// The files of a folder of logs, and what they gain from now on.
class logs {
public:
    explicit logs(std::filesystem::path folder);

    /// By file name, what was appended.
    std::map<std::string, std::string> gained() const;

private:
    std::map<std::string, std::uintmax_t> sizes() const;

    std::filesystem::path folder_;
    std::map<std::string, std::uintmax_t> before_;
};

}  // namespace agent

#endif
