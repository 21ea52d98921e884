#ifndef BELAY_HOOKS_IMPL_HOOK_LIST_IPP
#define BELAY_HOOKS_IMPL_HOOK_LIST_IPP

#include <belay/hooks/detail/hook_list.hpp>
#include <belay/hooks/detail/json.hpp>

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace belay::hooks::detail {

inline std::string_view view(const boost::json::string& text) noexcept
{
    return {text.data(), text.size()};
}

/// A positive whole number; the greatest there is in place of those beyond it.
inline std::optional<std::int64_t> positive_whole(const boost::json::value& value)
{
    constexpr auto greatest = std::numeric_limits<std::int64_t>::max();
    if (const auto* number = value.if_int64()) {
        return *number > 0 ? std::optional(*number) : std::nullopt;
    }
    if (value.is_uint64()) return greatest;  // else it would be an int64
    const auto* number = value.if_double();
    if (number == nullptr || !std::isfinite(*number) || *number < 1 ||
        std::trunc(*number) != *number) {
        return std::nullopt;
    }
    if (*number >= static_cast<double>(greatest)) return greatest;
    return static_cast<std::int64_t>(*number);
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

/// A name without its case and what is between its words.
inline std::string letters(std::string_view name)
{
    std::string plain;
    for (const char c : name) {
        if (c == '_' || c == '-' || c == ' ') continue;
        plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return plain;
}

inline std::string did_you_mean(std::string_view meant)
{
    return " (did you mean " + std::string(meant) + "?)";
}

BELAY_DECL std::string did_you_mean(std::string_view unknown,
                                    std::span<const std::string_view> names)
{
    unknown = unknown.substr(0, 32);
    const auto edits = [&](std::string_view name) {
        return std::pair(distance(letters(unknown), letters(name)), distance(unknown, name));
    };
    // One letter in three, and at most two: "tools" are no "hooks".
    const auto is_near = [&](std::string_view name) {
        const auto wrong = edits(name).first;
        return wrong <= 2 && 3 * wrong <= name.size();
    };
    const auto nearest = std::ranges::min_element(names, {}, edits);
    if (nearest == names.end() || !is_near(*nearest)) return "";
    return did_you_mean(*nearest);
}

inline std::string did_you_mean(std::string_view unknown, const protocol& speaks)
{
    std::vector<std::string_view> names;
    for (const auto& one : speaks.phases()) names.push_back(one.name);
    return did_you_mean(unknown, std::span<const std::string_view>(names));
}

inline diagnosis refused(const std::string& why)
{
    return {errc::invalid_config, why};
}

// `hook` has its phase already.
inline checked<std::vector<std::string>> read_tools(const boost::json::value& field,
                                                    const executable& hook,
                                                    const std::string& where)
{
    if (!is_about_a_tool(hook.when)) {
        return refused(where + " " + excerpt(field) + " means nothing in the phase " +
                       hook.configured);
    }
    if (!field.is_array() || field.get_array().empty()) {
        return refused(where + " must be a non-empty array of names of tools, not " +
                       excerpt(field));
    }
    std::vector<std::string> tools;
    const auto refuse = [&](std::size_t which, const std::string& why) {
        return refused(where + '[' + std::to_string(which) + "] " + why +
                       excerpt(field.get_array()[which]));
    };
    constexpr auto no_name = "must be a non-empty string, not ";
    for (const auto& element : field.get_array()) {
        const auto* name = element.if_string();
        if (name == nullptr) return refuse(tools.size(), no_name);
        tools.emplace_back(view(*name));
    }
    if (const auto faulty = belay::detail::find_faulty_name(tools)) {
        return refuse(faulty->index, faulty->twice ? "is given twice: " : no_name);
    }
    return tools;
}

// Why hardly a tool is called that; empty if one may be.
inline std::string doubt_of_tool(const std::string& name, const executable& hook, protocols known)
{
    const auto is_in_no_name = [](unsigned char c) {
        return c <= ' ' || c == 0x7F || c == '*' || c == '?' || c == '|' || c == ',';
    };
    if (std::ranges::any_of(name, is_in_no_name)) return "names are exact; no tool is called that";
    for (const auto* one : known) {
        for (const auto& [own, means] : one->tools()) {
            if (name == own && one == hook.speaks) {
                return "the name of the " + std::string(one->name()) +
                       " protocol, not of the tool" + did_you_mean(means);
            }
            if (name != means && letters(name) == letters(means)) {
                return "names are exact" + did_you_mean(means);
            }
        }
    }
    return "";
}

// Tells once of each name for which the hook would hardly ever run.
inline void warn_of_other_names(const executable& hook, const std::string& where, protocols known,
                                std::vector<std::string>& warnings)
{
    for (std::size_t i = 0; i != hook.tools.size(); ++i) {
        const auto& name = hook.tools[i];
        const auto doubt = doubt_of_tool(name, hook, known);
        if (doubt.empty()) continue;
        warnings.push_back(where + ".tools[" + std::to_string(i) + "] " +
                           excerpt(boost::json::string(name)) + ": " + doubt);
    }
}

// What an entry says, if each field is of its type and the phase and protocol are known.
inline checked<executable> read_hook(const boost::json::value& item, const std::string& where,
                                     protocols known)
{
    const auto* fields = item.if_object();
    if (fields == nullptr) {
        return refused(where + " must be an object, not " + excerpt(item));
    }
    executable hook;

    std::string_view protocol_name = "vera";
    if (const auto* field = fields->if_contains("protocol")) {
        const auto* name = field->if_string();
        if (name == nullptr) {
            return refused(where + ".protocol must be a string, not " + excerpt(*field));
        }
        protocol_name = view(*name);
    }
    const auto* when = fields->if_contains("phase");
    if (when == nullptr) return refused(where + ".phase is missing");
    if (!when->is_string()) {
        return refused(where + ".phase must be a string, not " + excerpt(*when));
    }
    hook.configured = view(when->get_string());
    const auto speaks = find_protocol(protocol_name, known);
    if (!speaks) {
        const boost::json::value name(
            boost::json::string_view(protocol_name.data(), protocol_name.size()));
        return refused(where + ".protocol " + excerpt(name) + ": " + speaks.error().message);
    }
    hook.speaks = *speaks;
    const auto found = find_phase(*hook.speaks, hook.configured, known);
    if (!found) {
        return refused(where + ".phase: " + found.error().message +
                       did_you_mean(hook.configured, *hook.speaks));
    }
    hook.when = *found;

    const auto* argv = fields->if_contains("argv");
    if (argv == nullptr) return refused(where + ".argv is missing");
    if (!argv->is_array() || argv->get_array().empty()) {
        return refused(where + ".argv must be a non-empty array of strings, not " + excerpt(*argv));
    }
    for (const auto& element : argv->get_array()) {
        const auto* text = element.if_string();
        if (text == nullptr) {
            return refused(where + ".argv[" + std::to_string(hook.argv.size()) +
                           "] must be a non-empty string, not " + excerpt(element));
        }
        hook.argv.emplace_back(view(*text));
    }
    if (const auto* field = fields->if_contains("timeout_ms")) {
        const auto timeout = positive_whole(*field);
        if (!timeout) {
            return refused(where + ".timeout_ms must be a positive whole number, not " +
                           excerpt(*field));
        }
        hook.timeout = std::chrono::milliseconds(*timeout);
    }
    if (const auto* field = fields->if_contains("mode")) {
        if (*field != boost::json::string("worker")) {
            return refused(where + ".mode must be \"worker\", or absent, not " + excerpt(*field));
        }
        hook.mode = run_mode::worker;
    }
    if (const auto* field = fields->if_contains("in_flight")) {
        if (hook.mode != run_mode::worker) {
            return refused(where + ".in_flight " + excerpt(*field) +
                           " is only for an entry whose mode is \"worker\"");
        }
        const auto number = positive_whole(*field);
        if (!number || in_flight_limit < static_cast<std::uint64_t>(*number)) {
            return refused(where + ".in_flight must be a whole number from 1 to " +
                           std::to_string(in_flight_limit) + ", not " + excerpt(*field));
        }
        hook.in_flight = static_cast<std::size_t>(*number);
    }
    if (const auto* field = fields->if_contains("tools")) {
        auto tools = read_tools(*field, hook, where + ".tools");
        if (!tools) return tools.error();
        hook.tools = *std::move(tools);
    }
    return hook;
}

BELAY_DECL void warn_of_other_keys(const boost::json::object& entry, const std::string& where,
                                   std::span<const std::string_view> known,
                                   std::vector<std::string>& warnings)
{
    for (const auto& [key, value] : entry) {
        const std::string name(key.data(), key.size());
        if (std::ranges::find(known, name) != known.end()) continue;
        const bool is_tools = name == "matcher" && std::ranges::find(known, "tools") != known.end();
        warnings.push_back(where + '.' + name + " means nothing" +
                           (is_tools ? did_you_mean("tools") : did_you_mean(name, known)));
    }
}

BELAY_DECL checked<hook_list> read_hook_list(const boost::json::object& holder, protocols known)
{
    hook_list read;
    const auto* list = holder.if_contains("hooks");
    if (list == nullptr) return read;
    if (!list->is_array()) return refused("hooks must be an array, not " + excerpt(*list));
    for (const auto& item : list->get_array()) {
        const auto where = "hooks[" + std::to_string(read.hooks.size()) + ']';
        auto hook = read_hook(item, where, known);
        if (!hook) return hook.error();
        warn_of_other_keys(item.get_object(), where, hook_keys, read.warnings);
        warn_of_other_names(*hook, where, known, read.warnings);
        read.hooks.push_back(*std::move(hook));
    }
    return read;
}

BELAY_DECL std::optional<std::string> limit_fault(const executable& hook)
{
    if (const auto fits = process::check_argv(hook.argv); !fits) {
        return "argv: " + std::string(argv_fault(hook.argv)) + ": " + fits.error().message;
    }
    if (const auto why = timeout_fault(hook.timeout); !why.empty()) {
        return "timeout_ms: " + std::string(why) + ", not " + std::to_string(hook.timeout.count());
    }
    return std::nullopt;
}

}  // namespace belay::hooks::detail

#endif
