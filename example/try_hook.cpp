// Runs the hooks of a home on one event, without an agent: shows what each said, and what they
// concluded.
//
//     try_hook HOME EVENT.json
//
// HOME/config.json names the hooks. EVENT.json is a payload as the vera protocol has it; its `type`
// says of which phase. The exit status is 0 also if a hook failed, and 2 if one of the two files
// cannot be used.

#include <belay/hooks/config_file.hpp>
#include <belay/hooks/registry.hpp>
#include <belay/hooks/transcript.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <boost/json/value_to.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

using namespace belay::hooks;
namespace json = boost::json;

namespace {

struct bad_input : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The fields of an object, each to be taken once.
class fields {
public:
    fields(json::value value, std::string where) : where_(std::move(where))
    {
        if (!value.is_object()) refuse("", "must be an object");
        left_ = std::move(value.get_object());
    }

    template <class T>
    void operator()(const char* key, T& into)
    {
        if (!left_.contains(key)) refuse(key, "is missing");
        auto taken = json::try_value_to<T>(left_.at(key));
        if (!taken) refuse(key, "cannot be used: " + taken.error().message());
        into = *std::move(taken);
        left_.erase(key);
    }

    template <class T>
    void operator()(const char* key, std::optional<T>& into)
    {
        if (left_.contains(key)) (*this)(key, into.emplace());
    }

    template <class Enum>
    void operator()(const char* key, Enum& into, std::initializer_list<const char*> names)
    {
        std::string name;
        (*this)(key, name);
        const auto* found = std::ranges::find(names, name);
        if (found == names.end()) {
            std::string known;
            for (const auto* one : names) known += (known.empty() ? "" : ", ") + std::string(one);
            refuse(key, "is one of " + known + ", not \"" + name + '"');
        }
        into = static_cast<Enum>(found - names.begin());
    }

    fields inner(const char* key)
    {
        json::value value;
        (*this)(key, value);
        return {std::move(value), path(key)};
    }

    void end() const
    {
        if (!left_.empty()) refuse(std::string(left_.begin()->key()), "is no field of this event");
    }

    [[noreturn]] void refuse(const std::string& key, const std::string& why) const
    {
        throw bad_input(path(key) + ' ' + why);
    }

private:
    std::string path(const std::string& key) const
    {
        return key.empty() ? where_ : where_ + (where_.ends_with(':') ? " " : ".") + key;
    }

    std::string where_;
    json::object left_;
};

template <class E>
void read_tool_event(fields& from, E& into)
{
    auto call = from.inner("toolCall");
    call("id", into.call.id);
    call("name", into.call.name);
    call("input", into.call.input);
    call.end();
    from("sessionId", into.session_id);
    from("workspace", into.workspace);
}

void read(fields& from, pre_tool_use& into)
{
    read_tool_event(from, into);
}

void read(fields& from, post_tool_use& into)
{
    read_tool_event(from, into);
    tool_call same;
    auto result = from.inner("result");
    result("toolCallId", same.id);
    result("toolName", same.name);
    if (same.id != into.call.id) result.refuse("toolCallId", "is not that of the call");
    if (same.name != into.call.name) result.refuse("toolName", "is not that of the call");
    result("content", into.result.content);
    result("isError", into.result.is_error);
    result.end();
    double milliseconds = 0;
    from("durationMs", milliseconds);
    into.duration = std::chrono::duration<double, std::milli>(milliseconds);
}

template <class E>
void read_session(fields& from, E& into)
{
    from("sessionId", into.session_id);
    from("workspace", into.workspace);
}

void read(fields& from, session_start& into)
{
    read_session(from, into);
    from("reason", into.reason, {"start", "resume", "compacted"});
}

void read(fields& from, pre_turn& into)
{
    read_session(from, into);
    from("prompt", into.prompt);
    from("model", into.model);
    from("reasoningEffort", into.reasoning_effort);
    from("tools", into.tools);
    from("arrivedDuringTurn", into.arrived_during_turn);
    from("spawned", into.spawned);
}

void read(fields& from, turn_ending& into)
{
    read_session(from, into);
    from("prompt", into.prompt);
    from("reply", into.reply);
    from("spawned", into.spawned);
    from("continuations", into.continuations);
}

void read(fields& from, pre_compact& into)
{
    read_session(from, into);
    from("reason", into.reason, {"manual", "automatic"});
    from("tokens", into.tokens);
    from("capacity", into.capacity);
    from("spawned", into.spawned);
}

void read(fields& from, session_end& into)
{
    read_session(from, into);
    from("reason", into.reason, {"detached", "closed", "idle", "deleted", "shutdown"});
    from("turns", into.turns);
    from("spawned", into.spawned);
}

void read(fields& from, subagent_finished& into)
{
    from("parentSessionId", into.parent_session_id);
    from("subagentId", into.subagent_id);
    from("workspace", into.workspace);
    from("background", into.background);
    from("outcome", into.outcome, {"completed", "error"});
    from("text", into.text);
}

void say(const pre_tool_use::outcome& said)
{
    if (said.input) std::cout << "the input becomes " << serialize(*said.input) << '\n';
    if (const auto* stop = std::get_if<belay::block>(&said.decision)) {
        std::cout << "the call is blocked: " << stop->reason << '\n';
    } else if (const auto* given = std::get_if<pre_tool_use::replace>(&said.decision)) {
        std::cout << "the tool does not run; its result is " << serialize(given->result.content)
                  << (given->result.is_error ? ", an error\n" : "\n");
    } else {
        std::cout << "the call goes on to the permission check\n";
    }
}

void say(const post_tool_use::outcome& said)
{
    if (!said.result) {
        std::cout << "the result stays as it is\n";
    } else {
        std::cout << "the result becomes " << serialize(said.result->content)
                  << (said.result->is_error ? ", an error\n" : "\n");
    }
}

void say(const session_start::outcome& said)
{
    const auto text = said.message();
    std::cout << (text.empty() ? "nothing is added" : "this is added:\n\n" + text) << '\n';
}

void say(const pre_turn::outcome& said)
{
    if (said.blocked) {
        std::cout << said.blocked_text() << '\n';
        return;
    }
    if (said.tools) std::cout << "the tools are " << json::value_from(*said.tools) << '\n';
    if (said.model) std::cout << "the model is " << *said.model << '\n';
    if (said.reasoning_effort) {
        std::cout << "the reasoning effort is " << *said.reasoning_effort << '\n';
    }
    for (const auto& one : said.contexts) {
        std::cout << added_context_row(one).line() << ": " << one.context << '\n';
    }
    std::cout << "the turn begins\n";
}

void say(const turn_ending::outcome& said)
{
    if (said.continuation) {
        std::cout << continued_turn_row(*said.continuation).line() << ": "
                  << said.continuation->context << '\n';
    } else {
        std::cout << "the turn ends\n";
    }
}

// One line for each hook.
class printer final : public belay::trace_sink {
public:
    void on_span(const belay::trace_span& span) noexcept override
    {
        std::cout << span.handler.name << ": ";
        if (!span.matched) {
            std::cout << "not for this tool\n";
        } else if (!span.ran) {
            std::cout << "not asked\n";
        } else {
            std::cout << (span.failed ? "failed: " + span.failed->message : std::string(span.said))
                      << " (" << std::chrono::round<std::chrono::milliseconds>(span.took).count()
                      << " ms)\n";
        }
    }
};

template <class E>
void try_event(fields& from, const config& configured)
{
    E event;
    read(from, event);
    from.end();
    const auto all = configured.executables();
    if (std::ranges::find(*all, phase_of<E>, &executable::when) == all->end()) {
        std::cout << "no hook is configured for " << E::event_name << '\n';
    }

    boost::asio::io_context loop;
    printer shown;
    std::optional<registry> hooks(std::in_place, loop.get_executor(),
                                  registry_options{.trace = &shown});
    hooks->use(std::make_shared<const config>(configured)).value();
    // A worker would keep the loop at work for as long as the registry is there.
    if constexpr (belay::notification<E>) {
        hooks->notify(std::move(event));
        hooks->async_drain(2 * timeout_limit,
                           [&](belay::error_code, std::size_t) { hooks.reset(); });
    } else {
        hooks->async_dispatch(std::move(event), [&](belay::error_code error, const auto& outcome) {
            error ? void(std::cout << error.message() << '\n') : say(outcome);
            hooks.reset();
        });
    }
    loop.run();
}

template <std::size_t... I>
void try_phase(phase which, fields& from, const config& configured, std::index_sequence<I...>)
{
    const auto run = [&]<class E>(std::type_identity<E>) {
        if (phase_of<E> == which) try_event<E>(from, configured);
    };
    (run(std::type_identity<std::tuple_element_t<I, phase_events>>()), ...);
}

void try_hook(const std::filesystem::path& home, const std::string& file)
{
    config_file configured(home / "config.json");
    if (!exists(configured.path())) throw bad_input(configured.path().string() + " is missing");
    if (const auto loaded = configured.load(); !loaded) throw bad_input(loaded.error().message);
    if (const auto hooks = configured.current()->executables(); !hooks) {
        throw bad_input(hooks.error().message);
    }
    for (const auto& one : configured.current()->warnings())
        std::cerr << "warning: " << one << '\n';

    std::ifstream in(file, std::ios::binary);
    if (!in || std::filesystem::is_directory(file)) throw bad_input(file + " cannot be read");
    const std::string text(std::istreambuf_iterator<char>(in), {});

    belay::error_code not_json;
    auto document = json::parse(text, not_json);
    if (not_json) throw bad_input(file + " is not JSON: " + not_json.message());

    fields event(std::move(document), file + ":");
    std::string type;
    event("type", type);
    const auto which = phase_named(type);
    if (!which) event.refuse("type", "is no phase of executables: \"" + type + '"');
    try_phase(*which, event, *configured.current(), std::make_index_sequence<phase_count>());
}

}  // namespace

int main(int argc, char** argv)
{
    const bool help = argc == 1 || (argc == 2 && std::string_view(argv[1]) == "--help");
    if (argc != 3) {
        (help ? std::cout : std::cerr) << "usage: try_hook HOME EVENT.json\n\n"
                                          "Runs the hooks that HOME/config.json names on the "
                                          "event, and shows what they say.\n";
        return help ? 0 : 2;
    }
    try {
        try_hook(argv[1], argv[2]);
    } catch (const std::exception& why) {
        std::cerr << "try_hook: " << why.what() << '\n';
        return 2;
    }
}
