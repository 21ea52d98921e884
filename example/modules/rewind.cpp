// The slash command /rewind takes back the last prompt, in a new session; /goto ENTRY goes to another
// entry of this one, and leaves a summary of what was said since. Both ask first.

#include <belay/modules/module.hpp>

#include <boost/asio/awaitable.hpp>

using namespace belay::modules;

namespace {

// The id of the last message of the user on the way to the leaf; empty if there is none.
std::string last_prompt(const session_manager& session)
{
    const auto entries = session.branch();
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
        const auto* message = entry->as_object().if_contains("message");
        if (message != nullptr && message->at("role") == "user") {
            return std::string(entry->at("id").as_string());
        }
    }
    return {};
}

void rewind(api& api)
{
    api.register_command(
        "rewind", "Takes back the last prompt",
        [](const command&, command_context here) -> boost::asio::awaitable<void> {
            const auto entry = last_prompt(*here.session());
            if (entry.empty()) co_return here.ui().notify("There is nothing to take back");
            const std::vector<select_option> ways = {{"rewind", "in a new session"}, {"stay", ""}};
            const auto chosen = co_await here.ui().async_select("Take back?", ways);
            if (chosen != "rewind") co_return;
            const auto changed = co_await here.async_branch(entry);
            if (!changed.cancelled) here.ui().notify("Taken back");
        });
    api.register_command(
        "goto", "Goes to an entry of the session",
        [](const command& given, command_context here) -> boost::asio::awaitable<void> {
            auto entry = given.arguments;
            if (entry.empty()) {
                const auto named = co_await here.ui().async_input("Which entry?", "entry_1");
                entry = named.value_or("");
            }
            if (entry.empty()) co_return;
            const navigate_options how{.summarize = true};
            co_await here.async_navigate_tree(entry, how);
        });
}

}  // namespace

BELAY_MODULE(rewind)
