#ifndef BELAY_MODULES_DISCOVERY_HPP
#define BELAY_MODULES_DISCOVERY_HPP

// Finds the modules of a conversation (spec: Veyyon, "Discovery and loading").
//
//     auto where = belay::modules::native_discovery(home_directory() + "/.my_agent");
//     auto found = belay::modules::discover_extension_paths(given_on_the_command_line, where);
//     for (const auto& warning : found.warnings) std::cerr << warning << '\n';
//     auto loaded = belay::modules::load(modules, found.paths);

#include <belay/config.hpp>
#include <belay/modules/capability.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::modules {

/// A plugin that is installed: a folder with a `package.json`, whose manifest is the first there is of
/// the members `veyyon`, `omp` and `pi`. A manifest has `extensions` and `hooks`, each one path or a
/// list of them, and `features` by name, with more of both and `default`.
struct plugin {
    std::string name{};
    std::string path{};  ///< its folder
    item_level level = item_level::user;
    bool enabled = true;

    /// None: the features whose `default` is true.
    std::optional<std::vector<std::string>> enabled_features{};
};

/// Where modules are looked for.
struct discovery_options {
    /// What paths that are not absolute are relative to. Empty: the process's own.
    std::string cwd{};

    /// What `~` stands for. Empty: `home_directory()`.
    std::string home{};

    /// How the names of modules end. A folder's own module is `index` with the first of them that is
    /// there.
    std::vector<std::string> suffixes{".so"};

    /// Those with the id `native` are asked, and no other.
    std::vector<capability_provider<extension_module>> extension_modules{};

    std::vector<capability_provider<hook_file>> hooks{};

    /// One of the project replaces one of the user of the same name.
    std::vector<plugin> plugins{};

    /// `hook:<type>:<tool>:<name>`, and `extension-module:<name>`. The latter leaves out what is found
    /// in folders and plugins by that `module_name`, and neither a hook nor a configured file.
    std::vector<std::string> disabled{};

    /// Of whoever made these options: they are the first of `discovery`.
    std::vector<std::string> warnings{};
};

/// What was found.
struct discovery {
    std::vector<std::string> paths{};     ///< in the order of loading
    std::vector<std::string> warnings{};  ///< for the operator; each names a file or a provider
};

/// Lists native extension modules, then hooks whose names end in a suffix, then the entries of plugins,
/// each first its `extensions`, then its `hooks`, then what is configured; what is there twice, by its
/// absolute path, where it is first. Files of a folder are sorted by name.
///
/// A configured file is taken as it is, also if it does not exist: that is an error of loading. Of a
/// configured folder come the entries of its manifest that exist; or else its index; or else its
/// modules, and the manifest's entries or the index of each of its folders.
BELAY_DECL discovery discover_extension_paths(const std::vector<std::string>& configured,
                                              const discovery_options& options = {});

/// An absolute path as it is; `~` as the home directory; any other path relative to `cwd` (spec:
/// Veyyon, "Path resolution"). `~name` is what is called so in the home directory.
BELAY_DECL std::string resolve_path(std::string_view path, std::string_view cwd,
                                    std::string_view home);

/// What `HOME` says or, without it, the user's entry in the password database. May be empty.
BELAY_DECL std::string home_directory();

/// What a module is called by its path: the file's name without its last suffix; of an index, its
/// folder's name.
BELAY_DECL std::string module_name(std::string_view path,
                                   const std::vector<std::string>& suffixes = {".so"});

/// The native provider of an agent's own folder: the modules in its `extensions`.
BELAY_DECL capability_provider<extension_module> native_extension_modules(
    std::string agent_folder, std::vector<std::string> suffixes = {".so"});

/// The native provider of an agent's own folder: the files in its `hooks/pre` and `hooks/post`, but for
/// links and those whose names begin with a dot. A hook's tool is its name without its last suffix.
BELAY_DECL capability_provider<hook_file> native_hooks(std::string agent_folder);

/// The plugins in a folder, sorted by name: each folder with a `package.json`, also within those whose
/// names begin with `@`.
BELAY_DECL provided_items<plugin> plugins_in(const std::string& folder);

/// Both native providers and the plugins in `plugins/node_modules` of an agent's own folder. It is the
/// user's: nothing of a working tree is read.
BELAY_DECL discovery_options native_discovery(const std::string& agent_folder);

}  // namespace belay::modules

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/impl/discovery.ipp>
#endif

#endif
