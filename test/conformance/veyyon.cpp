// Runs the vectors of the Veyyon system: conformance_veyyon [FILE.json [ID...]]
//
// Each vector is played through belay's public face: real modules on a real runner, with real files,
// programs and shared libraries where a vector speaks of them. vectors.hpp is the notation,
// veyyon_json.hpp the events as JSON, veyyon_stage.hpp the modules and the host, veyyon_files.hpp the
// files; what is done for an operation is in veyyon_plays.hpp, veyyon_tools.hpp, veyyon_loading.hpp.
//
// Exit status: 0 if no vector failed, 1 if one did, 2 if the file cannot be used.

#include <boost/json/value.hpp>

#include "suite.hpp"
#include "vectors.hpp"
#include "veyyon_loading.hpp"
#include "veyyon_plays.hpp"
#include "veyyon_tools.hpp"
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace {

using namespace conformance;

// Keys of `expect` that nothing can be compared with, each with the reason.
const reasons unchecked_keys{{"note", "a word to people"}};

using play = void (*)(reader& given, reader& expect, judgement& so_far);

const std::map<std::string, play, std::less<>> plays{
    {"emit", play_emit},
    {"emit_listener_throws", play_emit_listener_throws},
    {"emit_context", play_emit_context},
    {"emit_before_agent_start", play_emit_before_agent_start},
    {"commands", play_commands},
    {"dispatch_command", play_dispatch_command},
    {"ui_call", play_ui_call},
    {"normalize_message", play_normalize_message},
    {"deliver", play_deliver},
    {"exec", play_exec},
    {"tool_execute", play_tool_execute},
    {"resolve_approval", play_resolve_approval},
    {"effective_mode", play_effective_mode},
    {"normalize_mode", play_normalize_mode},
    {"validate_mode", play_validate_mode},
    {"format_prompt", play_format_prompt},
    {"truncate_prompt", play_truncate_prompt},
    {"sanitize", play_sanitize},
    {"status", play_status},
    {"discover", play_discover},
    {"load_hooks_capability", play_load_hooks_capability},
    {"resolve_path", play_resolve_path},
    {"load", play_load},
};

/// Whatever else there may be to a vector of events that the document does not name.
void refuse_unnamed_events(std::string_view op, const json::object& given)
{
    const auto refuse = [](const json::value* in, const char* key) {
        const auto* object = in ? in->if_object() : nullptr;
        const auto* name = object ? object->if_contains(key) : nullptr;
        if (name && name->is_string()) refuse_unnamed_event(view(name->get_string()));
    };
    const auto list = [](const json::value* value) {
        return value && value->is_array() ? value->get_array() : json::array();
    };
    if (op.starts_with("emit_")) refuse_unnamed_event(op.substr(5));
    refuse(given.if_contains("event"), "type");
    for (const auto& extension : list(given.if_contains("extensions"))) {
        const auto* object = extension.if_object();
        if (object == nullptr) continue;
        for (const auto& handler : list(object->if_contains("handlers"))) refuse(&handler, "on");
    }
}

void play_vector(const json::value& value, judgement& so_far)
{
    reader vector(value, "vector");
    vector.text("id");
    const auto& all_given = vector.get("given");
    reader given(all_given, "given");
    reader expect(vector.get("expect"), "expect");
    // where it comes from, and what other versions of the source do
    for (const auto* key :
         {"area", "basis", "note", "checked", "snapshot", "later", "snapshotEvent"}) {
        vector.find(key);
    }
    vector.finish();
    const auto op = given.text("op");
    refuse_unnamed_events(op, all_given.get_object());
    const auto found = plays.find(op);
    if (found == plays.end()) throw malformed("given.op: the runner does not know \"" + op + "\"");
    found->second(given, expect, so_far);
    for (const auto& [key, why] : unchecked_keys) expect.find(key);
    expect.finish();
}

}  // namespace

int main(int argc, char** argv)
{
    return run_suite({.system = "veyyon", .play = play_vector, .unchecked = unchecked_keys}, argc,
                     argv);
}
