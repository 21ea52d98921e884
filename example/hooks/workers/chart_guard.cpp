// pre_tool_use, as a worker: charts are never deleted. The event is the payload that a program which runs
// once finds on its stdin, and the result what that would print.

#include <belay/process/serve.hpp>

#include <string>
#include <string_view>

int main()
{
    return belay::process::serve([](std::string_view event) -> std::string {
        const auto command = event.find("\"command\":");
        const auto removal = event.find("rm ", command);
        if (command == event.npos || removal == event.npos ||
            event.find("charts/", removal) == event.npos)
            return R"({"power":"observe"})";
        return R"({"power":"block","reason":"Charts are never deleted."})";
    });
}
