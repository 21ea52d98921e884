// Asks the person before a dangerous command runs (spec: Veyyon, "Block unsafe bash commands").

#include <belay/modules/module.hpp>

using namespace belay::modules;

namespace {

void permission_gate(api& api)
{
    api.on<tool_call>([](const tool_call& event,
                         handler_context here) -> boost::asio::awaitable<tool_call::answer> {
        if (event.tool_name != "bash") co_return belay::observe{};
        const std::string command(text_in(event.input, "command"));
        if (command.find("rm -rf") == command.npos) co_return belay::observe{};

        if (!here.has_ui()) co_return belay::block{"rm -rf blocked (no UI)"};
        const bool fine =
            co_await here.ui().async_confirm("Dangerous command", "Allow: " + command);
        if (!fine) co_return belay::block{"user denied command"};
        co_return belay::observe{};
    });
}

}  // namespace

BELAY_MODULE(permission_gate)
