#ifndef BELAY_EXAMPLE_AGENT_SCRIPT_HPP
#define BELAY_EXAMPLE_AGENT_SCRIPT_HPP

// A conversation as it is written down in a file: what a person says, and what a model would reply.
// README.md beside this file describes the format.

#include <belay/hooks/session_events.hpp>
#include <belay/hooks/session_types.hpp>
#include <belay/hooks/tool.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace agent {

struct compaction {
    belay::hooks::pre_compact::cause reason = belay::hooks::pre_compact::cause::manual;
    std::uint64_t tokens = 0;
    std::optional<std::uint64_t> capacity;
    bool fails = false;
};

struct reply {
    std::string text;
    std::vector<belay::hooks::tool_call> calls;
    std::vector<std::string> joining;   ///< prompts that arrive while the tools run
    std::optional<compaction> compact;  ///< after the tools
    belay::hooks::stop_reason stop = belay::hooks::stop_reason::end;
};

struct turn {
    std::optional<std::string> prompt;  ///< none: it begins with what a subagent has handed back
    std::vector<reply> replies;
    std::vector<std::optional<std::string>>
        answers{};  ///< to dialogs of modules, one each; or none
};

/// The person asks the model something beside the conversation.
struct question {
    std::string text;
};

/// The person waits for what a background subagent hands back.
struct waiting {
    std::string subagent;
    std::vector<reply> replies;  ///< to it; none: the conversation goes on with the next prompt
};

/// The person stops a background subagent.
struct stopping {
    std::string subagent;
};

struct script {
    using entry = std::variant<turn, compaction, question, waiting, stopping>;

    std::string session_id = "sess_1";
    belay::hooks::session_start::cause reason = belay::hooks::session_start::cause::start;
    belay::hooks::session_end::cause end = belay::hooks::session_end::cause::closed;
    std::string model = "example/scripted";
    std::optional<std::string> reasoning_effort;
    std::vector<std::string> tools = {"agent", "bash", "read", "write"};
    bool bare = false;

    std::map<std::string, std::string> files;  ///< what the workspace holds at first, by path
    std::vector<entry> conversation;
    std::map<std::string, std::string> answers;  ///< to questions aside; none: the model is away

    /// Whether the person answers any dialog.
    bool has_answers() const;

    // By the id of a call:
    std::map<std::string, std::string> denied;               ///< why the person denies it
    std::map<std::string, std::vector<reply>> of_subagents;  ///< what the subagent's model says
};

/// Reads a script. Throws bad_input, whose message names the file and the line and column, or the
/// entry, the field and the value.
script read_script(const std::filesystem::path& file);

}  // namespace agent

#endif
