#include "options.hpp"

#include "bad_input.hpp"
#include <string>

namespace agent {

const std::string_view usage =
    R"(usage: belay_agent [SCRIPT.json] [--home DIR] [--workspace DIR] [--extension PATH]...
                   [--hook PATH]... [--no-extensions] [--trace]

Plays a conversation with an agent whose model is a script, and shows what hooks and modules do to it.

  SCRIPT.json       the conversation; without it, one that shows what they can do
  --home DIR        where config.json, hooks/ and extensions/ are, and runtime/ is written;
                    without it, a temporary copy of the example's
  --workspace DIR   where the tools work; without it, a temporary folder
  --extension PATH  load this module, a shared library, or those in this folder; -e is the same
  --hook PATH       the same, after all of --extension
  --no-extensions   load no module
  --trace           also show what each hook and module said, and how long it took
  --help            this text

Exit status: 0 if the conversation was played to its end, 2 if what was given cannot be used,
130 if it was interrupted.
)";

options read_options(int argc, char** argv)
{
    options given;
    std::vector<std::string> of_hook;
    for (int i = 1; i < argc; ++i) {
        std::string_view argument = argv[i];
        const auto value_of = [&](std::string_view name) -> std::optional<std::string> {
            if (argument.starts_with(name) && argument.substr(name.size()).starts_with('=')) {
                argument.remove_prefix(name.size() + 1);
            } else if (argument != name) {
                return std::nullopt;
            } else {
                argument = ++i == argc ? "" : argv[i];
            }
            if (argument.empty()) throw bad_input(std::string(name) + ": needs a path");
            return std::string(argument);
        };
        if (argument == "--help" || argument == "-h") {
            given.help = true;
        } else if (argument == "--trace") {
            given.trace = true;
        } else if (auto home = value_of("--home")) {
            given.home = home;
        } else if (auto workspace = value_of("--workspace")) {
            given.workspace = workspace;
        } else if (auto module = value_of("--extension")) {
            given.modules.push_back(*std::move(module));
        } else if (auto same = value_of("-e")) {
            given.modules.push_back(*std::move(same));
        } else if (auto hook = value_of("--hook")) {
            of_hook.push_back(*std::move(hook));
        } else if (argument == "--no-extensions") {
            given.discover = false;
        } else if (argument.starts_with('-')) {
            throw bad_input("unknown option " + std::string(argument) + "; see --help");
        } else if (given.script) {
            throw bad_input("more than one script: " + given.script->string() + " and " +
                            std::string(argument));
        } else {
            given.script = argument;
        }
    }
    given.modules.insert(given.modules.end(), of_hook.begin(), of_hook.end());
    if (!given.discover) given.modules.clear();
    return given;
}

}  // namespace agent
