#include "script.hpp"

#include "bad_input.hpp"
#include "json_node.hpp"
#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

namespace agent {
namespace {

namespace hooks = belay::hooks;

class script_reader {
public:
    script read(const json_node& document)
    {
        const auto top = document.object({"session", "files", "conversation"});
        if (const auto session = top.find("session")) read_session(*session);
        if (const auto files = top.find("files")) {
            for (const auto& [path, content] : files->members()) {
                script_.files[path] = content.text();
            }
        }
        for (const auto& entry : top.required("conversation").list()) {
            script_.conversation.push_back(read_entry(entry));
        }
        return std::move(script_);
    }

private:
    void read_session(const json_node& node)
    {
        using start = hooks::session_start::cause;
        using end = hooks::session_end::cause;
        const auto entry =
            node.object({"id", "model", "reasoning_effort", "tools", "reason", "end", "bare"});
        script_.session_id = entry.filled_text("id").value_or(script_.session_id);
        script_.model = entry.filled_text("model").value_or(script_.model);
        script_.reasoning_effort = entry.filled_text("reasoning_effort");
        if (entry.find("tools")) {
            const auto known = std::exchange(script_.tools, {});
            for (const auto& tool : entry.list("tools")) {
                script_.tools.push_back(tool.one_of(known));
            }
        }
        script_.reason = entry.choice("reason", script_.reason,
                                      {{"start", start::start}, {"resume", start::resume}});
        script_.end = entry.choice("end", script_.end,
                                   {{"closed", end::closed},
                                    {"detached", end::detached},
                                    {"idle", end::idle},
                                    {"deleted", end::deleted},
                                    {"shutdown", end::shutdown}});
        script_.bare = entry.boolean("bare").value_or(false);
    }

    script::entry read_entry(const json_node& node)
    {
        const auto entry = node.object(
            {"prompt", "replies", "answers", "compact", "ask", "answer", "wait", "stop"});
        const std::string_view kind = kind_of(entry);
        if (kind == "compact") {
            return read_compaction(entry.required(kind), hooks::pre_compact::cause::manual);
        }
        if (kind == "ask") return read_question(entry);
        if (kind == "wait") {
            auto name = read_subagent(entry.required(kind));
            return waiting{std::move(name), read_replies(entry.list("replies"))};
        }
        if (kind == "stop") return stopping{read_subagent(entry.required(kind))};
        turn spoken{entry.required("prompt").filled_text(), {}};
        // a slash command needs no reply of the model
        if (!spoken.prompt->starts_with('/')) entry.required("replies");
        spoken.replies = read_replies(entry.list("replies"));
        for (const auto& one : entry.list("answers")) spoken.answers.push_back(one.optional_text());
        return spoken;
    }

    // The one key that says what an entry is, and none that belongs to another.
    static std::string_view kind_of(const json_object& entry)
    {
        std::string_view kind;
        for (const auto* key : {"prompt", "compact", "ask", "wait", "stop"}) {
            if (!entry.find(key)) continue;
            if (!kind.empty()) {
                entry.fail("it has both \"" + std::string(kind) + "\" and \"" + key + "\"");
            }
            kind = key;
        }
        if (entry.find("replies") && kind != "prompt" && kind != "wait" && !kind.empty()) {
            entry.fail("a \"" + std::string(kind) + "\" has no \"replies\"");
        }
        if (entry.find("answers") && kind != "prompt" && !kind.empty()) {
            entry.fail("a \"" + std::string(kind) + "\" has no \"answers\"");
        }
        if (entry.find("answer") && kind != "ask") {
            entry.fail("only an \"ask\" has an \"answer\"");
        }
        return kind;
    }

    question read_question(const json_object& entry)
    {
        question asked{entry.required("ask").filled_text()};
        if (!questions_.insert(asked.text).second) entry.fail("it has been asked before");
        if (auto answer = entry.filled_text("answer")) {
            script_.answers[asked.text] = *std::move(answer);
        }
        return asked;
    }

    std::string read_subagent(const json_node& node) const
    {
        auto name = node.filled_text();
        if (!in_background_.contains(name)) {
            node.fail("no call before it starts a subagent of that name in the background");
        }
        return name;
    }

    std::vector<reply> read_replies(const std::vector<json_node>& nodes)
    {
        std::vector<reply> replies;
        for (const auto& one : nodes) replies.push_back(read_reply(one));
        return replies;
    }

    reply read_reply(const json_node& node)
    {
        using hooks::stop_reason;
        const auto entry = node.object({"text", "calls", "joining", "compact", "stop"});
        reply said;
        said.text = entry.text("text").value_or("");
        for (const auto& call : entry.list("calls")) said.calls.push_back(read_call(call));
        for (const auto& prompt : entry.list("joining")) {
            said.joining.push_back(prompt.filled_text());
        }
        if (const auto compact = entry.find("compact")) {
            said.compact = read_compaction(*compact, hooks::pre_compact::cause::automatic);
        }
        said.stop = entry.choice("stop", stop_reason::end,
                                 {{"end", stop_reason::end},
                                  {"length", stop_reason::length},
                                  {"error", stop_reason::error}});

        if (said.calls.empty() && said.text.empty()) {
            entry.fail("a reply needs \"text\" or \"calls\"");
        }
        if (said.calls.empty() && (!said.joining.empty() || said.compact)) {
            entry.fail("\"joining\" and \"compact\" come after tools, and it has no \"calls\"");
        }
        if (!said.calls.empty() && entry.find("stop")) {
            entry.fail("a reply with \"calls\" does not end the turn: it has no \"stop\"");
        }
        return said;
    }

    hooks::tool_call read_call(const json_node& node)
    {
        const auto entry = node.object({"id", "name", "input", "denied", "replies"});
        hooks::tool_call call;
        call.id = entry.filled_text("id").value_or("call_" + std::to_string(ids_.size() + 1));
        call.name = entry.required("name").filled_text();
        call.input = entry.required("input").raw_object();
        if (!ids_.insert(call.id).second) entry.fail("another call has the id \"" + call.id + "\"");
        if (auto why = entry.filled_text("denied")) script_.denied[call.id] = *std::move(why);
        if (call.name == "agent") {
            read_task(entry, call.id);
        } else if (entry.find("replies")) {
            entry.fail("only a call of \"agent\" has \"replies\"");
        }
        return call;
    }

    // What a subagent has to do, and what its model will say.
    void read_task(const json_object& call, const std::string& id)
    {
        const auto input = call.required("input").object({"name", "prompt", "background"});
        const auto name = input.required("name").filled_text();
        input.required("prompt").filled_text();
        const bool background = input.boolean("background").value_or(false);

        const auto of_this_agent = std::exchange(in_background_, {});
        script_.of_subagents[id] = read_replies(call.required("replies").list());
        in_background_ = of_this_agent;
        if (background) in_background_.insert(name);
    }

    compaction read_compaction(const json_node& node, hooks::pre_compact::cause otherwise)
    {
        using cause = hooks::pre_compact::cause;
        const auto entry = node.object({"reason", "tokens", "capacity", "fails"});
        compaction read;
        read.reason = entry.choice("reason", otherwise,
                                   {{"manual", cause::manual}, {"automatic", cause::automatic}});
        read.tokens = entry.count("tokens").value_or(0);
        read.capacity = entry.count("capacity");
        read.fails = entry.boolean("fails").value_or(false);
        return read;
    }

    script script_;
    std::set<std::string> ids_;
    std::set<std::string> questions_;
    std::set<std::string> in_background_;  // the subagents that can be waited for
};

}  // namespace

bool script::has_answers() const
{
    return std::ranges::any_of(conversation, [](const entry& one) {
        const auto* spoken = std::get_if<turn>(&one);
        return spoken != nullptr && !spoken->answers.empty();
    });
}

script read_script(const std::filesystem::path& file)
{
    const auto name = file.string();
    std::ifstream stream(file, std::ios::binary);
    if (!stream || std::filesystem::is_directory(file)) {
        throw bad_input(name + ": cannot be read as a file");
    }
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    const auto document = parse_json(text, name);
    return script_reader().read(json_node(document, name));
}

}  // namespace agent
