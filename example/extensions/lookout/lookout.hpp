#ifndef BELAY_EXAMPLE_EXTENSIONS_LOOKOUT_HPP
#define BELAY_EXAMPLE_EXTENSIONS_LOOKOUT_HPP

// An extension: hooks that are functions, with a configuration of their own. What a config.json says
// of it, for example:
//
//     {"extensions": [{
//         "path": "/absolute/path/to/example/extensions/lookout",
//         "config": {
//             "sightings": {"reef": "The reef lies north of the harbour mouth."},
//             "rows": {"spotted": "Land ho", "nudge": "Look again"}
//         }
//     }]}

#include <belay/hooks/extension.hpp>

#include <filesystem>
#include <functional>
#include <string>

namespace lookout {

/// An extension that
///   - tells the model what it knows of a word, one of `sightings`, that is in a prompt;
///   - sends the model back if its reply only guesses;
///   - blocks a shell command that the shell could not even read;
///   - keeps a log of the turns, the subagents and the end of the conversations.
///
/// `folder` is where a configuration finds it. `log` gets each line of the log, on the registry's
/// executor.
belay::hooks::extension extension(std::filesystem::path folder,
                                  std::function<void(const std::string&)> log);

}  // namespace lookout

#endif
