#ifndef BELAY_MODULES_SESSION_EVENTS_HPP
#define BELAY_MODULES_SESSION_EVENTS_HPP

// The life of a session: its start, switches, branches, compactions, its tree, its end (spec: Veyyon,
// "Session events"). Those named `session_before_*` come before something that a handler may cancel.
// Entries, messages and preparations are the host's own JSON.

#include <belay/core/event.hpp>
#include <belay/modules/event_rules.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace belay::modules {

/// A session begins, or a host has begun to use it.
struct session_start {
    static constexpr std::string_view event_name = "session_start";
    using answer = std::variant<observe>;
    using fold = notify_fold<session_start>;
};

/// Why another session becomes the current one.
enum class switch_reason : unsigned char { new_session, resume, fork, handoff };

/// Another session is about to become the current one.
struct session_before_switch {
    static constexpr std::string_view event_name = "session_before_switch";

    struct result {
        static constexpr std::string_view name = "result";

        bool cancel = false;
    };

    using answer = std::variant<observe, result>;
    using fold = last_result_fold<session_before_switch, result>;

    switch_reason reason = switch_reason::new_session;
    std::optional<std::string> target_session_file{};  ///< of `resume` alone
};

/// Another session has become the current one.
struct session_switch {
    static constexpr std::string_view event_name = "session_switch";
    using answer = std::variant<observe>;
    using fold = notify_fold<session_switch>;

    switch_reason reason = switch_reason::new_session;
    std::optional<std::string> previous_session_file{};
};

/// The session is about to branch at an entry, which is a message of the user.
struct session_before_branch {
    static constexpr std::string_view event_name = "session_before_branch";

    struct result {
        static constexpr std::string_view name = "result";

        bool cancel = false;
        bool skip_conversation_restore = false;  ///< branch, but do not rewind the conversation
    };

    using answer = std::variant<observe, result>;
    using fold = last_result_fold<session_before_branch, result>;

    std::string entry_id{};
};

/// It has branched, and the conversation is about to be rewound.
struct session_branch {
    static constexpr std::string_view event_name = "session_branch";
    using answer = std::variant<observe>;
    using fold = notify_fold<session_branch>;

    std::optional<std::string> previous_session_file{};
};

/// What a compaction comes to. One that a handler supplies is used as it is.
struct compaction_result {
    std::string summary{};
    std::optional<std::string> short_summary{};
    std::string first_kept_entry_id{};
    std::int64_t tokens_before = 0;
    std::optional<boost::json::value> details{};
    std::optional<boost::json::object> preserve_data{};
};

/// The conversation is about to be compacted, and there is something to compact.
struct session_before_compact {
    static constexpr std::string_view event_name = "session_before_compact";

    struct result {
        static constexpr std::string_view name = "result";

        bool cancel = false;
        std::optional<compaction_result> compaction{};  ///< instead of the host's own
    };

    using answer = std::variant<observe, result>;
    using fold = last_result_fold<session_before_compact, result>;

    boost::json::object preparation{};  ///< what is to be summarised, and what is kept
    boost::json::array branch_entries{};
    std::optional<std::string> custom_instructions{};  ///< the person's; none if it is automatic
};

/// The host is about to write the summary itself.
struct session_compacting {
    static constexpr std::string_view event_name = "session_compacting";

    struct result {
        static constexpr std::string_view name = "result";

        std::optional<std::vector<std::string>> context{};   ///< lines to add to what is summarised
        std::optional<std::string> prompt{};                 ///< instead of the default prompt
        std::optional<boost::json::object> preserve_data{};  ///< merged with the host's
    };

    using answer = std::variant<observe, result>;
    using fold = last_result_fold<session_compacting, result>;

    std::string session_id{};
    boost::json::array messages{};  ///< those that are summarised
};

/// The conversation has been compacted.
struct session_compact {
    static constexpr std::string_view event_name = "session_compact";
    using answer = std::variant<observe>;
    using fold = notify_fold<session_compact>;

    boost::json::object compaction_entry{};
    bool from_extension = false;  ///< a handler supplied the compaction
};

/// A summary of what is left behind in the session's tree, used only if the person asked for one.
struct branch_summary {
    std::string summary{};
    std::optional<boost::json::value> details{};
};

/// The person is about to go to another place in the session's tree.
struct session_before_tree {
    static constexpr std::string_view event_name = "session_before_tree";

    struct result {
        static constexpr std::string_view name = "result";

        bool cancel = false;
        std::optional<branch_summary> summary{};
    };

    using answer = std::variant<observe, result>;
    using fold = last_result_fold<session_before_tree, result>;

    boost::json::object preparation{};  ///< where from, where to, and what would be summarised
};

/// The person has gone there.
struct session_tree {
    static constexpr std::string_view event_name = "session_tree";
    using answer = std::variant<observe>;
    using fold = notify_fold<session_tree>;

    std::optional<std::string> new_leaf_id{};
    std::optional<std::string> old_leaf_id{};
    std::optional<boost::json::object> summary_entry{};
    std::optional<bool> from_extension{};  ///< whether a handler gave the summary; none without one
};

/// The session ends. All handlers run at once, each within `runner_options::shutdown_timeout`.
struct session_shutdown {
    static constexpr std::string_view event_name = "session_shutdown";
    using answer = std::variant<observe>;
    using fold = notify_fold<session_shutdown>;
};

}  // namespace belay::modules

#endif
