// Blocks `rm -rf` (spec: Veyyon, "What a hook module is").

#include <belay/modules/module.hpp>

using namespace belay::modules;

namespace {

void guard(api& api)
{
    api.on<tool_call>([](const tool_call& event) -> std::optional<belay::block> {
        if (event.tool_name == "bash" &&
            text_in(event.input, "command").find("rm -rf") != std::string::npos) {
            return belay::block{"blocked by policy"};
        }
        return std::nullopt;
    });
}

}  // namespace

BELAY_MODULE(guard)
