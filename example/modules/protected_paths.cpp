// Keeps the model from writing to files that are not its own.

#include <belay/modules/module.hpp>

#include <algorithm>
#include <array>
#include <filesystem>

using namespace belay::modules;

namespace {

// A file of such a name, or a file anywhere in a folder of such a name, is protected.
constexpr std::array<std::string_view, 4> protected_names = {".env", ".git", ".ssh",
                                                             "node_modules"};

bool is_protected(const std::filesystem::path& file)
{
    return std::ranges::any_of(file.lexically_normal(), [](const std::filesystem::path& part) {
        return std::ranges::find(protected_names, part.string()) != protected_names.end();
    });
}

void protected_paths(api& api)
{
    api.on<tool_call>(
        [](const tool_call& event, handler_context here) -> std::optional<belay::block> {
            if (event.tool_name != "write" && event.tool_name != "edit") return std::nullopt;
            const std::string path(text_in(event.input, "path"));
            if (!is_protected(path)) return std::nullopt;
            here.ui().notify("Blocked " + event.tool_name + " to " + path, notice::warning);
            return belay::block{"Path \"" + path + "\" is protected"};
        });
}

}  // namespace

BELAY_MODULE(protected_paths)
