#ifndef BELAY_EXAMPLE_AGENT_TRANSCRIPT_HPP
#define BELAY_EXAMPLE_AGENT_TRANSCRIPT_HPP

// The conversation as a person reads it, with what the hooks did to it.

#include <belay/hooks/run_tools.hpp>
#include <belay/hooks/session_types.hpp>
#include <belay/hooks/transcript.hpp>
#include <belay/modules/ui.hpp>

#include "script.hpp"
#include "terminal.hpp"
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agent {

class transcript {
public:
    explicit transcript(terminal& out) : out_(out) {}

    void opening(const script& what, const std::filesystem::path& workspace,
                 const std::filesystem::path& config, std::size_t hooks, std::size_t modules);

    void session_started(belay::hooks::session_start::cause reason,
                         const belay::hooks::session_start::outcome& said);

    void prompt(std::string_view text);
    void prompt_taken(const belay::hooks::pre_turn::outcome& said);

    void reply(const belay::hooks::model_reply& reply);
    void calls(const std::vector<belay::hooks::tool_call>& asked,
               const std::vector<belay::hooks::call_record>& records);
    void turn_ending(const belay::hooks::turn_ending::outcome& said);

    void compaction(const agent::compaction& what);

    // What modules show.
    void dialog(std::string_view title, std::string_view text,
                const std::vector<belay::modules::select_option>& options);
    void dialog_answer(const std::optional<std::string>& text);
    void module_message(const std::vector<std::string>& lines);
    void status(const std::vector<std::string>& lines);

    /// The conversation goes on in another session.
    void session_follows(std::string_view id);

    /// Beside the conversation.
    void question(std::string_view text);
    void answer(std::string_view text);

    /// What the transcript of a subagent has shown.
    void subagent(const std::string& name, std::string_view rows);

    void note(std::string_view text);

    /// The turn has ended, and the script had more to say.
    void replies_left(std::size_t count);
    void answers_left(std::size_t count);

    void warning(std::string_view text);

    bool has_colours() const noexcept { return out_.has_colours(); }

    /// What a log has gained during the conversation.
    void log(std::string_view name, std::string_view lines);

private:
    void call(const belay::hooks::tool_call& asked, const belay::hooks::call_record& record);
    void paragraph(int indent, styled heading, std::string_view name, std::string_view colon,
                   std::string_view text);
    void row(const belay::hooks::transcript_row& row);
    void failed(int indent, const belay::failure& why, std::string_view consequence);
    void ignored(int indent, const std::vector<belay::failure>& failures);

    terminal& out_;
};

}  // namespace agent

#endif
