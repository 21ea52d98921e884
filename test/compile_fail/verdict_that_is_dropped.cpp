// error: nodiscard
// prints: a gate that nobody heeds stops nothing
#pragma GCC diagnostic error "-Wunused-result"
#include <belay/core.hpp>
#include <belay/hooks/tool_events.hpp>

void f(belay::chain<belay::hooks::pre_tool_use>& gate)
{
    gate.dispatch({.call = {"call_1", "bash", {}}});
}
