// Asks the person before a dangerous shell command runs (spec: Veyyon, "Block unsafe bash commands").

#include <belay/modules/module.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "input.hpp"

using namespace belay::modules;
using boost::asio::use_awaitable;

namespace {

// What makes a command dangerous. Nothing if it is not.
std::string danger_of(const std::string& command)
{
    for (const auto* part : {"rm -rf", "sudo ", "chmod 777", "mkfs"}) {
        if (command.find(part) != std::string::npos) return part;
    }
    return {};
}

void permission_gate(api& api)
{
    api.on<tool_call>([](const tool_call& event,
                         handler_context here) -> boost::asio::awaitable<tool_call::answer> {
        if (event.tool_name != "bash") co_return belay::observe{};
        const auto command = text_at(event.input, "command");
        const auto danger = danger_of(command);
        if (danger.empty()) co_return belay::observe{};

        if (!here.has_ui()) co_return belay::block{danger + " blocked (no UI)"};
        const bool fine = co_await here.ui().async_confirm("Dangerous command", "Allow: " + command,
                                                           use_awaitable);
        if (!fine) co_return belay::block{"user denied command"};
        co_return belay::observe{};
    });
}

}  // namespace

BELAY_MODULE(permission_gate)
