#ifndef BELAY_MODULES_IMPL_DISCOVERY_IPP
#define BELAY_MODULES_IMPL_DISCOVERY_IPP

#include <belay/modules/discovery.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <pwd.h>
#include <set>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace belay::modules {
namespace detail {

// Lexically, and without a slash at the end: so paths are compared.
inline std::string normal(const std::filesystem::path& path)
{
    auto text = path.lexically_normal().string();
    if (text.size() > 1 && text.ends_with('/')) text.pop_back();
    return text;
}

inline bool is_folder(const std::filesystem::path& path)
{
    std::error_code ec;
    return std::filesystem::is_directory(path, ec);
}

inline bool is_file(const std::filesystem::path& path)
{
    std::error_code ec;
    return std::filesystem::is_regular_file(path, ec);
}

// The names in a folder, sorted by their bytes, but for those that begin with a dot. None if there is
// no such folder; one that cannot be read is a warning.
inline std::vector<std::string> names_in(const std::filesystem::path& folder,
                                         std::vector<std::string>& warnings)
{
    std::vector<std::string> names;
    std::error_code ec;
    for (std::filesystem::directory_iterator at(folder, ec), end; !ec && at != end;
         at.increment(ec)) {
        auto name = at->path().filename().string();
        if (!name.starts_with('.')) names.push_back(std::move(name));
    }
    const bool absent = ec == std::errc::no_such_file_or_directory;
    if (ec && !absent) {
        warnings.push_back(folder.string() + ": the folder cannot be read: " + ec.message());
    }
    std::ranges::sort(names);
    return names;
}

// What is declared in a folder's package.json.
class manifest {
public:
    // An absent or unreadable file declares nothing; one that is wrong is a warning.
    static manifest read(std::filesystem::path folder, std::vector<std::string>& warnings)
    {
        manifest made(std::move(folder), warnings);
        if (!is_file(made.file_)) return made;
        std::ifstream stream(made.file_, std::ios::binary);
        if (!stream) return made;
        const std::string text(std::istreambuf_iterator<char>(stream), {});
        boost::system::error_code ec;
        const auto document = boost::json::parse(text, ec);
        if (ec) {
            made.warn("it is not JSON: " + ec.message());
        } else if (!document.is_object()) {
            made.warn("it is not an object");
        } else {
            made.take(document.get_object());
        }
        return made;
    }

    // Whether it lists anything under that key.
    bool lists(std::string_view key) const
    {
        const auto* value = members_.if_contains(key);
        if (value == nullptr || value->is_null()) return false;
        return !value->is_array() || !value->get_array().empty();
    }

    // The paths that it lists under that key and that are there.
    std::vector<std::filesystem::path> entries(std::string_view key) const
    {
        std::vector<std::filesystem::path> found;
        add(found, members_, key);
        return found;
    }

    // Of a plugin: then those of its features that are on.
    std::vector<std::filesystem::path> entries(std::string_view key, const plugin& of) const
    {
        auto found = entries(key);
        const auto* features = members_.if_contains("features");
        if (features == nullptr || !features->is_object()) return found;
        for (const auto& [name, value] : features->get_object()) {
            const auto* feature = value.if_object();
            if (feature != nullptr && is_on(name, *feature, of.enabled_features)) {
                add(found, *feature, key);
            }
        }
        return found;
    }

private:
    manifest(std::filesystem::path folder, std::vector<std::string>& warnings)
        : folder_(std::move(folder)), file_(folder_ / "package.json"), warnings_(warnings)
    {}

    void warn(const std::string& what) const { warnings_.push_back(file_.string() + ": " + what); }

    void take(const boost::json::object& document)
    {
        for (const char* key : {"veyyon", "omp", "pi"}) {
            const auto* value = document.if_contains(key);
            if (value == nullptr || value->is_null()) continue;
            if (value->is_object()) {
                members_ = value->get_object();
            } else {
                warn("\"" + std::string(key) + "\" is not an object");
            }
            return;
        }
    }

    static bool is_on(std::string_view name, const boost::json::object& feature,
                      const std::optional<std::vector<std::string>>& enabled)
    {
        if (enabled) return std::ranges::find(*enabled, name) != enabled->end();
        const auto* by_default = feature.if_contains("default");
        return by_default != nullptr && by_default->is_bool() && by_default->get_bool();
    }

    // One path, or those of a list.
    void add(std::vector<std::filesystem::path>& to, const boost::json::object& members,
             std::string_view key) const
    {
        const auto* value = members.if_contains(key);
        if (value == nullptr || value->is_null()) return;
        if (!value->is_array()) return add(to, *value, key);
        for (const auto& one : value->get_array()) add(to, one, key);
    }

    void add(std::vector<std::filesystem::path>& to, const boost::json::value& listed,
             std::string_view key) const
    {
        if (!listed.is_string()) {
            return warn("\"" + std::string(key) + "\" has an entry that is not a path");
        }
        const std::string path(listed.get_string());
        auto entry = std::filesystem::path(normal(folder_ / path));
        const bool whole = path.find('\0') == path.npos;  // the system stops there
        if (whole && (is_folder(entry) || is_file(entry))) {
            to.push_back(std::move(entry));
        } else {
            warn("\"" + std::string(key) + "\" lists \"" + path + "\", which is not there");
        }
    }

    std::filesystem::path folder_;
    std::filesystem::path file_;
    boost::json::object members_;
    std::vector<std::string>& warnings_;
};

// Finds the modules of folders.
class folder_scan {
public:
    folder_scan(const std::vector<std::string>& suffixes, std::vector<std::string>& warnings)
        : suffixes_(suffixes), warnings_(warnings)
    {}

    bool has_suffix(std::string_view name) const
    {
        return std::ranges::any_of(suffixes_, [&](const auto& one) { return name.ends_with(one); });
    }

    // Its index, if it has one.
    std::vector<std::string> index_of(const std::filesystem::path& folder) const
    {
        for (const auto& suffix : suffixes_) {
            auto file = folder / ("index" + suffix);
            if (is_file(file)) return {file.string()};
        }
        return {};
    }

    // A module that a manifest lists: a file, or a folder's index.
    std::vector<std::string> entry(const std::filesystem::path& path) const
    {
        return is_folder(path) ? index_of(path) : std::vector{path.string()};
    }

    // What is declared, or else the index, or else the modules and folders in it.
    std::vector<std::string> folder(const std::filesystem::path& path) const
    {
        if (auto declared = entries_of(manifest::read(path, warnings_)); !declared.empty()) {
            return declared;
        }
        if (auto index = index_of(path); !index.empty()) return index;
        return children(path);
    }

    // The modules in a folder; of a folder in it, what is declared or, if nothing is, its index.
    std::vector<std::string> children(const std::filesystem::path& folder) const
    {
        std::vector<std::string> found;
        for (const auto& name : names_in(folder, warnings_)) {
            const auto child = folder / name;
            if (is_file(child) && has_suffix(name)) {
                found.push_back(child.string());
            } else if (is_folder(child)) {
                const auto declared = manifest::read(child, warnings_);
                std::ranges::move(
                    declared.lists("extensions") ? entries_of(declared) : index_of(child),
                    std::back_inserter(found));
            }
        }
        return found;
    }

private:
    std::vector<std::string> entries_of(const manifest& declared) const
    {
        std::vector<std::string> found;
        for (const auto& path : declared.entries("extensions")) {
            std::ranges::move(entry(path), std::back_inserter(found));
        }
        return found;
    }

    const std::vector<std::string>& suffixes_;
    std::vector<std::string>& warnings_;
};

// The plugins that are on, each name once.
inline std::vector<plugin> enabled_plugins(const std::vector<plugin>& installed)
{
    std::vector<plugin> enabled;
    for (const auto& one : installed) {
        if (!one.enabled) continue;
        const auto same = std::ranges::find(enabled, one.name, &plugin::name);
        if (same == enabled.end()) {
            enabled.push_back(one);
        } else if (one.level == item_level::project) {
            *same = one;
        }
    }
    return enabled;
}

// One call of discover_extension_paths.
class discovery_run {
public:
    explicit discovery_run(discovery_options options) : options_(std::move(options))
    {
        if (options_.cwd.empty()) options_.cwd = std::filesystem::current_path().string();
        if (options_.home.empty()) options_.home = home_directory();
        result_.warnings = options_.warnings;
    }

    void add_extension_modules()
    {
        auto native = options_.extension_modules;
        std::erase_if(native, [](const auto& provider) { return provider.id != "native"; });
        for (const auto& item : take(load_extension_modules(native, options_.disabled))) {
            add(item.path);
        }
    }

    void add_hooks()
    {
        for (const auto& item : take(load_hooks(options_.hooks, options_.disabled))) {
            if (scan_.has_suffix(item.path)) add(item.path);
        }
    }

    void add_plugins()
    {
        for (const auto& one : enabled_plugins(options_.plugins)) {
            const auto declared = manifest::read(resolved(one.path), result_.warnings);
            for (const auto& path : declared.entries("extensions", one)) {
                add_enabled(is_folder(path) ? scan_.folder(path) : scan_.entry(path));
            }
            for (const auto& path : declared.entries("hooks", one)) {
                add_enabled(scan_.entry(path));
            }
        }
    }

    void add_configured(const std::string& path)
    {
        const auto where = resolved(path);
        if (is_folder(where)) {
            add_enabled(scan_.folder(where));
        } else {
            add(where);
        }
    }

    discovery result() && { return std::move(result_); }

private:
    template <class Item>
    std::vector<Item> take(capability_items<Item> found)
    {
        std::ranges::move(found.warnings, std::back_inserter(result_.warnings));
        return std::move(found.items);
    }

    std::string resolved(std::string_view path) const
    {
        return resolve_path(path, options_.cwd, options_.home);
    }

    void add(const std::string& path)
    {
        if (seen_.insert(normal(resolved(path))).second) result_.paths.push_back(path);
    }

    void add_enabled(const std::vector<std::string>& paths)
    {
        for (const auto& path : paths) {
            const auto id = extension_id(extension_module{module_name(path, options_.suffixes)});
            if (std::ranges::find(options_.disabled, id) == options_.disabled.end()) add(path);
        }
    }

    discovery_options options_;
    discovery result_;
    std::set<std::string> seen_;
    folder_scan scan_{options_.suffixes, result_.warnings};
};

}  // namespace detail

BELAY_DECL discovery discover_extension_paths(const std::vector<std::string>& configured,
                                              const discovery_options& options)
{
    detail::discovery_run run(options);
    run.add_extension_modules();
    run.add_hooks();
    run.add_plugins();
    for (const auto& path : configured) run.add_configured(path);
    return std::move(run).result();
}

BELAY_DECL std::string resolve_path(std::string_view path, std::string_view cwd,
                                    std::string_view home)
{
    if (path.starts_with('/')) return std::string(path);
    if (!path.starts_with('~') || home.empty())
        return detail::normal(std::filesystem::path(cwd) / path);
    path.remove_prefix(std::min(path.find_first_not_of('/', 1), path.size()));
    return detail::normal(std::filesystem::path(home) / path);
}

BELAY_DECL std::string home_directory()
{
    if (const char* set = std::getenv("HOME"); set != nullptr && *set != '\0') return set;
    const auto* user = ::getpwuid(::getuid());
    return user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "";
}

BELAY_DECL std::string module_name(std::string_view path, const std::vector<std::string>& suffixes)
{
    const std::filesystem::path file(path);
    const auto is_index = [name = file.filename().string()](const auto& suffix) {
        return name == "index" + suffix;
    };
    if (std::ranges::any_of(suffixes, is_index) && file.has_parent_path()) {
        return file.parent_path().filename().string();
    }
    return file.stem().string();
}

BELAY_DECL capability_provider<extension_module> native_extension_modules(
    std::string agent_folder, std::vector<std::string> suffixes)
{
    const auto load = [folder = std::filesystem::path(std::move(agent_folder)) / "extensions",
                       suffixes = std::move(suffixes)] {
        provided_items<extension_module> provided;
        const detail::folder_scan scan(suffixes, provided.warnings);
        for (auto& path : scan.children(folder)) {
            provided.items.push_back({module_name(path, suffixes), path});
        }
        return provided;
    };
    return {"native", 100, load};
}

BELAY_DECL capability_provider<hook_file> native_hooks(std::string agent_folder)
{
    const auto load = [folder = std::filesystem::path(std::move(agent_folder)) / "hooks"] {
        provided_items<hook_file> provided;
        for (const char* type : {"pre", "post"}) {
            for (const auto& name : detail::names_in(folder / type, provided.warnings)) {
                const auto file = folder / type / name;
                std::error_code ec;
                const auto status = std::filesystem::symlink_status(file, ec);
                if (!std::filesystem::is_regular_file(status)) continue;
                provided.items.push_back({type, file.stem().string(), name, file.string()});
            }
        }
        return provided;
    };
    return {"native", 100, load};
}

BELAY_DECL provided_items<plugin> plugins_in(const std::string& folder)
{
    const std::filesystem::path root(folder);
    provided_items<plugin> found;
    const auto add = [&](const std::string& name) {
        const auto path = root / name;
        if (detail::is_file(path / "package.json")) found.items.push_back({name, path.string()});
    };
    for (const auto& name : detail::names_in(root, found.warnings)) {
        if (!name.starts_with('@')) {
            add(name);
            continue;
        }
        for (const auto& scoped : detail::names_in(root / name, found.warnings)) {
            add(name + "/" + scoped);
        }
    }
    return found;
}

BELAY_DECL discovery_options native_discovery(const std::string& agent_folder)
{
    discovery_options options;
    options.extension_modules.push_back(native_extension_modules(agent_folder, options.suffixes));
    options.hooks.push_back(native_hooks(agent_folder));
    auto plugins = plugins_in(agent_folder + "/plugins/node_modules");
    options.plugins = std::move(plugins.items);
    options.warnings = std::move(plugins.warnings);
    return options;
}

}  // namespace belay::modules

#endif
