// An agent without a model: it plays a conversation from a script. Everything else is real.

#include <belay/hooks/command_hooks.hpp>
#include <belay/hooks/config_file.hpp>
#include <belay/hooks/registry.hpp>
#include <belay/modules/approval.hpp>
#include <belay/modules/discovery.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "../extensions/lookout/lookout.hpp"
#include "bad_input.hpp"
#include "conversation.hpp"
#include "folders.hpp"
#include "hook_trace.hpp"
#include "host_log.hpp"
#include "json_node.hpp"
#include "logs.hpp"
#include "module_settings.hpp"
#include "options.hpp"
#include "play.hpp"
#include "scratch_folder.hpp"
#include "script.hpp"
#include "scripted_model.hpp"
#include "terminal.hpp"
#include "terminal_ui.hpp"
#include "tools.hpp"
#include "transcript.hpp"
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
namespace hooks = belay::hooks;
namespace modules = belay::modules;

template <class T>
T usable(belay::checked<T> what)
{
    if (!what) throw agent::bad_input(what.error().message);
    if constexpr (!std::is_void_v<T>) return *std::move(what);
}

// The paths of the modules: those of the home, then those of the command line, which are relative to
// where it was given.
std::vector<std::string> module_paths(const agent::options& given, const fs::path& home,
                                      agent::transcript& show)
{
    if (!given.discover) return {};
    auto where = modules::native_discovery(home.string());
    where.cwd = fs::current_path().string();
    std::vector<std::string> paths;
    for (const auto& path : given.modules) {
        paths.push_back(modules::resolve_path(path, where.cwd, modules::home_directory()));
    }
    const auto found = modules::discover_extension_paths(paths, where);
    for (const auto& warning : found.warnings) show.warning(warning);
    return found.paths;
}

// `tools.approvalMode` and `tools.approval.<tool>` of a config.json.
modules::approval_settings approval_of(const fs::path& config, agent::transcript& show)
{
    std::ifstream file(config, std::ios::binary);
    if (!file) return {};
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto document = agent::parse_json(text, config.string());
    const auto read = modules::read_approval_settings(document.as_object());
    for (const auto& warning : read.warnings) show.warning(warning);
    return read.settings;
}

int run(const agent::options& given)
{
    const auto script =
        agent::read_script(given.script.value_or(BELAY_AGENT_DIR "/conversation.json"));

    const agent::scratch_folder scratch;
    const auto home = given.home ? agent::existing_folder(*given.home) : scratch.path() / "home";
    if (!given.home) agent::copy_example_home(home);
    const auto workspace =
        given.workspace ? agent::existing_folder(*given.workspace) : scratch.path() / "workspace";
    fs::create_directory(workspace);
    agent::fill(workspace, script);

    agent::terminal terminal(std::cout, agent::stdout_has_colours());
    agent::transcript show(terminal);
    const agent::logs logs(home / "runtime/logs");
    const agent::tools tools(workspace);

    // The hooks: those of the configuration, as it is at each moment, then those of extensions.
    asio::io_context loop;
    agent::host_log log(home, show);
    agent::hook_trace trace(terminal);
    hooks::registry_options how;
    how.trace = given.trace ? &trace : nullptr;
    how.log = &log;
    how.ask_model = [&](const hooks::side_question& asked) {
        return agent::answer_aside(script, asked);
    };
    hooks::registry registry(loop.get_executor(), how);
    const auto config = std::make_shared<hooks::config_file>(home / "config.json");
    usable(registry.follow(config));

    std::string seen;
    const std::vector<hooks::extension> known = {
        hooks::command_hooks(BELAY_AGENT_DIR "/../extensions/command-hooks"),
        lookout::extension(BELAY_AGENT_DIR "/../extensions/lookout",
                           [&](const std::string& line) { seen += line + '\n'; }),
    };
    for (auto& one : usable(hooks::extensions_for(*config->current(), known))) {
        usable(registry.activate(one.what, std::move(one.config)));
    }

    // The modules: those of the home, then those of the command line.
    agent::module_settings with;
    with.paths = module_paths(given, home, show);
    with.approval = approval_of(config->path(), show);
    if (script.has_answers() || agent::has_terminal()) {
        with.ui = std::make_shared<agent::terminal_ui>(loop.get_executor(), show);
    }
    with.sessions = home / "runtime/sessions";
    with.trace = how.trace;

    const auto open_session = [&](std::string id) {
        return usable(registry.create_session(
            {.id = std::move(id), .workspace = workspace.string(), .bare = script.bare}));
    };
    agent::conversation conversation(open_session(script.session_id),
                                     {script.model, script.reasoning_effort, script.tools}, script,
                                     tools, with, show, open_session);
    show.opening(script, workspace, config->path(), config->current()->size(),
                 conversation.modules_loaded());

    // The first signal ends the conversation. The second one, what only watches its end. What modules
    // still have under way then ends with the loop.
    asio::cancellation_signal stop;
    asio::signal_set interrupted(loop, SIGINT, SIGTERM, SIGHUP);
    std::chrono::milliseconds patience = std::chrono::seconds(10);
    interrupted.async_wait([&](belay::error_code error, int) {
        if (error) return;
        stop.emit(asio::cancellation_type::terminal);
        interrupted.async_wait([&](belay::error_code again, int) {
            if (again) return;
            patience = patience.zero();
            registry.async_drain(patience, [](belay::error_code, std::size_t) {});
        });
    });

    bool played = false;
    std::size_t cut_off = 0;
    asio::co_spawn(
        loop, agent::play(script, conversation),
        asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr threw, bool all) {
            if (threw) std::rethrow_exception(threw);
            played = all;
            registry.async_drain(patience, [&](belay::error_code, std::size_t cut) {
                cut_off = cut;
                loop.stop();
            });
        }));
    loop.run();

    if (!played) show.warning("interrupted");
    if (cut_off != 0) show.warning("hooks that were cut off: " + std::to_string(cut_off));
    if (!seen.empty()) show.log("seen by the lookout", seen);
    for (const auto& [name, lines] : logs.gained()) show.log("runtime/logs/" + name, lines);
    return played ? 0 : 130;
}

}  // namespace

int main(int argc, char** argv)
{
    // A reader that goes away, as in `| head`, must not keep the scratch folder from being removed.
    std::signal(SIGPIPE, SIG_IGN);
    try {
        const auto given = agent::read_options(argc, argv);
        if (given.help) {
            std::cout << agent::usage;
            return 0;
        }
        return run(given);
    } catch (const agent::bad_input& error) {
        std::cerr << "belay_agent: " << agent::printable(error.what()) << '\n';
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "belay_agent: " << agent::printable(error.what()) << '\n';
        return 1;
    }
}
