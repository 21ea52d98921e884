// Stops a run that goes on for more than TURN_LIMIT calls of the model, 25 if that is not set.

#include <belay/modules/module.hpp>

#include <cstdlib>

using namespace belay::modules;

namespace {

void turn_limit(api& api)
{
    const char* set = std::getenv("TURN_LIMIT");
    const std::size_t limit = set != nullptr ? std::strtoul(set, nullptr, 10) : 25;
    api.on<turn_start>([limit](const turn_start& turn, handler_context here) {
        if (turn.turn_index < limit) return;
        here.ui().notify("The limit of turns is reached", notice::warning);
        here.abort();
    });
}

}  // namespace

BELAY_MODULE(turn_limit)
