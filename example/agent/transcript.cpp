#include "transcript.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <cmath>
#include <string>

namespace agent {
namespace {

namespace hooks = belay::hooks;
namespace json = boost::json;

constexpr std::size_t lines_shown = 12;

// A call on one line: what matters of its input.
std::string headline(const hooks::tool_call& call)
{
    using keys = std::vector<std::string_view>;
    const auto matters = call.name == "bash"    ? keys{"command"}
                         : call.name == "agent" ? keys{"name", "prompt"}
                                                : keys{"path"};
    std::string line;
    for (const auto key : matters) {
        const auto* value = call.input.if_contains(key);
        if (!value || !value->is_string()) return json::serialize(call.input);
        line += (line.empty() ? "" : ": ") + std::string(value->get_string());
    }
    return line;
}

std::string joined(const std::vector<std::string>& names)
{
    std::string text;
    for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "none" : text;
}

std::string_view name_of(hooks::session_start::cause reason)
{
    using cause = hooks::session_start::cause;
    switch (reason) {
    case cause::start: return "start";
    case cause::resume: return "resume";
    case cause::compacted: return "compacted";
    }
    return "";
}

// A line of host.jsonl without its time.
std::string without_time(std::string_view line)
{
    boost::system::error_code error;
    const auto record = json::parse(line, error);
    if (error || !record.is_object()) return std::string(line);
    json::object rest;
    for (const auto& [key, value] : record.get_object()) {
        if (key != "time") rest[key] = value;
    }
    return json::serialize(rest);
}

}  // namespace

void transcript::opening(const script& what, const std::filesystem::path& workspace,
                         const std::filesystem::path& config, std::size_t hooks,
                         std::size_t modules)
{
    out_.line(0, bold("session " + what.session_id), dim(what.bare ? "  (bare: no hooks)" : ""));
    out_.line(2, dim("model      "), what.model);
    out_.line(2, dim("tools      "), joined(what.tools));
    out_.line(2, dim("workspace  "), workspace.string());
    out_.line(2, dim("hooks      "), std::to_string(hooks), " in ", config.string());
    if (modules != 0) out_.line(2, dim("modules    "), std::to_string(modules));
    out_.flush();
}

void transcript::session_started(hooks::session_start::cause reason,
                                 const hooks::session_start::outcome& said)
{
    if (said.contributions.empty() && said.failures.empty()) return;
    out_.gap();
    out_.line(0, dim("session_start: "), dim(name_of(reason)));
    if (const auto message = said.message(); !message.empty()) {
        out_.text(2, "| ", message, lines_shown);
    }
    for (const auto& why : said.failures) failed(2, why, "the conversation goes on");
    out_.flush();
}

void transcript::prompt(std::string_view text)
{
    out_.gap();
    out_.text(0, "> ", text, lines_shown, style::bold);
    out_.flush();
}

void transcript::prompt_taken(const hooks::pre_turn::outcome& said)
{
    for (const auto& added : said.contexts) row(hooks::added_context_row(added));
    if (said.tools) out_.line(2, dim("+ "), "tools narrowed to: ", joined(*said.tools));
    if (said.model) out_.line(2, dim("+ "), "model changed to: ", *said.model);
    if (said.reasoning_effort) {
        out_.line(2, dim("+ "), "reasoning effort changed to: ", *said.reasoning_effort);
    }
    ignored(2, said.ignored);
    if (said.failed) {
        failed(2, *said.failed, "the prompt was blocked");
    } else if (said.blocked) {
        paragraph(2, styled{style::red, "blocked by "}, said.decided_by, ": ",
                  said.blocked->reason);
    }
    if (said.blocked) out_.line(2, dim("the turn has ended, and the model was not called"));
    out_.flush();
}

void transcript::reply(const hooks::model_reply& reply)
{
    if (!reply.text.empty()) {
        out_.gap();
        out_.text(2, "", reply.text, lines_shown);
    }
    if (reply.stop == hooks::stop_reason::length) out_.line(2, dim("(the reply was cut off)"));
    if (reply.stop == hooks::stop_reason::error) out_.line(2, dim("(the model failed)"));
    out_.flush();
}

void transcript::calls(const std::vector<hooks::tool_call>& asked,
                       const std::vector<hooks::call_record>& records)
{
    for (std::size_t i = 0; i != records.size(); ++i) call(asked[i], records[i]);
    out_.flush();
}

void transcript::call(const hooks::tool_call& asked, const hooks::call_record& record)
{
    using hooks::call_fate;

    out_.gap();
    paragraph(2, styled{style::yellow, "* "}, asked.name, "  ", headline(asked));

    const auto text = hooks::text_of(record.result.content);
    const auto& before = record.before;
    if (before) ignored(6, before->ignored);
    if (before && before->input) {
        out_.line(6, styled{style::yellow, "input rewritten by "},
                  bold(joined(before->changed_by)));
        out_.line(8, dim("before  "), json::serialize(asked.input));
        out_.line(8, dim("after   "), json::serialize(*before->input));
    }
    switch (record.fate) {
    case call_fate::not_offered: out_.line(6, styled{style::red, text}); return;
    case call_fate::blocked:
        paragraph(6, styled{style::red, "blocked by "}, before->decided_by, ": ", text);
        return;
    case call_fate::hook_failed: failed(6, *before->failed, "the call was blocked"); return;
    case call_fate::denied: paragraph(6, styled{style::red, "denied"}, "", ": ", text); return;
    case call_fate::replaced:
        out_.line(6, styled{style::yellow, "not run: result given by "}, bold(before->decided_by));
        break;
    case call_fate::ran:
        out_.line(6,
                  dim("ran for " + std::to_string(std::lround(record.duration.count())) + " ms"));
        break;
    }

    if (const auto& after = record.after) {
        ignored(6, after->ignored);
        if (!after->patched_by.empty()) {
            out_.line(6, styled{style::yellow, "result patched by "},
                      bold(joined(after->patched_by)));
        }
        if (after->failed) failed(6, *after->failed, "the result is the tool's own");
    }
    out_.text(6, "| ", text.empty() ? "(no output)" : text, lines_shown,
              record.result.is_error ? style::red : style::plain);
}

void transcript::turn_ending(const hooks::turn_ending::outcome& said)
{
    ignored(2, said.ignored);
    if (said.failed) failed(2, *said.failed, "the turn has ended");
    if (said.continuation) row(hooks::continued_turn_row(*said.continuation));
    out_.flush();
}

void transcript::compaction(const agent::compaction& what)
{
    using cause = hooks::pre_compact::cause;
    out_.gap();
    out_.line(0, dim(what.reason == cause::manual ? "/compact: " : "automatic compaction: "),
              dim(std::to_string(what.tokens) + " tokens are summarized"));
    if (what.fails) out_.line(2, dim("(the compaction has failed)"));
    out_.flush();
}

void transcript::dialog(std::string_view title, std::string_view text,
                        const std::vector<belay::modules::select_option>& options)
{
    out_.gap();
    out_.line(2, styled{style::yellow, "? "}, bold(title));
    if (!text.empty()) out_.text(4, "", text, lines_shown);
    for (std::size_t i = 0; i != options.size(); ++i) {
        const auto& [label, description] = options[i];
        out_.line(4, std::to_string(i + 1) + " ", label,
                  dim(description.empty() ? "" : "  " + description));
    }
    out_.flush();
}

void transcript::dialog_answer(const std::optional<std::string>& text)
{
    text ? out_.text(4, "> ", *text, lines_shown, style::bold) : out_.line(4, dim("(no answer)"));
    out_.flush();
}

void transcript::module_message(const std::vector<std::string>& lines)
{
    for (const auto& line : lines) out_.line(2, dim("+ "), styled{style::green, line});
    out_.flush();
}

void transcript::status(const std::vector<std::string>& lines)
{
    out_.gap();
    for (const auto& line : lines) out_.line(0, dim("= "), dim(line));
    out_.flush();
}

void transcript::session_follows(std::string_view id)
{
    out_.gap();
    out_.line(0, bold("session " + std::string(id)));
    out_.flush();
}

void transcript::question(std::string_view text)
{
    out_.gap();
    out_.text(0, "? ", text, lines_shown, style::bold);
    out_.flush();
}

void transcript::answer(std::string_view text)
{
    out_.text(2, "", text, lines_shown, style::dim);
    out_.flush();
}

void transcript::subagent(const std::string& name, std::string_view rows)
{
    if (rows.starts_with('\n')) rows.remove_prefix(1);
    if (rows.empty()) return;
    out_.gap();
    out_.block(2, name + ":", rows);
    out_.flush();
}

void transcript::note(std::string_view text)
{
    out_.line(2, dim("("), dim(text), dim(")"));
    out_.flush();
}

void transcript::replies_left(std::size_t count)
{
    const auto replies = count == 1 ? "1 reply" : std::to_string(count) + " replies";
    note(replies + " of the script not played");
}

void transcript::answers_left(std::size_t count)
{
    note(std::to_string(count) + (count == 1 ? " answer" : " answers") +
         " of the script not given");
}

void transcript::warning(std::string_view text)
{
    out_.line(0, styled{style::red, "! "}, text);
    out_.flush();
}

void transcript::log(std::string_view name, std::string_view lines)
{
    out_.gap();
    out_.line(0, dim(name));
    for (auto rest = lines; !rest.empty();) {
        const auto line = rest.substr(0, rest.find('\n'));
        out_.line(2, without_time(line));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
    out_.flush();
}

// Text that begins on the line of its heading.
void transcript::paragraph(int indent, styled heading, std::string_view name,
                           std::string_view colon, std::string_view text)
{
    const auto first = text.substr(0, text.find('\n'));
    out_.line(indent, heading, bold(name), colon, first);
    if (first.size() != text.size()) {
        out_.text(indent + 2, "", text.substr(first.size() + 1), lines_shown);
    }
}

void transcript::row(const hooks::transcript_row& row)
{
    const auto source = row.source.empty() ? "" : " · " + row.source;
    out_.line(2, dim("+ "), styled{style::green, row.text}, dim(source));
}

void transcript::failed(int indent, const belay::failure& why, std::string_view consequence)
{
    out_.line(indent, styled{style::red, "! "}, bold(why.handler.name), " failed: ", why.message,
              "; ", consequence);
}

void transcript::ignored(int indent, const std::vector<belay::failure>& failures)
{
    for (const auto& why : failures) failed(indent, why, "ignored");
}

}  // namespace agent
