// error: belay: this event has no fold; add a struct fold that says how answers combine, or using fold = belay::notify_fold<E>
// prints: broken
#include "event.hpp"

struct broken {
    static constexpr std::string_view event_name = "broken";
    using answer = std::variant<belay::observe, belay::block>;
};

void f(belay::chain<broken>& handlers)
{
    handlers.dispatch({});
}
