#include "folders.hpp"

#include <boost/json/serialize.hpp>

#include "bad_input.hpp"
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace agent {

namespace fs = std::filesystem;

fs::path existing_folder(const fs::path& given)
{
    std::error_code error;
    const auto folder = fs::canonical(given, error);
    if (error) throw bad_input(given.string() + ": " + error.message());
    if (!fs::is_directory(folder)) throw bad_input(given.string() + ": is not a folder");
    return folder;
}

void fill(const fs::path& workspace, const script& what)
{
    for (const auto& [name, content] : what.files) {
        const auto place = "files[\"" + name + "\"]";
        std::error_code error;
        const auto file = fs::weakly_canonical(workspace / name, error);
        const auto inside = file.lexically_relative(workspace);
        if (error || inside.empty() || inside == "." || *inside.begin() == "..") {
            throw bad_input(place + " is not in the workspace");
        }
        if (fs::exists(file, error)) continue;
        fs::create_directories(file.parent_path(), error);
        if (!(std::ofstream(file, std::ios::binary) << content).flush()) {
            throw bad_input(place + " cannot be written");
        }
    }
}

void copy_example_home(const fs::path& home)
{
    const fs::path example = fs::canonical(BELAY_AGENT_DIR "/..");
    fs::copy(example / "home", home, fs::copy_options::recursive);

    std::ifstream written(home / "config.json", std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(written), {});
    constexpr std::string_view placeholder = "\"/absolute/path/to/example/";
    auto place = boost::json::serialize(boost::json::value(example.string() + '/'));
    place.pop_back();  // the quote at its end
    for (auto at = text.find(placeholder); at != text.npos; at = text.find(placeholder, at)) {
        text.replace(at, placeholder.size(), place);
    }
    std::ofstream(home / "config.json", std::ios::binary | std::ios::trunc) << text;

    fs::create_directory(home / "extensions");
    for (const std::string name : {"context_filter", "git_checkpoint", "handoff", "permission_gate",
                                   "protected_paths", "redactor", "status_line"}) {
        fs::create_symlink(fs::path(BELAY_MODULES_DIR) / (name + ".so"),
                           home / "extensions" / (name + ".so"));
    }
}

}  // namespace agent
