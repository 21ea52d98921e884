// error: belay: the fold of this event has no outcome; add outcome finish(draft<E>&) && with an outcome that is default-constructible
// prints: broken
#include "event.hpp"

struct broken {
    static constexpr std::string_view event_name = "broken";
    using answer = std::variant<belay::observe, belay::block>;
    struct fold {
        belay::flow accept(belay::block&&, const belay::handler_info&, belay::draft<broken>&);
        belay::flow fail(belay::failure&&, const belay::handler_info&, belay::draft<broken>&);
    };
};

void f(belay::chain<broken>& handlers)
{
    handlers.dispatch({});
}
