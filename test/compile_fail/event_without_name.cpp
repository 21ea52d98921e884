// error: belay: this event has no name; add static constexpr std::string_view event_name
// prints: broken
#include "event.hpp"

struct broken {
    using answer = std::variant<belay::observe, belay::block>;
};

void f(belay::chain<broken>& handlers)
{
    handlers.dispatch({});
}
