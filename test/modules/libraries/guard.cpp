// A module as it should be: it blocks the tool `bash`.

#include <belay/modules/module.hpp>

#include <optional>

namespace {

void guard(belay::modules::api& api)
{
    api.on<belay::modules::tool_call>(
        [](const belay::modules::tool_call& event) -> std::optional<belay::block> {
            if (event.tool_name != "bash") return std::nullopt;
            return belay::block{"blocked by policy"};
        });
}

}  // namespace

BELAY_MODULE(guard)
