// An agent without a model: it plays a conversation from a script. Everything else is real.

#include <belay/hooks/config_file.hpp>
#include <belay/hooks/log.hpp>
#include <belay/hooks/registry.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "bad_input.hpp"
#include "conversation.hpp"
#include "extensions.hpp"
#include "hook_trace.hpp"
#include "logs.hpp"
#include "scratch_folder.hpp"
#include "script.hpp"
#include "terminal.hpp"
#include "tools.hpp"
#include "transcript.hpp"
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
namespace hooks = belay::hooks;
using agent::bad_input;

constexpr std::string_view usage =
    R"(usage: belay_agent [SCRIPT.json] [--home DIR] [--workspace DIR] [--trace]

Plays a conversation with an agent whose model is a script, and shows what hooks do to it.

  SCRIPT.json      the conversation; without it, one that shows what hooks can do
  --home DIR       where config.json and hooks/ are, and runtime/logs/ is written;
                   without it, a temporary copy of the example's
  --workspace DIR  where the tools work; without it, a temporary folder
  --trace          also show what each hook said, and how long it took
  --help           this text

Exit status: 0 if the conversation was played to its end, 2 if what was given cannot be used,
130 if it was interrupted.
)";

struct options {
    std::optional<fs::path> script;
    std::optional<fs::path> home;
    std::optional<fs::path> workspace;
    bool trace = false;
    bool help = false;
};

options parse(int argc, char** argv)
{
    options given;
    for (int i = 1; i < argc; ++i) {
        std::string_view argument = argv[i];
        const auto value_of = [&](std::string_view name) -> std::optional<fs::path> {
            if (argument.starts_with(name) && argument.substr(name.size()).starts_with('=')) {
                return argument.substr(name.size() + 1);
            }
            if (argument != name) return std::nullopt;
            if (++i == argc) throw bad_input(std::string(name) + ": needs a folder");
            return argv[i];
        };
        if (argument == "--help" || argument == "-h") {
            given.help = true;
        } else if (argument == "--trace") {
            given.trace = true;
        } else if (auto home = value_of("--home")) {
            given.home = home;
        } else if (auto workspace = value_of("--workspace")) {
            given.workspace = workspace;
        } else if (argument.starts_with('-')) {
            throw bad_input("unknown option " + std::string(argument) + "; see --help");
        } else if (given.script) {
            throw bad_input("more than one script: " + given.script->string() + " and " +
                            std::string(argument));
        } else {
            given.script = argument;
        }
    }
    return given;
}

fs::path existing_folder(const fs::path& given)
{
    std::error_code error;
    const auto folder = fs::canonical(given, error);
    if (error) throw bad_input(given.string() + ": " + error.message());
    if (!fs::is_directory(folder)) throw bad_input(given.string() + ": is not a folder");
    return folder;
}

// The files of the script, but never in place of one that is there already.
void fill(const fs::path& workspace, const agent::script& what)
{
    for (const auto& [name, content] : what.files) {
        const auto place = "files[\"" + name + "\"]";
        std::error_code error;
        const auto file = fs::weakly_canonical(workspace / name, error);
        const auto inside = file.lexically_relative(workspace);
        if (error || inside.empty() || inside == "." || *inside.begin() == "..") {
            throw bad_input(place + " is not in the workspace");
        }
        if (fs::exists(file, error)) continue;
        fs::create_directories(file.parent_path(), error);
        if (!(std::ofstream(file, std::ios::binary) << content).flush()) {
            throw bad_input(place + " cannot be written");
        }
    }
}

template <class T>
T usable(belay::checked<T> what)
{
    if (!what) throw bad_input(what.error().message);
    if constexpr (!std::is_void_v<T>) return *std::move(what);
}

int play(const options& given)
{
    const auto script =
        agent::read_script(given.script.value_or(BELAY_AGENT_DIR "/conversation.json"));

    const agent::scratch_folder scratch;
    const auto home = given.home ? existing_folder(*given.home) : scratch.path() / "home";
    if (!given.home) fs::copy(BELAY_AGENT_DIR "/../home", home, fs::copy_options::recursive);
    const auto workspace =
        given.workspace ? existing_folder(*given.workspace) : scratch.path() / "workspace";
    fs::create_directory(workspace);
    fill(workspace, script);

    agent::terminal terminal(std::cout, agent::stdout_has_colours());
    agent::transcript show(terminal);
    const agent::logs logs(home / "runtime/logs");
    const agent::tools tools(workspace);

    asio::io_context loop;
    hooks::config_file config(home / "config.json");
    hooks::jsonl_file log(hooks::host_log_path(home.string()));
    agent::hook_trace trace(terminal);
    hooks::registry registry(loop.get_executor(),
                             {.trace = given.trace ? &trace : nullptr, .log = &log});
    usable(config.load());
    usable(registry.use(config.current()));
    agent::add_extensions(registry);

    // A config that was changed meanwhile counts in the next session, and for what only observes.
    const auto reload = [&] {
        const auto changed = config.refresh();
        if (!changed) return show.warning(changed.error().message);
        if (!*changed) return;
        if (const auto used = registry.use(config.current()); !used) {
            show.warning(used.error().message);
        }
    };

    show.opening(script, workspace, config.path(), config.current()->size());
    agent::conversation conversation(
        usable(registry.create_session(
            {.id = script.session_id, .workspace = workspace.string(), .bare = script.bare})),
        script, tools, show, reload);

    asio::cancellation_signal stop;
    asio::io_context
        signals;  // of its own, so that waiting for them does not keep the loop at work
    asio::signal_set interrupted(signals, SIGINT, SIGTERM, SIGHUP);
    interrupted.async_wait([&](belay::error_code error, int) {
        if (error) return;
        stop.emit(asio::cancellation_type::terminal);
        // The second one waits for nothing: the hooks that still run end with the loop.
        interrupted.async_wait([&](belay::error_code again, int) {
            if (!again) loop.stop();
        });
    });

    bool played = false;
    asio::co_spawn(
        loop, conversation.play(),
        asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr threw, bool all) {
            if (threw) std::rethrow_exception(threw);
            played = all;
        }));
    while (!loop.stopped()) {
        loop.run_one_for(std::chrono::milliseconds(100));
        signals.poll();
    }

    if (!played) show.warning("interrupted");
    for (const auto& [name, lines] : logs.gained()) show.log("runtime/logs/" + name, lines);
    return played ? 0 : 130;
}

}  // namespace

int main(int argc, char** argv)
{
    // A reader that goes away, as in `| head`, must not keep the scratch folder from being removed.
    std::signal(SIGPIPE, SIG_IGN);
    try {
        const auto given = parse(argc, argv);
        if (given.help) {
            std::cout << usage;
            return 0;
        }
        return play(given);
    } catch (const bad_input& error) {
        std::cerr << "belay_agent: " << agent::printable(error.what()) << '\n';
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "belay_agent: " << agent::printable(error.what()) << '\n';
        return 1;
    }
}
