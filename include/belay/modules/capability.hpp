#ifndef BELAY_MODULES_CAPABILITY_HPP
#define BELAY_MODULES_CAPABILITY_HPP

// What providers know of, and which of it counts (spec: Veyyon, "Discovery-level ordering").

#include <belay/config.hpp>

#include <functional>
#include <string>
#include <vector>

namespace belay::modules {

/// Whose it is: the user's, or the working tree's.
enum class item_level : unsigned char { user, project };

/// A module that a provider knows of.
struct extension_module {
    std::string name{};  ///< see `module_name`
    std::string path{};
    item_level level = item_level::user;
};

/// A hook that a provider knows of. Its type and its tool sort it; as a module it gets every event that
/// it subscribes to, of every tool.
struct hook_file {
    std::string type{};  ///< `pre` or `post`
    std::string tool{};  ///< `*`: any
    std::string name{};  ///< that of the file, with its suffix
    std::string path{};
    item_level level = item_level::user;
};

/// What one provider gives.
template <class Item>
struct provided_items {
    std::vector<Item> items{};
    std::vector<std::string> warnings{};
};

/// Somebody who knows of items: a folder, another tool's configuration.
template <class Item>
struct capability_provider {
    std::string id{};
    int priority = 0;  ///< higher ones come first, equal ones in the order of their list
    std::function<provided_items<Item>()> load{};  ///< what it throws is a warning
};

/// One item, wherever it stands.
template <class Item>
struct capability_entry {
    Item item{};
    std::string provider{};
    bool shadowed = false;  ///< an earlier one has its id
};

/// What all providers gave.
template <class Item>
struct capability_items {
    std::vector<Item> items{};                  ///< those that count, in order
    std::vector<capability_entry<Item>> all{};  ///< with those that are shadowed, or invalid
    std::vector<std::string> warnings{};        ///< for the operator; each names the provider
};

/// What two items have in common of which one shadows the other, and what a person disables:
/// `hook:<type>:<tool>:<name>`, `extension-module:<name>`.
BELAY_DECL std::string extension_id(const hook_file& item);
BELAY_DECL std::string extension_id(const extension_module& item);

/// Asks the providers, the one of highest priority first. Of the items with the same id the first one
/// counts, also if it is then found to be invalid: without a name, a path or a tool, or of a type
/// other than `pre` and `post`. Those whose id is in `disabled` are left out altogether.
BELAY_DECL capability_items<hook_file> load_hooks(
    const std::vector<capability_provider<hook_file>>& providers,
    const std::vector<std::string>& disabled = {});
BELAY_DECL capability_items<extension_module> load_extension_modules(
    const std::vector<capability_provider<extension_module>>& providers,
    const std::vector<std::string>& disabled = {});

}  // namespace belay::modules

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/impl/capability.ipp>
#endif

#endif
