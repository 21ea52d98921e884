// error: belay: this event names no answer; add using answer = std::variant<belay::observe, ...>
// prints: broken
#include "event.hpp"

struct broken {
    static constexpr std::string_view event_name = "broken";
};

void f(belay::chain<broken>& handlers)
{
    handlers.dispatch({});
}
