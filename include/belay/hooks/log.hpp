#ifndef BELAY_HOOKS_LOG_HPP
#define BELAY_HOOKS_LOG_HPP

// The host's log: one JSON object for each hook that failed.

#include <belay/config.hpp>

#include <boost/json/object.hpp>

#include <string>
#include <string_view>

namespace belay::hooks {

/// Where the failures of hooks are reported. A record has
///   - `type`: the phase and `_hook_failed`, as in `session_start_hook_failed`
///   - `level`: `warn`
///   - `sessionId`, and what else names the occasion: `reason`, `toolCallId` and `toolName`,
///     `subagentId`
///   - `index`: the hook's position among all of its phase, from 1
///   - `command`: the file name of an executable from config.json, or `extension`: the name of an
///     extension's hook, or `function`: `prepare_turn` or `before_turn_ends`, if a conversation has its own
///   - `error`: what went wrong, one sentence
///   - `consequence`, in the phases that decide: `ignored`, `blocked`, `patches_dropped`,
///     `turn_ended`
///
/// Some records are not of a hook, and have `type`, `level` and `error` alone:
///   - `config_not_used`: a changed configuration that is followed cannot be used
///   - `config_warning`: what is in it and means nothing (see `config::warnings`)
///   - `extension_failed`, with `extension`: it was ended, because it had registered a hook after its
///     activation
///   - `extension_warning`, with `extension`: what it told by `registrar::warn`
///
/// (spec: Vera, "When a hook fails".)
class log_sink {
public:
    virtual ~log_sink() = default;

    /// Called on the registry's executor, which waits for it. It may come back into the registry and
    /// its sessions.
    virtual void on_record(const boost::json::object& record) noexcept = 0;
};

/// Appends each record to a file as one line, with a `time` (UTC, RFC 3339) in front.
///
/// A line is a single write to a file that was opened for appending, so that several hosts may
/// share the file. Missing folders are created. Whatever goes wrong, the record is lost and nothing
/// else happens.
class jsonl_file final : public log_sink {
public:
    BELAY_DECL explicit jsonl_file(std::string path);

    BELAY_DECL void on_record(const boost::json::object& record) noexcept override;

    const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

/// The place of the log in a home folder: `<home>/runtime/logs/host.jsonl`.
[[nodiscard]] BELAY_DECL std::string host_log_path(std::string_view home);

}  // namespace belay::hooks

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/log.ipp>
#endif

#endif
