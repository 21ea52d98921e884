// Shows in the status line how many turns the agent has taken, and how many tools have run.

#include <belay/modules/module.hpp>

using namespace belay::modules;

namespace {

struct counts {
    int turns = 0;
    int tools = 0;

    void show(const handler_context& here) const
    {
        here.ui().set_status(
            "progress", "turn " + std::to_string(turns) + ", " + std::to_string(tools) + " tools");
    }
};

void status_line(api& api)
{
    // Not a global: each conversation calls this once, and counts for itself.
    const auto so_far = std::make_shared<counts>();

    api.on<turn_start>([so_far](const turn_start&, handler_context here) {
        ++so_far->turns;
        so_far->show(here);
    });
    api.on<tool_result>([so_far](const tool_result&, handler_context here) {
        ++so_far->tools;
        so_far->show(here);
    });
}

}  // namespace

BELAY_MODULE(status_line)
