#ifndef BELAY_HOOKS_IMPL_CONFIG_IPP
#define BELAY_HOOKS_IMPL_CONFIG_IPP

#include <belay/hooks/config.hpp>
#include <belay/hooks/detail/json.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace belay::hooks {
namespace detail {

inline std::string_view view(const boost::json::string& text) noexcept
{
    return {text.data(), text.size()};
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

/// A positive whole number of milliseconds; the greatest there is in place of those beyond it.
inline std::optional<std::chrono::milliseconds> positive_whole(const boost::json::value& value)
{
    using std::chrono::milliseconds;
    constexpr auto greatest = static_cast<double>(std::numeric_limits<std::int64_t>::max());
    if (const auto* number = value.if_int64()) {
        return *number > 0 ? std::optional(milliseconds(*number)) : std::nullopt;
    }
    if (value.is_uint64()) return milliseconds::max();  // else it would be an int64
    const auto* number = value.if_double();
    if (number == nullptr || !std::isfinite(*number) || *number < 1 ||
        std::trunc(*number) != *number) {
        return std::nullopt;
    }
    if (*number >= greatest) return milliseconds::max();
    return milliseconds(static_cast<std::int64_t>(*number));
}

/// How many edits make one word of the other, for words as short as names are.
inline std::size_t distance(std::string_view from, std::string_view to)
{
    std::vector<std::size_t> row(to.size() + 1);
    for (std::size_t j = 0; j != row.size(); ++j) row[j] = j;
    for (std::size_t i = 0; i != from.size(); ++i) {
        auto diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j != to.size(); ++j) {
            const auto replaced = diagonal + (from[i] == to[j] ? 0 : 1);
            diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
        }
    }
    return row.back();
}

/// " (did you mean pre_turn?)" if a name of the protocol is near: in its letters first, whatever their
/// case and what is between its words.
inline std::string did_you_mean(std::string_view unknown, const protocol& speaks)
{
    const auto letters = [](std::string_view name) {
        std::string plain;
        for (const char c : name) {
            if (c == '_' || c == '-' || c == ' ') continue;
            plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
        return plain;
    };
    unknown = unknown.substr(0, 32);
    const auto edits = [&](const phase_name& one) {
        return std::pair(distance(letters(unknown), letters(one.name)),
                         distance(unknown, one.name));
    };
    constexpr std::size_t near = 3;
    const auto names = speaks.phases();
    const auto nearest = std::ranges::min_element(names, {}, edits);
    if (nearest == names.end() || edits(*nearest).first >= near) return "";
    return " (did you mean " + std::string(nearest->name) + "?)";
}

/// A path without ".", ".." and a slash at its end, by its text alone.
inline std::filesystem::path plain_path(const std::filesystem::path& written)
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

    checked<std::vector<executable>> hooks(const boost::json::object& document) const
    {
        std::vector<executable> hooks;
        const auto* list = document.if_contains("hooks");
        if (list == nullptr) return hooks;
        if (!list->is_array()) {
            return refuse("hooks must be an array, not " + excerpt(*list));
        }
        for (const auto& item : list->get_array()) {
            auto hook = entry(item, "hooks[" + std::to_string(hooks.size()) + ']');
            if (!hook) return hook.error();
            hooks.push_back(*std::move(hook));
        }
        return hooks;
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
            entry.path = plain_path(view(path->get_string()));
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
    checked<executable> entry(const boost::json::value& item, const std::string& where) const
    {
        const auto* fields = item.if_object();
        if (fields == nullptr) {
            return refuse(where + " must be an object, not " + excerpt(item));
        }
        executable hook;

        std::string_view protocol_name = "vera";
        if (const auto* field = fields->if_contains("protocol")) {
            const auto* name = field->if_string();
            if (name == nullptr) {
                return refuse(where + ".protocol must be a string, not " + excerpt(*field));
            }
            protocol_name = view(*name);
        }
        const auto* when = fields->if_contains("phase");
        if (when == nullptr) return refuse(where + ".phase is missing");
        if (!when->is_string()) {
            return refuse(where + ".phase must be a string, not " + excerpt(*when));
        }
        hook.configured = view(when->get_string());
        const auto speaks = find_protocol(protocol_name, known_);
        if (!speaks) {
            const boost::json::value name(
                boost::json::string_view(protocol_name.data(), protocol_name.size()));
            return refuse(where + ".protocol " + excerpt(name) + ": " + speaks.error().message);
        }
        hook.speaks = *speaks;
        const auto found = find_phase(*hook.speaks, hook.configured, known_);
        if (!found) {
            return refuse(where + ".phase: " + found.error().message +
                          did_you_mean(hook.configured, *hook.speaks));
        }
        hook.when = *found;

        const auto* argv = fields->if_contains("argv");
        if (argv == nullptr) return refuse(where + ".argv is missing");
        if (!argv->is_array() || argv->get_array().empty()) {
            return refuse(where + ".argv must be a non-empty array of strings, not " +
                          excerpt(*argv));
        }
        for (const auto& element : argv->get_array()) {
            const auto* text = element.if_string();
            if (text == nullptr || text->empty()) {
                return refuse(where + ".argv[" + std::to_string(hook.argv.size()) +
                              "] must be a non-empty string, not " + excerpt(element));
            }
            if (text->find('\0') != text->npos) {
                return refuse(where + ".argv[" + std::to_string(hook.argv.size()) +
                              "] must not hold a NUL: " + excerpt(element));
            }
            hook.argv.emplace_back(view(*text));
        }
        auto program = resolved_inside(directory_, hook.argv[0]);
        if (!program) {
            return refuse(where + ".argv[0] " + excerpt(argv->get_array()[0]) + " is not inside " +
                          directory_.string());
        }
        hook.argv[0] = *std::move(program);
        hook.name = file_name(hook.argv[0]);

        if (const auto* field = fields->if_contains("timeout_ms")) {
            const auto timeout = positive_whole(*field);
            if (!timeout) {
                return refuse(where + ".timeout_ms must be a positive whole number, not " +
                              excerpt(*field));
            }
            hook.timeout = *timeout;
        }
        return hook;
    }

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

/// Whether a key that is given twice would lose a hook, an extension, or a field of one.
inline bool loses_an_entry(const json_path& path)
{
    static constexpr std::array<std::string_view, 4> of_hook{"phase", "argv", "protocol",
                                                             "timeout_ms"};
    static constexpr std::array<std::string_view, 2> of_extension{"path", "config"};
    const auto in = [&](std::string_view list, const auto& fields) {
        if (!path[0].is_key || path[0].key != list) return false;
        return path.size() == 1 || (path.size() == 3 && !path[1].is_key && path[2].is_key &&
                                    std::ranges::find(fields, path[2].key) != fields.end());
    };
    return in("hooks", of_hook) || in("extensions", of_extension);
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
    made.hooks_ = *std::move(hooks);
    return made;
}

BELAY_DECL checked<std::vector<executable>> config::executables() const
{
    for (std::size_t i = 0; i != hooks_.size(); ++i) {
        const auto& hook = hooks_[i];
        const auto refuse = [&](std::string_view field, const std::string& why) {
            return diagnosis{errc::invalid_config, file_ + ": hooks[" + std::to_string(i) + "]." +
                                                       std::string(field) + ": " + why};
        };
        if (const auto fits = process::check_argv(hook.argv); !fits) {
            return refuse("argv",
                          std::string(detail::argv_fault(hook.argv)) + ": " + fits.error().message);
        }
        if (const auto why = detail::timeout_fault(hook.timeout); !why.empty()) {
            return refuse("timeout_ms",
                          std::string(why) + ", not " + std::to_string(hook.timeout.count()));
        }
    }
    return hooks_;
}

}  // namespace belay::hooks

#endif
