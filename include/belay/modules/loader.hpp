#ifndef BELAY_MODULES_LOADER_HPP
#define BELAY_MODULES_LOADER_HPP

// Loads modules from shared libraries.
//
//     auto loaded = belay::modules::load(modules, discovered.paths);
//     for (const auto& why : loaded.errors) std::cerr << why.path << ": " << why.message << '\n';

#include <belay/config.hpp>
#include <belay/modules/runner.hpp>

#include <string>
#include <vector>

namespace belay::modules {

/// A module that was not loaded.
struct load_error {
    std::string path{};  ///< as it was given
    std::string message{};
};

/// What came of a list of paths.
struct load_result {
    std::vector<std::string> modules{};  ///< the paths that were loaded, as given, in order
    std::vector<load_error> errors{};    ///< in order
};

/// Opens each library (see BELAY_MODULE) and adds its module to the runner, with the path as its name,
/// one after another. A path that is not absolute is one of the runner's conversation: see
/// `resolve_path`. A library that cannot be opened, exports no module, was built with something else
/// than its host (`build_id`), or whose factory throws, is an entry in `errors`, and the operator
/// channel hears of it; the others are loaded. A path that is there twice is loaded twice.
///
/// Host and module must share what is inline, and so the host has to export its symbols: link it with
/// `-rdynamic` (CMake: the property ENABLE_EXPORTS; Meson: `export_dynamic`), and compile neither with
/// hidden visibility. Otherwise no module is loaded, and the error says so.
///
/// A library is opened once for the whole process, and never closed: a handler that was abandoned, or a
/// timer of its own, may call into it long after its runner is gone. To load a new build of a module,
/// give it a new path.
///
/// A program that uses Boost.DLL itself defines `BOOST_DLL_USE_STD_FS` for all of its files, as belay does
/// for its own.
BELAY_DECL load_result load(runner& into, const std::vector<std::string>& paths);

}  // namespace belay::modules

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/impl/loader.ipp>
#endif

#endif
