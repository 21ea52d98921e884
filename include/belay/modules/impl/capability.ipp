#ifndef BELAY_MODULES_IMPL_CAPABILITY_IPP
#define BELAY_MODULES_IMPL_CAPABILITY_IPP

#include <belay/modules/capability.hpp>

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace belay::modules {
namespace detail {

// Why an item is invalid; empty if it is not.
inline std::string fault_of(const hook_file& item)
{
    if (item.name.empty()) return "Missing name";
    if (item.path.empty()) return "Missing path";
    if (item.tool.empty()) return "Missing tool";
    if (item.type != "pre" && item.type != "post") {
        return "Invalid type: \"" + item.type + "\" is neither pre nor post";
    }
    return {};
}

inline std::string fault_of(const extension_module& item)
{
    if (item.name.empty()) return "Missing name";
    if (item.path.empty()) return "Missing path";
    return {};
}

template <class Item>
capability_items<Item> load_capability(const std::vector<capability_provider<Item>>& providers,
                                       const std::vector<std::string>& disabled)
{
    std::multimap<int, const capability_provider<Item>*, std::greater<>> by_priority;
    for (const auto& provider : providers) by_priority.emplace(provider.priority, &provider);

    capability_items<Item> result;
    std::set<std::string> seen;
    for (const auto& of_that_priority : by_priority) {
        const auto& provider = *of_that_priority.second;
        const auto warn = [&](const std::string& what) {
            result.warnings.push_back("[" + provider.id + "] " + what);
        };
        provided_items<Item> given;
        try {
            given = provider.load();
        } catch (const std::exception& why) {
            warn("Failed to load: " + std::string(why.what()));
        } catch (...) {
            warn("Failed to load: an exception that is no std::exception");
        }
        for (const auto& warning : given.warnings) warn(warning);
        for (auto& item : given.items) {
            const auto id = extension_id(item);
            if (std::ranges::find(disabled, id) != disabled.end()) continue;
            const bool shadowed = !seen.insert(id).second;
            result.all.push_back({item, provider.id, shadowed});
            if (shadowed) continue;
            if (const auto fault = fault_of(item); !fault.empty()) {
                warn("Invalid item " + id + " at \"" + item.path + "\": " + fault);
            } else {
                result.items.push_back(std::move(item));
            }
        }
    }
    return result;
}

}  // namespace detail

BELAY_DECL std::string extension_id(const hook_file& item)
{
    return "hook:" + item.type + ":" + item.tool + ":" + item.name;
}

BELAY_DECL std::string extension_id(const extension_module& item)
{
    return "extension-module:" + item.name;
}

BELAY_DECL capability_items<hook_file> load_hooks(
    const std::vector<capability_provider<hook_file>>& providers,
    const std::vector<std::string>& disabled)
{
    return detail::load_capability(providers, disabled);
}

BELAY_DECL capability_items<extension_module> load_extension_modules(
    const std::vector<capability_provider<extension_module>>& providers,
    const std::vector<std::string>& disabled)
{
    return detail::load_capability(providers, disabled);
}

}  // namespace belay::modules

#endif
