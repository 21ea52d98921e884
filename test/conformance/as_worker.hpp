#ifndef BELAY_TEST_CONFORMANCE_AS_WORKER_HPP
#define BELAY_TEST_CONFORMANCE_AS_WORKER_HPP

// What a worker has to do so that it says the same as an executable that runs once, prints something
// and exits. Also for the hook player, which has nothing of belay but this and the core of a worker.

#include <belay/process/detail/envelope.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace conformance {

/// How one event ends.
struct worker_turn {
    bool ends = false;     ///< the worker itself, as the executable does, with no answer
    std::string result{};  ///< else: the bytes of its answer, or none
};

namespace detail {

inline bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

inline std::string_view trimmed(std::string_view text)
{
    constexpr std::string_view blanks = " \t\r\n";
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// Whether a line can hold it as a result.
inline bool fits_into_a_line(std::string_view bytes)
{
    std::string line;
    belay::process::detail::append_envelope(line, 1, "result", bytes);
    line.pop_back();
    return belay::process::detail::read_envelope(line, "result").has_value();
}

/// Under claude: what exit status 2 says, as JSON.
inline std::string said_by_exit_2(std::string_view event, std::string_view reason)
{
    namespace json = boost::json;
    const json::string text(reason.data(), reason.size());
    json::object said;
    if (event == "PreToolUse") {
        said["hookSpecificOutput"] = {{"hookEventName", "PreToolUse"},
                                      {"permissionDecision", "deny"},
                                      {"permissionDecisionReason", text}};
    } else if (is_one_of(event, {"UserPromptSubmit", "Stop", "SubagentStop"})) {
        said["decision"] = "block";
        said["reason"] = text;
    } else {
        return "";
    }
    return json::serialize(said);
}

/// Under claude: what plain text on stdout says, as JSON.
inline std::string said_by_text(std::string_view event, std::string_view text)
{
    namespace json = boost::json;
    const json::string plain(text.data(), text.size());
    if (text.empty() || is_one_of(event, {"PreCompact", "SessionEnd"})) return "";
    if (!is_one_of(event, {"SessionStart", "UserPromptSubmit"})) return json::serialize(plain);
    return json::serialize(
        json::object{{"hookSpecificOutput",
                      {{"hookEventName", json::string(event.data(), event.size())},
                       {"additionalContext", plain}}}});
}

}  // namespace detail

/// Of an executable that was given this payload, and then printed and exited so.
inline worker_turn as_worker(const boost::json::object& payload, std::string_view out,
                             std::string_view err, int exit, int signal)
{
    constexpr std::size_t err_limit = 65536;
    if (signal != 0) return {.ends = true};
    if (const auto* event = payload.if_contains("hook_event_name")) {
        const std::string name(event->as_string().data(), event->as_string().size());
        if (exit == 2)
            return {.result =
                        detail::said_by_exit_2(name, detail::trimmed(err.substr(0, err_limit)))};
        if (exit != 0) return {.ends = true};
        if (detail::trimmed(out).starts_with('{') && detail::fits_into_a_line(out))
            return {.result = std::string(out)};
        return {.result = detail::said_by_text(name, detail::trimmed(out))};
    }
    if (exit != 0) return {.ends = true};
    const auto& type = payload.at("type").as_string();
    const bool decides = !detail::is_one_of({type.data(), type.size()},
                                            {"pre_compact", "session_end", "subagent_finished"});
    if (out.starts_with("\xEF\xBB\xBF")) out.remove_prefix(3);  // no line of JSON may hold it
    if (decides || detail::fits_into_a_line(out)) return {.result = std::string(out)};
    // What an observer prints means nothing, but a worker has to answer with JSON, which may be too long.
    return {.result = '"' + std::string(std::max<std::size_t>(out.size(), 2) - 2, 'x') + '"'};
}

}  // namespace conformance

#endif
