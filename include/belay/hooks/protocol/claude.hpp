#ifndef BELAY_HOOKS_PROTOCOL_CLAUDE_HPP
#define BELAY_HOOKS_PROTOCOL_CLAUDE_HPP

// The protocol of hooks that were written for Claude Code (spec: Vera, "Use the claude protocol").

#include <belay/config.hpp>
#include <belay/hooks/protocol.hpp>

namespace belay::hooks {

/// A phase is named by its event here, or by Vera's name for it, which means the event of people's own
/// sessions. There is none for post_tool_use and subagent_finished.
///
/// | event              | Vera's name     | runs       | exit 2    | plain text | JSON                     |
/// |--------------------|-----------------|------------|-----------|------------|--------------------------|
/// | `PreToolUse`       | `pre_tool_use`  | everywhere | blocks    | ignored    | `permissionDecision`     |
/// | `SessionStart`     | `session_start` | everywhere | ignored   | context    | `additionalContext`      |
/// | `UserPromptSubmit` | `pre_turn`      | top level  | blocks    | context    | that, `decision`         |
/// | `Stop`             | `turn_ending`   | top level  | continues | ignored    | `decision`               |
/// | `SubagentStop`     |                 | subagents  | continues | ignored    | `decision`               |
/// | `PreCompact`       | `pre_compact`   | top level  | ignored   | ignored    | ignored                  |
/// | `SessionEnd`       | `session_end`   | top level  | ignored   | ignored    | ignored                  |
///
/// Where a hook does not run it is not started, and has observed. Exit 2 needs a reason on stderr
/// wherever one is used (the first 64 KiB count, invalid UTF-8 becomes U+FFFD), and then stdout is not
/// looked at. Any other exit status than 0 is a failure.
///
/// On exit 0, a stdout that is not a JSON object is plain text: also a denial with a line of anything
/// before it, which therefore lets the call run. In an object, `hookSpecificOutput` must be one
/// for this event wherever it is given, and keys that are not listed are ignored.
///
/// Stricter than a JavaScript host: a stdout that is looked at must be valid UTF-8, an object must be
/// one that can be read (values nest at most 128 deep, half of a surrogate pair is no text), and a key
/// whose value the answer uses may not be given twice.
[[nodiscard]] BELAY_DECL const protocol& claude() noexcept;

}  // namespace belay::hooks

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/claude.ipp>
#endif

#endif
