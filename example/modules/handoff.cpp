// The slash command /handoff goes on in a new session (spec: Veyyon, "Register slash command with
// command-safe context methods").

#include <belay/modules/module.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>

using namespace belay::modules;

namespace {

std::int64_t milliseconds_now()
{
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

void handoff(api& api)
{
    api.register_command(
        "handoff", "Create a new session with setup message",
        [](const command&, command_context here) -> boost::asio::awaitable<void> {
            co_await here.async_wait_for_idle();
            new_session_options options;
            options.parent_session = here.session()->session_file();
            options.setup = [](session_writer& session) {
                session.append_message({
                    {"role", "user"},
                    {"content", {text_block("Continue from prior session summary.")}},
                    {"timestamp", milliseconds_now()},
                });
            };
            co_await here.async_new_session(std::move(options));
        });
}

}  // namespace

BELAY_MODULE(handoff)
