// A module that makes it hard for its host, for the agent's test.

#include <belay/modules/module.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <stdexcept>

using namespace belay::modules;
namespace asio = boost::asio;

namespace {

// Runs one program after another, and does not end by itself.
asio::awaitable<void> work(api its_api, std::string seconds)
{
    const std::vector<std::string> arguments{seconds};
    const exec_options in_the_working_directory;
    for (;;) co_await its_api.async_exec("sleep", arguments, in_the_working_directory);
}

void difficult(api& its_api)
{
    its_api.register_command("work", "Works on", [api = its_api](const command& given) {
        asio::co_spawn(api.get_executor(), work(api, given.arguments), asio::detached);
    });
    its_api.register_command("fail", "Begins a session, and fails at it",
                             [](const command&, command_context here) -> asio::awaitable<void> {
                                 new_session_options options;
                                 options.setup = [](session_writer&) {
                                     throw std::runtime_error("no paper");
                                 };
                                 co_await here.async_new_session(std::move(options));
                             });
    its_api.register_command(
        "write", "Lets the person write",
        [](const command&, command_context here) -> asio::awaitable<void> {
            const auto text = co_await here.ui().async_editor("A letter", "Dear all");
            here.ui().notify(text ? "written: " + *text : "nothing was written", notice::info);
        });

    // What is no object.
    its_api.on<tool_result>([](const tool_result& event) {
        auto content = event.content;
        content.insert(content.begin(), "bare text");
        return tool_result::result{.content = std::move(content)};
    });
    its_api.on<context>([](const context& event) {
        auto messages = event.messages;
        messages.insert(messages.begin(), "bare text");
        return context::result{.messages = std::move(messages)};
    });
}

}  // namespace

BELAY_MODULE(difficult)
