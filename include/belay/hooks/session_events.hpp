#ifndef BELAY_HOOKS_SESSION_EVENTS_HPP
#define BELAY_HOOKS_SESSION_EVENTS_HPP

// The phases of a whole conversation: session_start, pre_compact, session_end, subagent_finished.

#include <belay/config.hpp>
#include <belay/core/event.hpp>
#include <belay/hooks/text_rules.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace belay::hooks {

/// A conversation starts, is resumed, or goes on after a compaction (spec: Vera, "When a
/// conversation starts"). No failure stops it.
struct session_start {
    static constexpr std::string_view event_name = "session_start";
    static constexpr auto deadline = deadline_per_handler(std::chrono::seconds(60));

    enum class cause : unsigned char { start, resume, compacted };

    /// Add text to the conversation, at most 128 KiB. Empty text adds nothing.
    struct mutate {
        static constexpr std::string_view name = "mutate";
        std::string context{};
    };

    /// What one hook added.
    struct contribution {
        std::size_t position = 0;  ///< of the hook among all of the phase, from 1
        std::string source{};      ///< its name
        std::string context{};
    };

    using answer = std::variant<observe, mutate>;
    struct outcome;
    struct fold;

    std::string session_id{};
    std::string workspace{};
    cause reason = cause::start;
};

struct session_start::outcome {
    std::vector<contribution> contributions{};
    std::vector<failure> failures{};  ///< to be logged; nothing else comes of them

    /// The one message that the conversation gets, or empty: each contribution under the heading
    /// "## Session start hook N", N being its hook's position.
    BELAY_DECL std::string message() const;
};

struct session_start::fold {
    BELAY_DECL std::string_view invalid(const mutate& said, const handler_info&) const;
    BELAY_DECL flow accept(mutate&& said, const handler_info& hook, draft<session_start>&);
    BELAY_DECL flow fail(failure&& why, const handler_info&, draft<session_start>&);
    BELAY_DECL outcome finish(draft<session_start>&) &&;

private:
    outcome concluded_;
};

/// A compaction begins; it waits for nobody (spec: Vera, "Compaction, session end, and subagents").
struct pre_compact {
    static constexpr std::string_view event_name = "pre_compact";
    using answer = std::variant<observe>;
    using fold = notify_fold<pre_compact>;

    enum class cause : unsigned char { manual, automatic };

    std::string session_id{};
    std::string workspace{};
    cause reason = cause::manual;
    std::uint64_t tokens = 0;                 ///< estimated size of the context
    std::optional<std::uint64_t> capacity{};  ///< of the context window, in tokens, if known
    bool spawned = false;                     ///< another agent started the session
};

/// A conversation has been closed; nothing waits, and nothing fires after a crash.
struct session_end {
    static constexpr std::string_view event_name = "session_end";
    using answer = std::variant<observe>;
    using fold = notify_fold<session_end>;

    enum class cause : unsigned char { detached, closed, idle, deleted, shutdown };

    std::string session_id{};
    std::string workspace{};
    cause reason = cause::closed;
    std::uint64_t turns = 0;
    bool spawned = false;
};

/// A subagent hands its result back to the session that started it, which does not wait.
struct subagent_finished {
    static constexpr std::string_view event_name = "subagent_finished";
    using answer = std::variant<observe>;
    using fold = notify_fold<subagent_finished>;

    enum class result : unsigned char { completed, error };

    std::string parent_session_id{};
    std::string subagent_id{};
    std::string workspace{};
    bool background = false;  ///< false: the parent waited for it
    result outcome = result::completed;
    std::string text{};  ///< its final text
};

}  // namespace belay::hooks

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/session_events.ipp>
#endif

#endif
