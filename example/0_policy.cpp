#include <belay/core.hpp>
#include <belay/hooks/tool_events.hpp>

#include <boost/json/serialize.hpp>

#include <iostream>

using belay::hooks::pre_tool_use;

int main()
{
    belay::chain<pre_tool_use> gate;

    // A handler says what it thinks by what it returns: nothing, or an answer of its event.
    gate.add({.name = "guard"}, [](const pre_tool_use& event) -> std::optional<belay::block> {
        if (serialize(event.call.input).find("rm -rf") == std::string::npos) return {};
        return belay::block{"nothing is deleted here"};
    });
    gate.add({.name = "polite"}, [](const pre_tool_use& event) {
        auto input = event.call.input;
        input["nice"] = true;
        return pre_tool_use::mutate{std::move(input)};
    });
    // gate.add({}, [](const pre_tool_use&) { return false; });  does not compile, and says why

    for (auto* command : {"ls", "rm -rf /"}) {
        auto outcome = gate.dispatch({.call = {"call_1", "bash", {{"command", command}}}});
        if (auto* stop = std::get_if<belay::block>(&outcome.decision)) {
            std::cout << outcome.decided_by << " blocked it: " << stop->reason << '\n';
        } else {
            std::cout << "run it with " << serialize(*outcome.input) << '\n';
        }
    }
}
