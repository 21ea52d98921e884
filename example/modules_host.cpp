// An agent that runs its modules: one conversation of a scripted model, with two modules that are linked
// in. example/agent loads them from shared libraries.

#include <belay/core/coroutine.hpp>
#include <belay/modules/runner.hpp>
#include <belay/modules/tool_wrapper.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/serialize.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

using namespace belay::modules;
using boost::asio::use_awaitable;
namespace json = boost::json;

// What modules may ask of this agent. What is not overridden does nothing.
struct small_agent final : agent {
    std::string cwd() const override { return "/nest"; }
    std::optional<model_info> model() const override { return model_info{"nest", "crow", "Crow"}; }

    void send_message(custom_message message, const delivery_options& options) override
    {
        const auto plan = plan_delivery(options, working);
        std::printf("%s: %s\n", plan.where == delivery::place::steering ? "steered" : "added",
                    serialize(message.content).c_str());
    }

    bool working = false;
};

// A person who agrees to everything.
struct agreeing_person final : ui {
    void confirm(std::string_view title, std::string_view message,
                 belay::host_reply<bool> reply) override
    {
        std::printf("%s: %s\n", std::string(title).c_str(), std::string(message).c_str());
        reply(true);
    }
};

// The modules.

void counter(api& its_api)
{
    its_api.on<before_agent_start>([](const before_agent_start& run) {
        return before_agent_start::result{
            .message = text_message("The person has written " + std::to_string(run.prompt.size()) +
                                    " letters.")};
    });
    its_api.on<tool_result>([](const tool_result&) -> std::optional<tool_result::result> {
        throw std::runtime_error("it cannot count");
    });
    its_api.register_command("count", "Counts letters", [its_api](const command& given) {
        its_api.send_message(std::to_string(given.arguments.size()) + " letters");
    });
}

void gate(api& its_api)
{
    its_api.on<tool_call>([](const tool_call& call,
                             handler_context here) -> boost::asio::awaitable<tool_call::answer> {
        const bool fine =
            co_await here.ui().async_confirm("Run it?", call.tool_name, use_awaitable);
        if (!fine) co_return belay::block{"the person said no"};
        co_return belay::observe{};
    });
}

// Makes the runner of a conversation. It must not outlive the event loop.
runner load_modules(boost::asio::io_context& loop)
{
    runner_options options;
    options.agent = std::make_shared<small_agent>();
    options.ui = std::make_shared<agreeing_person>();
    options.operator_channel = [](const operator_notice& notice) {
        std::printf("! %s\n", notice.message.c_str());
    };
    runner modules(loop.get_executor(), std::move(options));
    modules.on_error([](const handler_error& why) {
        std::printf("! %s, %s: %s\n", why.module.c_str(), why.event.c_str(), why.message.c_str());
    });
    modules.add("counter", counter);  // or load(modules, paths), of modules/loader.hpp
    modules.add("gate", gate);
    return modules;
}

// Runs one call, through approval, modules and the tool.
boost::asio::awaitable<json::array> run_tool(tool_wrapper& tools, std::string name,
                                             json::object input)
{
    tool what{.name = name, .approval = tool_approval{.tier = tool_tier::exec}};
    what.execute = [](const tool_call& call) -> boost::asio::awaitable<tool_output> {
        tool_output output;
        output.content = {text_block("ran " + serialize(call.input))};
        co_return output;
    };
    try {
        auto output = co_await tools.async_execute(what, "call_1", input, use_awaitable);
        co_return std::move(output.content);
    } catch (const std::exception& why) {  // tool_denied, tool_blocked, what the tool threw
        json::array content = {text_block(why.what())};
        co_return content;
    }
}

// One run of the agent: a prompt, a call of the model, a tool.
boost::asio::awaitable<void> run(runner& modules, tool_wrapper& tools, std::string prompt)
{
    if (co_await modules.async_run_command(prompt, use_awaitable)) co_return;  // no turn follows

    json::array messages = {{{"role", "user"}, {"content", prompt}}};
    before_agent_start asked{.prompt = prompt};
    const auto added = co_await modules.async_emit(std::move(asked), use_awaitable);
    for (const auto& message : added.messages) {
        messages.push_back({{"role", "custom"}, {"content", message.content}});
    }
    const agent_start started;
    co_await modules.async_emit(started, use_awaitable);
    const turn_start turn{.turn_index = 0};
    co_await modules.async_emit(turn, use_awaitable);

    context event{.messages = messages};
    const auto seen = co_await modules.async_emit(std::move(event), use_awaitable);
    const auto& sent = seen.replaced ? seen.messages : messages;
    std::printf("the model gets %s\n", serialize(sent).c_str());

    json::object input{{"command", "ls"}};
    const auto content = co_await run_tool(tools, "bash", std::move(input));
    std::printf("the tool gives %s\n", serialize(content).c_str());

    turn_end ended{.turn_index = 0};
    ended.tool_results = content;
    co_await modules.async_emit(std::move(ended), use_awaitable);
    agent_end over{.messages = std::move(messages)};
    co_await modules.async_emit(std::move(over), use_awaitable);
}

boost::asio::awaitable<void> converse(runner& modules)
{
    tool_wrapper tools(modules);
    const session_start begins;
    co_await modules.async_emit(begins, use_awaitable);
    co_await run(modules, tools, "Look around.");
    co_await run(modules, tools, "/count the letters");
    const session_shutdown ends;
    co_await modules.async_emit(ends, use_awaitable);
}

int main()
{
    boost::asio::io_context loop;
    auto modules = load_modules(loop);
    boost::asio::co_spawn(loop, converse(modules), [](std::exception_ptr failed) {
        if (failed) std::rethrow_exception(failed);
    });
    loop.run();
}
