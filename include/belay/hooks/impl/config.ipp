#ifndef BELAY_HOOKS_IMPL_CONFIG_IPP
#define BELAY_HOOKS_IMPL_CONFIG_IPP

#include <belay/hooks/config.hpp>
#include <belay/hooks/detail/hook_list.hpp>
#include <belay/hooks/detail/json.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace belay::hooks {
namespace detail {

BELAY_DECL std::filesystem::path plain_path(const std::filesystem::path& written)
{
    auto text = written.lexically_normal().string();
    if (text.size() > 1 && text.ends_with('/')) text.pop_back();
    return text;
}

/// The absolute path of a program that lies inside `directory`, by its text alone.
inline std::optional<std::string> resolved_inside(const std::filesystem::path& directory,
                                                  std::string_view program)
{
    auto path = plain_path(directory / std::filesystem::path(program)).string();
    const auto inside = directory.string() + '/';
    if (path.size() <= inside.size() || !path.starts_with(inside)) return std::nullopt;
    return path;
}

/// The kind of a value, for a message.
inline std::string_view kind_of(const boost::json::value& value) noexcept
{
    switch (value.kind()) {
    case boost::json::kind::null: return "null";
    case boost::json::kind::bool_: return "a boolean";
    case boost::json::kind::string: return "a string";
    case boost::json::kind::array: return "an array";
    case boost::json::kind::object: return "an object";
    default: return "a number";
    }
}

/// Reads the entries of one document.
class config_reader {
public:
    config_reader(const std::filesystem::path& home, std::string_view file, protocols known)
        : directory_(
              (std::filesystem::absolute(home.empty() ? "." : home) / "hooks").lexically_normal()),
          file_(file),
          known_(known)
    {}

    checked<void> must_be_object(const boost::json::value& document) const
    {
        if (document.is_object()) return {};
        return refuse("the document must be an object, not " + std::string(kind_of(document)));
    }

    checked<hook_list> hooks(const boost::json::object& document) const
    {
        auto list = read_hook_list(document, known_);
        if (!list) return refuse(list.error().message);
        for (std::size_t i = 0; i != list->hooks.size(); ++i) {
            auto& hook = list->hooks[i];
            const auto where = "hooks[" + std::to_string(i) + "].argv";
            for (std::size_t j = 0; j != hook.argv.size(); ++j) {
                const auto& element = hook.argv[j];
                const bool has_nul = element.find('\0') != std::string::npos;
                if (!element.empty() && !has_nul) continue;
                return refuse(where + '[' + std::to_string(j) + "] must " +
                              (has_nul ? "not hold a NUL: " : "be a non-empty string, not ") +
                              excerpt(boost::json::string(element)));
            }
            auto program = resolved_inside(directory_, hook.argv[0]);
            if (!program) {
                return refuse(where + "[0] " + excerpt(boost::json::string(hook.argv[0])) +
                              " is not inside " + directory_.string());
            }
            hook.argv[0] = *std::move(program);
            hook.name = file_name(hook.argv[0]);
        }
        return list;
    }

    // What means nothing in the document, beside the keys of its hooks. It may have any other keys
    // than ours; those that are nearly ours are told.
    void add_warnings(const boost::json::object& document, std::vector<std::string>& warnings) const
    {
        static constexpr std::array<std::string_view, 2> lists{"hooks", "extensions"};
        static constexpr std::array<std::string_view, 2> of_extension{"path", "config"};
        for (const auto& [key, value] : document) {
            const std::string name(key.data(), key.size());
            if (std::ranges::find(lists, name) != lists.end()) continue;
            const auto meant = did_you_mean(name, lists);
            if (!meant.empty()) warnings.push_back(name + " means nothing" + meant);
        }
        const auto* entries = document.if_contains("extensions");
        for (std::size_t i = 0; entries != nullptr && i != entries->get_array().size(); ++i) {
            warn_of_other_keys(entries->get_array()[i].get_object(),
                               "extensions[" + std::to_string(i) + ']', of_extension, warnings);
        }
        for (auto& one : warnings) one = std::string(file_) + ": " + one;
    }

    checked<std::vector<extension_entry>> extensions(const boost::json::object& document) const
    {
        std::vector<extension_entry> entries;
        const auto* list = document.if_contains("extensions");
        if (list == nullptr) return entries;
        if (!list->is_array()) {
            return refuse("extensions must be an array, not " + excerpt(*list));
        }
        for (const auto& item : list->get_array()) {
            const auto where = "extensions[" + std::to_string(entries.size()) + ']';
            const auto* fields = item.if_object();
            if (fields == nullptr) {
                return refuse(where + " must be an object, not " + excerpt(item));
            }
            const auto* path = fields->if_contains("path");
            if (path == nullptr) return refuse(where + ".path is missing");
            if (!path->is_string() || !path->get_string().starts_with('/')) {
                return refuse(where + ".path must be an absolute path, not " + excerpt(*path));
            }
            extension_entry entry;
            entry.path = plain_path(std::string(path->get_string()));
            if (std::ranges::find(entries, entry.path, &extension_entry::path) != entries.end()) {
                return refuse(where + ".path is given twice: " + excerpt(*path));
            }
            if (const auto* own = fields->if_contains("config")) entry.config = *own;
            entry.where = std::string(file_) + ": " + where;
            entries.push_back(std::move(entry));
        }
        return entries;
    }

    diagnosis refuse(const std::string& why) const
    {
        return {errc::invalid_config, std::string(file_) + ": " + why};
    }

private:
    const std::filesystem::path directory_;
    const std::string_view file_;
    const protocols known_;
};

/// "line 3, column 7"
inline std::string position(std::string_view text, std::size_t offset)
{
    const auto before = text.substr(0, offset);
    const auto line = std::ranges::count(before, '\n') + 1;
    const auto column = before.size() - (before.rfind('\n') + 1) + 1;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

/// Whether a key that is given twice would lose a hook, a field of one, or anything of an extension,
/// whose configuration nobody can judge but itself.
inline bool loses_an_entry(const json_path& path)
{
    if (!path[0].is_key) return false;
    if (path[0].key == "extensions") return true;
    if (path[0].key != "hooks") return false;
    return path.size() == 1 || (path.size() == 3 && !path[1].is_key && path[2].is_key &&
                                std::ranges::find(hook_keys, path[2].key) != hook_keys.end());
}

}  // namespace detail

BELAY_DECL checked<config> config::parse(std::string_view text, const std::filesystem::path& home,
                                         std::string_view file, protocols known)
{
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    const detail::config_reader reader(home, file, known);
    boost::json::value document;
    if (const auto fault = detail::parse_json(text, document)) {
        return reader.refuse("not valid JSON at " + detail::position(text, fault->offset) + ": " +
                             fault->why);
    }
    if (const auto path = detail::duplicate_key(text, detail::loses_an_entry)) {
        return reader.refuse(detail::to_string(*path, "") + " is given twice");
    }
    return from_json(std::move(document), home, file, known);
}

BELAY_DECL checked<config> config::from_json(boost::json::value document,
                                             const std::filesystem::path& home,
                                             std::string_view file, protocols known)
{
    const detail::config_reader reader(home, file, known);
    if (const auto readable = reader.must_be_object(document); !readable) return readable.error();
    auto hooks = reader.hooks(document.get_object());
    if (!hooks) return hooks.error();
    auto extensions = reader.extensions(document.get_object());
    if (!extensions) return extensions.error();
    config made;
    made.document_ = std::move(document);
    made.file_ = file;
    made.extensions_ = *std::move(extensions);
    made.hooks_ = std::move(hooks->hooks);
    made.warnings_ = std::move(hooks->warnings);
    reader.add_warnings(made.document_.get_object(), made.warnings_);
    return made;
}

BELAY_DECL checked<std::vector<executable>> config::executables() const
{
    for (std::size_t i = 0; i != hooks_.size(); ++i) {
        if (const auto why = detail::limit_fault(hooks_[i])) {
            return diagnosis{errc::invalid_config,
                             file_ + ": hooks[" + std::to_string(i) + "]." + *why};
        }
    }
    return hooks_;
}

}  // namespace belay::hooks

#endif
