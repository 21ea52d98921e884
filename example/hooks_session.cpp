// An agent's loop around a session: where each operation belongs. The model is three fixed replies;
// the hooks are functions, where a host would also `use` a configuration with executables.

#include <belay/hooks.hpp>
#include <belay/hooks/coroutine.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace belay::hooks;
using boost::asio::use_awaitable;

// What the model says, one reply after another.
class scripted_model {
public:
    model_reply call(const turn_settings& settings)
    {
        std::printf("(%s, %zu tools)\n", settings.model.c_str(), settings.tools.size());
        return replies_.at(next_++);
    }

private:
    static tool_call shell(std::string id, std::string command)
    {
        tool_call made{std::move(id), "bash", {}};
        made.input.emplace("command", command);
        return made;
    }

    std::vector<model_reply> replies_{
        {.text = "Let me tidy up.", .calls = {shell("c1", "rm chest"), shell("c2", "ls")}},
        {.text = "Done."},
        {.text = "Done, and here is a map."},
    };
    std::size_t next_ = 0;
};

void add_hooks(registry& hooks)
{
    hooks.on<pre_turn>([](const pre_turn&) { return pre_turn::mutate{.context = "Third palm."}; },
                       "recall");
    hooks.on<pre_tool_use>(
        [](const pre_tool_use& event) -> std::optional<belay::block> {
            const auto* command = event.call.input.if_contains("command");
            if (command != nullptr && *command == "rm chest")
                return belay::block{"The chest stays."};
            return std::nullopt;
        },
        "guard");
    hooks.on<turn_ending>(
        [](const turn_ending& event) -> std::optional<turn_ending::continue_turn> {
            if (event.reply.find("map") != std::string::npos) return std::nullopt;
            return turn_ending::continue_turn{.context = "Draw a map.", .display = "A map is due"};
        },
        "map-check");
}

boost::asio::awaitable<void> converse(session conversation)
{
    scripted_model model;
    tool_host host;
    host.permit = [](const tool_call&) { return permission::grant(); };
    host.run = [](const tool_call&) -> boost::asio::awaitable<tool_result> {
        co_return text_result("chest  palms");
    };

    const auto started =
        co_await conversation.async_start(session_start::cause::start, use_awaitable);
    if (const auto text = started.message(); !text.empty()) std::printf("%s\n", text.c_str());

    turn_settings settings{.model = "small", .tools = {"bash"}};
    const auto turn =
        co_await conversation.async_begin_turn("Where is the chest?", settings, use_awaitable);
    for (const auto& one : turn.contexts)
        std::printf("* %s\n", added_context_row(one).line().c_str());
    if (turn.blocked) std::printf("! %s\n", turn.blocked_text().c_str());

    while (conversation.turn_running()) {
        const auto reply = model.call(conversation.settings());
        std::printf("%s\n", reply.text.c_str());
        if (reply.calls.empty()) {
            const auto ending = co_await conversation.async_end_turn(reply, use_awaitable);
            if (ending.continuation) {
                std::printf("* %s\n", continued_turn_row(*ending.continuation).line().c_str());
            }
        } else {
            for (const auto& one :
                 co_await conversation.async_run_tools(reply, host, use_awaitable)) {
                std::printf("  %s %s: %s\n", one.call.id.c_str(),
                            one.result.is_error ? "refused" : "ran",
                            text_of(one.result.content).c_str());
            }
        }
    }
    conversation.close(session_end::cause::closed);
}

int main()
{
    boost::asio::io_context loop;
    registry hooks(loop.get_executor());
    add_hooks(hooks);
    boost::asio::co_spawn(
        loop, converse(hooks.create_session({.id = "sess_1", .workspace = "/nest"}).value()),
        [](std::exception_ptr failed) {
            if (failed) std::rethrow_exception(failed);
        });
    loop.run();
}
