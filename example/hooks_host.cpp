// What a host does around its conversations: the hooks of a home, which may change while it runs; its
// extensions; the log; and the end. For what happens in a conversation see hooks_session.cpp.

#include <belay/hooks.hpp>
#include <belay/hooks/coroutine.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace belay::hooks;
using boost::asio::use_awaitable;
namespace fs = std::filesystem;

// An extension that knows where something is. Its own configuration says what.
extension lookout()
{
    extension made;
    made.name = "lookout";
    made.path = "/usr/share/ship/lookout";
    made.capabilities = {"hooks.pre_turn", "hooks.session_end"};
    made.activate = [](registrar& hooks) {
        const auto* what = hooks.config().as_object().if_contains("what");
        if (what == nullptr || !what->is_string()) return hooks.refuse("\"what\" must be a string");
        hooks.on<pre_turn>([what = std::string(what->as_string())](
                               const pre_turn& turn) -> std::optional<pre_turn::mutate> {
            if (turn.prompt.find(what) == std::string::npos) return std::nullopt;
            return pre_turn::mutate{.context = "The crow buried it.", .display = "Land ho"};
        });
        hooks.on<session_end>([](const session_end& session) -> boost::asio::awaitable<void> {
            std::printf("%s dropped anchor\n", session.session_id.c_str());
            co_return;
        });
    };
    return made;
}

// Takes the hooks of a home, and those extensions of this host that the home's configuration wants.
void set_up(registry& hooks, const fs::path& home)
{
    const auto file = std::make_shared<config_file>(home / "config.json");
    hooks.follow(file).value();
    const std::vector<extension> known{command_hooks("/usr/share/ship/command-hooks"), lookout()};
    for (const auto& one : extensions_for(*file->current(), known).value()) {
        hooks.activate(one.what, one.config).value();
    }
}

// Answers side questions: the last request of a conversation again, with one more message, to the same
// model. Here it is another fixed reply.
model_answer ask_model(const side_question& asked)
{
    auto request = *asked.request;
    request.as_array().emplace_back(asked.question);
    return {
        .text = "Palm Island.", .model = asked.settings.model, .usage = request.as_array().size()};
}

// The books of the host.
struct ledger final : usage_sink {
    void on_usage(const usage_record& record) noexcept override
    {
        std::printf("%s: %s, %s messages\n", record.session_id.c_str(),
                    std::string(record.counted_as).c_str(), serialize(record.usage).c_str());
    }
};

// Beside the hooks of all conversations, this one has functions of its own.
session_options options_of(std::string id)
{
    session_options made{.id = std::move(id), .workspace = "/nest"};
    made.prepare_turn = [](const pre_turn& turn) {
        return pre_turn::mutate{.context = "You are in " + turn.workspace + "."};
    };
    made.before_turn_ends =
        [](const turn_ending& turn) -> std::optional<turn_ending::continue_turn> {
        if (turn.reply.find("map") != std::string::npos) return std::nullopt;
        return turn_ending::continue_turn{.context = "Draw a map."};
    };
    return made;
}

boost::asio::awaitable<void> converse(registry& hooks, std::string id)
{
    session conversation = hooks.create_session(options_of(id)).value();
    const auto started =
        co_await conversation.async_start(session_start::cause::start, use_awaitable);
    std::printf("%s\n", started.message().c_str());

    turn_settings settings{.model = "small"};
    const auto turn =
        co_await conversation.async_begin_turn("Where is the treasure?", settings, use_awaitable);
    for (const auto& one : turn.contexts) {
        std::printf("* %s\n", added_context_row(one).line().c_str());
    }
    const boost::json::array request{"Where is the treasure?"};
    conversation.record_request(std::make_shared<const boost::json::value>(request));
    for (const auto* text : {"Under a palm.", "Under a palm. Here is a map."}) {
        model_reply reply{.text = text};
        const auto ending = co_await conversation.async_end_turn(reply, use_awaitable);
        if (!ending.continuation) break;
        std::printf("* %s\n", continued_turn_row(*ending.continuation).line().c_str());
    }
    const auto aside = co_await conversation.async_ask("Which island?", use_awaitable);
    std::printf("aside: %s\n", aside.text.c_str());
    conversation.close(session_end::cause::closed);
}

// Lets the hooks that nothing waits for end, within two seconds.
boost::asio::awaitable<void> shut_down(registry& hooks)
{
    const auto cut = co_await hooks.async_drain(std::chrono::seconds(2), use_awaitable);
    std::printf("%zu hooks were cut off\n", cut);
}

// A home with one hook, which says these words.
void write_home(const fs::path& home, std::string_view words)
{
    fs::create_directories(home / "hooks");
    std::ofstream(home / "hooks/orders")
        << "#!/bin/sh\necho '{\"power\":\"mutate\",\"context\":\"'\"$1\"'\"}'\n";
    fs::permissions(home / "hooks/orders", fs::perms::owner_all);
    std::ofstream(home / "config.json") << R"({
  "hooks": [{"phase": "session_start", "argv": ["orders", ")"
                                        << words << R"("]}],
  "extensions": [
    {"path": "/usr/share/ship/lookout", "config": {"what": "treasure"}},
    {"path": "/usr/share/ship/command-hooks", "config": {"hooks": [
      {"phase": "session_start",
       "argv": ["/bin/echo", "{\"power\":\"mutate\",\"context\":\"The wind is west.\"}"]}
    ]}}
  ]
})";
}

boost::asio::awaitable<void> work(registry& hooks, const fs::path& home)
{
    co_await converse(hooks, "sess_1");
    write_home(home, "Be brief, and kind.");  // as a person does who edits it: new sessions have it
    co_await converse(hooks, "sess_2");
    co_await shut_down(hooks);
}

int main()
{
    std::string folder = (fs::temp_directory_path() / "belay_home.XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
    const fs::path home = folder;
    write_home(home, "Be brief.");

    jsonl_file log(host_log_path(home.string()));
    boost::asio::io_context loop;
    ledger usage;
    registry hooks(loop.get_executor(), {.log = &log, .ask_model = ask_model, .usage = &usage});
    set_up(hooks, home);
    boost::asio::co_spawn(loop, work(hooks, home), [](std::exception_ptr failed) {
        if (failed) std::rethrow_exception(failed);
    });
    loop.run();
    fs::remove_all(home);
}
