#ifndef BELAY_TEST_CONFORMANCE_VEYYON_JSON_HPP
#define BELAY_TEST_CONFORMANCE_VEYYON_JSON_HPP

// The events of modules, and what may be said about them, as the JSON of the vectors: the field
// `tool_name` is "toolName" there.

#include <belay/modules/events.hpp>
#include <belay/modules/message.hpp>

#include <boost/describe/class.hpp>
#include <boost/describe/members.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_from.hpp>
#include <boost/mp11/algorithm.hpp>

#include "vectors.hpp"
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace belay::modules {

BOOST_DESCRIBE_STRUCT(custom_message, (), (custom_type, content, display, details, attribution))
BOOST_DESCRIBE_STRUCT(compaction_result, (),
                      (summary, short_summary, first_kept_entry_id, tokens_before, details,
                       preserve_data))

BOOST_DESCRIBE_STRUCT(session_start, (), ())
BOOST_DESCRIBE_STRUCT(session_before_switch, (), (reason, target_session_file))
BOOST_DESCRIBE_STRUCT(session_before_switch::result, (), (cancel))
BOOST_DESCRIBE_STRUCT(session_switch, (), (reason, previous_session_file))
BOOST_DESCRIBE_STRUCT(session_before_branch, (), (entry_id))
BOOST_DESCRIBE_STRUCT(session_before_branch::result, (), (cancel, skip_conversation_restore))
BOOST_DESCRIBE_STRUCT(session_branch, (), (previous_session_file))
BOOST_DESCRIBE_STRUCT(session_before_compact, (),
                      (preparation, branch_entries, custom_instructions))
BOOST_DESCRIBE_STRUCT(session_before_compact::result, (), (cancel, compaction))
BOOST_DESCRIBE_STRUCT(session_compacting, (), (session_id, messages))
BOOST_DESCRIBE_STRUCT(session_compacting::result, (), (context, prompt, preserve_data))
BOOST_DESCRIBE_STRUCT(session_compact, (), (compaction_entry, from_extension))
BOOST_DESCRIBE_STRUCT(session_before_tree, (), (preparation))
BOOST_DESCRIBE_STRUCT(branch_summary, (), (summary, details))
BOOST_DESCRIBE_STRUCT(session_before_tree::result, (), (cancel, summary))
BOOST_DESCRIBE_STRUCT(session_tree, (), (new_leaf_id, old_leaf_id, summary_entry, from_extension))
BOOST_DESCRIBE_STRUCT(session_shutdown, (), ())

BOOST_DESCRIBE_STRUCT(context, (), (messages))
BOOST_DESCRIBE_STRUCT(context::result, (), (messages))
BOOST_DESCRIBE_STRUCT(before_agent_start, (), (prompt, images, system_prompt))
BOOST_DESCRIBE_STRUCT(before_agent_start::result, (), (message, system_prompt))
BOOST_DESCRIBE_STRUCT(before_agent_start::outcome, (), (messages, system_prompt))
BOOST_DESCRIBE_STRUCT(agent_start, (), ())
BOOST_DESCRIBE_STRUCT(agent_end, (), (messages))
BOOST_DESCRIBE_STRUCT(turn_start, (), (turn_index, timestamp))
BOOST_DESCRIBE_STRUCT(turn_end, (), (turn_index, message, tool_results))
BOOST_DESCRIBE_STRUCT(auto_compaction_start, (), (reason, action))
BOOST_DESCRIBE_STRUCT(auto_compaction_end, (),
                      (action, result, aborted, will_retry, error_message, skipped))
BOOST_DESCRIBE_STRUCT(auto_retry_start, (), (attempt, max_attempts, delay, error_message, error_id))
BOOST_DESCRIBE_STRUCT(auto_retry_end, (), (success, attempt, final_error, recovered_errors))
BOOST_DESCRIBE_STRUCT(ttsr_triggered, (), (rules))
BOOST_DESCRIBE_STRUCT(todo_reminder, (), (todos, attempt, max_attempts))

BOOST_DESCRIBE_STRUCT(tool_call, (), (tool_name, tool_call_id, input))
BOOST_DESCRIBE_STRUCT(tool_result, (), (tool_name, tool_call_id, input, content, details, is_error))
BOOST_DESCRIBE_STRUCT(tool_result::result, (), (content, details, is_error))

}  // namespace belay::modules

namespace conformance {

namespace modules = belay::modules;

/// JSON that is not the value of a C++ type. The message names the key.
struct unlike : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// As the vectors write the name of a field.
inline std::string camel_case(std::string_view name)
{
    if (name == "delay") return "delayMs";
    std::string written;
    bool upper = false;
    for (const char c : name) {
        if (c == '_') {
            upper = true;
        } else {
            written += upper ? static_cast<char>(c - 'a' + 'A') : c;
            upper = false;
        }
    }
    return written;
}

template <class T>
concept described = boost::describe::has_describe_members<T>::value;

template <described T>
using members_of = boost::describe::describe_members<T, boost::describe::mod_public>;

inline constexpr std::array<std::string_view, 4> switch_reasons{"new", "resume", "fork", "handoff"};

// --- As JSON ------------------------------------------------------------------------------------

template <class T>
json::value written(const T& value);
template <class T>
json::value written(const std::vector<T>& values)
{
    json::array all;
    for (const auto& one : values) all.push_back(written(one));
    return all;
}
inline json::value written(const std::vector<std::string>& values)
{
    return json::value_from(values);
}

/// Without the fields that are absent.
template <described T>
json::object object_from(const T& value)
{
    json::object object;
    boost::mp11::mp_for_each<members_of<T>>([&](auto member) {
        const auto key = camel_case(member.name);
        const auto& field = value.*member.pointer;
        if constexpr (requires { field.has_value(); }) {
            if (field) object.emplace(key, written(*field));
        } else {
            object.emplace(key, written(field));
        }
    });
    return object;
}

template <class T>
json::value written(const T& value)
{
    if constexpr (described<T>) {
        return object_from(value);
    } else if constexpr (std::same_as<T, modules::switch_reason>) {
        return json::string(switch_reasons.at(static_cast<std::size_t>(value)));
    } else if constexpr (std::same_as<T, std::chrono::milliseconds>) {
        return value.count();
    } else if constexpr (requires { value.time_since_epoch(); }) {
        return value.time_since_epoch().count();
    } else if constexpr (std::same_as<T, std::string>) {
        return json::string(value);
    } else {
        return value;
    }
}

// --- From JSON ----------------------------------------------------------------------------------

template <class T>
void read_into(T& field, const json::value& value, const std::string& path);
template <class T>
void read_into(std::vector<T>& field, const json::value& value, const std::string& path);

template <class T>
void read_into(std::optional<T>& field, const json::value& value, const std::string& path)
{
    if (value.is_null() && !std::same_as<T, json::value>) return field.reset();
    read_into(field.emplace(T()), value, path);  // clang finds no emplace() for nested structs
}

template <class T>
void read_into(std::vector<T>& field, const json::value& value, const std::string& path)
{
    if (!value.is_array()) throw unlike(path + ": is no list");
    field.clear();
    for (const auto& one : value.get_array()) read_into(field.emplace_back(), one, path + "[]");
}

/// The fields that `value` has.
template <described T>
void read_fields(T& into, const json::value& value, const std::string& path)
{
    if (!value.is_object()) throw unlike(path + ": is no object");
    for (const auto& given : value.get_object()) {
        bool known = false;
        const auto inner = path + "." + std::string(given.key());
        boost::mp11::mp_for_each<members_of<T>>([&](auto member) {
            if (camel_case(member.name) != given.key()) return;
            known = true;
            read_into(into.*member.pointer, given.value(), inner);
        });
        if (!known) throw unlike(inner + ": there is no such field");
    }
}

template <class T>
void read_into(T& field, const json::value& value, const std::string& path)
{
    const auto wrong = [&](const char* what) { return unlike(path + ": is no " + what); };
    const auto number = [&] {
        json::error_code inexact;
        const auto read = value.to_number<std::int64_t>(inexact);
        if (inexact) throw wrong("whole number");
        return read;
    };
    if constexpr (described<T>) {
        read_fields(field, value, path);
    } else if constexpr (std::same_as<T, json::value>) {
        field = value;
    } else if constexpr (std::same_as<T, json::object>) {
        if (!value.is_object()) throw wrong("object");
        field = value.get_object();
    } else if constexpr (std::same_as<T, json::array>) {
        if (!value.is_array()) throw wrong("list");
        field = value.get_array();
    } else if constexpr (std::same_as<T, bool>) {
        if (!value.is_bool()) throw wrong("boolean");
        field = value.get_bool();
    } else if constexpr (std::same_as<T, std::string>) {
        if (!value.is_string()) throw wrong("string");
        field = view(value.get_string());
    } else if constexpr (std::same_as<T, modules::switch_reason>) {
        for (std::size_t i = 0; i != switch_reasons.size(); ++i) {
            if (value == json::value(json::string(switch_reasons[i]))) {
                field = static_cast<modules::switch_reason>(i);
                return;
            }
        }
        throw wrong("reason of a switch");
    } else if constexpr (requires { field.time_since_epoch(); }) {
        field = T(typename T::duration(number()));
    } else if constexpr (std::same_as<T, std::chrono::milliseconds>) {
        field = T(number());
    } else {
        const auto read = number();
        if (!std::in_range<T>(read)) throw wrong("number in its range");
        field = static_cast<T>(read);
    }
}

template <class T>
T read_as(const json::value& value, const std::string& path)
{
    T made{};
    read_into(made, value, path);
    return made;
}

/// The event of that name, as a std::type_identity.
template <class F>
bool with_event_named(std::string_view name, F&& f)
{
    return [&]<class... E>(std::type_identity<std::tuple<E...>>) {
        return ((E::event_name == name && (f(std::type_identity<E>()), true)) || ...);
    }(std::type_identity<modules::all_events>());
}

/// Of an event of which the vectors have the `type`, too.
template <class E>
E event_from(const json::value& value)
{
    auto fields = value.as_object();
    fields.erase("type");
    try {
        return read_as<E>(fields, "given.event");
    } catch (const unlike& error) {
        throw malformed(error.what());
    }
}

template <class E>
json::object object_of_event(const E& event)
{
    auto object = object_from(event);
    object.emplace("type", E::event_name);
    if constexpr (std::same_as<E, modules::tool_result>) {
        if (event.details.is_null()) object.erase("details");
    }
    return object;
}

// --- What handlers return -----------------------------------------------------------------------

/// The answer that an object which a handler returns stands for. Throws `unlike`.
template <class E>
typename E::answer answer_from(const json::value& returned, const std::string& path)
{
    if (returned.is_null()) return belay::observe{};  // undefined
    if constexpr (std::variant_size_v<typename E::answer> == 1) {
        throw unlike(path + ": nothing can be returned of " + std::string(E::event_name));
    } else if constexpr (std::same_as<E, modules::tool_call>) {
        if (!returned.is_object()) throw unlike(path + ": is no object");
        bool blocks = false;
        belay::block said{};
        for (const auto& member : returned.get_object()) {
            const auto inner = path + "." + std::string(member.key());
            if (member.value().is_null()) continue;
            if (member.key() == "block") {
                read_into(blocks, member.value(), inner);
            } else if (member.key() == "reason") {
                read_into(said.reason, member.value(), inner);
            } else {
                throw unlike(inner + ": there is no such field");
            }
        }
        if (blocks) return said;
        return belay::observe{};
    } else {
        auto copy = returned;
        if constexpr (std::same_as<E, modules::before_agent_start>) {
            // short forms of JavaScript for what has one type here
            if (auto* object = copy.if_object()) {
                auto* lines = object->if_contains("systemPrompt");
                if (lines && lines->is_string()) *lines = json::array{*lines};
                auto* message = object->if_contains("message");
                if (message && message->is_string()) {
                    *message = written(modules::text_message(view(message->get_string())));
                }
            }
        }
        if constexpr (!std::same_as<E, modules::tool_result>) {
            // null is false, and so as if it was not there
            if (auto* object = copy.if_object()) {
                for (const auto& member : returned.get_object()) {
                    if (member.value().is_null()) object->erase(member.key());
                }
            }
        } else {
            const auto* object = copy.if_object();
            for (const auto* key : {"content", "isError"}) {
                const auto* field = object ? object->if_contains(key) : nullptr;
                if (field && field->is_null()) throw unlike(path + "." + key + ": is null");
            }
        }
        return read_as<typename E::result>(copy, path);
    }
}

// --- What a dispatch concludes ------------------------------------------------------------------

template <class R>
json::value concluded(const modules::last_result<R>& outcome)
{
    return outcome.said ? json::value(object_from(*outcome.said)) : json::value();
}

inline json::value concluded(const belay::notified&)
{
    return nullptr;
}

inline json::value concluded(const modules::before_agent_start::outcome& outcome)
{
    if (outcome.messages.empty() && !outcome.system_prompt) return nullptr;
    return object_from(outcome);
}

inline json::value concluded(const modules::context::outcome& outcome)
{
    return outcome.replaced ? json::value{{"messages", outcome.messages}} : json::value();
}

inline json::value concluded(const modules::tool_call::outcome& outcome)
{
    return outcome.allowed ? json::value()
                           : json::value{{"block", true}, {"reason", outcome.reason}};
}

inline json::value concluded(const modules::tool_result::outcome& outcome)
{
    if (!outcome.overridden) return nullptr;
    return {
        {"content", outcome.content}, {"details", outcome.details}, {"isError", outcome.is_error}};
}

/// What a vector expects of E's dispatch, in the same form: fields that it leaves out have their default.
template <class E>
json::value expected_conclusion(const json::value& expected, const std::string& path)
{
    if (expected.is_null()) return nullptr;
    if constexpr (requires { typename E::result; } && !requires { typename E::outcome; }) {
        return object_from(read_as<typename E::result>(expected, path));
    } else if constexpr (std::same_as<E, modules::before_agent_start>) {
        auto copy = expected;
        if (auto* object = copy.if_object()) {
            if (auto* all = object->if_contains("messages"); all && all->is_array()) {
                for (auto& one : all->get_array()) {
                    if (one.is_string())
                        one = written(modules::text_message(view(one.get_string())));
                }
            }
        }
        return object_from(read_as<modules::before_agent_start::outcome>(copy, path));
    } else {
        return expected;
    }
}

}  // namespace conformance

#endif
