#include "lookout.hpp"

#include <belay/hooks/coroutine.hpp>
#include <belay/hooks/session_events.hpp>
#include <belay/hooks/tool_events.hpp>
#include <belay/hooks/turn_events.hpp>
#include <belay/process/run.hpp>
#include <belay/process/utf8.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include "settings.hpp"
#include <memory>
#include <optional>
#include <utility>

namespace lookout {
namespace {

namespace asio = boost::asio;
namespace hooks = belay::hooks;
using hooks::pre_tool_use;
using hooks::pre_turn;
using hooks::session_end;
using hooks::subagent_finished;
using hooks::turn_ending;
using hooks::turn_finished;

std::optional<pre_turn::mutate> tell_what_is_known(const pre_turn& turn, const settings& ours)
{
    for (const auto& [word, known] : ours.sightings) {
        if (turn.prompt.find(word) == std::string::npos) continue;
        return pre_turn::mutate{.context = known, .display = ours.spotted + ": " + word};
    }
    return std::nullopt;
}

std::optional<turn_ending::continue_turn> send_back_to_look(const turn_ending& turn,
                                                            const settings& ours)
{
    if (turn.reply.find("probably") == std::string::npos) return std::nullopt;
    return turn_ending::continue_turn{.context = "Do not guess. Look, and say what you saw.",
                                      .display = ours.nudge};
}

// Asks the shell whether it can read the command, without running any of it. Meanwhile the
// conversation's thread is free: hooks of other calls go on.
asio::awaitable<std::optional<belay::block>> look_ahead(const pre_tool_use& event)
{
    const auto* command = event.call.input.if_contains("command");
    if (event.call.name != "bash" || !command || !command->is_string()) co_return std::nullopt;

    belay::process::invocation check;
    check.argv = {"/bin/bash", "-n", "-c", std::string(command->get_string())};
    check.cwd = event.workspace;
    const auto executor = co_await asio::this_coro::executor;
    const auto [error, report] = co_await belay::process::async_run(
        executor, std::move(check), std::string(), asio::as_tuple(asio::use_awaitable));
    if (error) throw boost::system::system_error(error);  // recorded; of an extension, ignored
    if (report.status.is_success()) co_return std::nullopt;
    co_return belay::block{"the shell cannot read this command\n" +
                           belay::process::utf8_lenient(report.err)};
}

const char* name_of(turn_finished::result how)
{
    switch (how) {
    case turn_finished::result::completed: return "completed";
    case turn_finished::result::error: return "error";
    case turn_finished::result::aborted: return "aborted";
    }
    return "";
}

std::string line_of(const turn_finished& turn)
{
    return turn.session_id + ": turn " + std::to_string(turn.turns) + ": " + name_of(turn.outcome);
}

std::string line_of(const subagent_finished& subagent)
{
    const bool completed = subagent.outcome == subagent_finished::result::completed;
    return subagent.subagent_id + (completed ? " handed back: " : " has failed: ") + subagent.text;
}

std::string line_of(const session_end& session)
{
    return session.session_id + ": closed, turns: " + std::to_string(session.turns);
}

}  // namespace

hooks::extension extension(std::filesystem::path folder,
                           std::function<void(const std::string&)> log)
{
    hooks::extension made;
    made.name = "lookout";
    made.path = std::move(folder);
    made.capabilities = {"hooks.pre_turn",      "hooks.turn_ending",       "hooks.pre_tool_use",
                         "hooks.turn_finished", "hooks.subagent_finished", "hooks.session_end"};
    made.activate = [log = std::move(log)](hooks::registrar& us) {
        const auto ours = std::make_shared<const settings>(read_settings(us.config()));
        const auto note = [log](const auto& event) { log(line_of(event)); };

        us.on<pre_turn>([ours](const pre_turn& turn) { return tell_what_is_known(turn, *ours); });
        us.on<turn_ending>(
            [ours](const turn_ending& turn) { return send_back_to_look(turn, *ours); });
        us.on<pre_tool_use>(look_ahead);
        us.on<turn_finished>(note);
        us.on<subagent_finished>(note);
        us.on<session_end>(note);
    };
    return made;
}

}  // namespace lookout
