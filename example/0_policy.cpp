// The thirty lines of the README.

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
        if (boost::json::serialize(event.call.input).find("rm -rf") == std::string::npos) return {};
        return belay::block{"nothing is deleted here"};
    });

    gate.add({.name = "polite"}, [](const pre_tool_use& event) {
        auto input = event.call.input;
        input["nice"] = true;
        return pre_tool_use::mutate{std::move(input)};
    });

    // gate.add({.name = "wrong"}, [](const pre_tool_use&) { return false; });   does not compile:
    // "belay: this event does not accept what the handler returns; return nothing, one alternative ..."

    for (auto* command : {"ls", "rm -rf /"}) {
        auto outcome = gate.dispatch({.call = {"call_1", "bash", {{"command", command}}}});
        if (auto* stop = std::get_if<belay::block>(&outcome.decision)) {
            std::cout << command << ": blocked by " << outcome.decided_by << ", " << stop->reason << '\n';
        } else {
            std::cout << command << ": runs with " << boost::json::serialize(*outcome.input) << '\n';
        }
    }
}
