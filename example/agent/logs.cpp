#include "logs.hpp"

#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace agent {

logs::logs(std::filesystem::path folder) : folder_(std::move(folder)), before_(sizes()) {}

std::map<std::string, std::uintmax_t> logs::sizes() const
{
    std::map<std::string, std::uintmax_t> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
        const auto size = entry.file_size(error);
        if (!error) found[entry.path().filename().string()] = size;
    }
    return found;
}

std::map<std::string, std::string> logs::gained() const
{
    std::map<std::string, std::string> texts;
    for (const auto& [name, size] : sizes()) {
        const auto known = before_.find(name);
        const auto from = known == before_.end() ? 0 : known->second;
        if (size <= from) continue;
        std::ifstream file(folder_ / name, std::ios::binary);
        file.seekg(static_cast<std::streamoff>(from));
        texts[name].assign(std::istreambuf_iterator<char>(file), {});
    }
    return texts;
}

}  // namespace agent
