// error: belay: the fold of this event does not say what a failure means; add flow fail(failure&&, const handler_info&, draft<E>&)
// prints: broken
#include "event.hpp"

struct broken {
    static constexpr std::string_view event_name = "broken";
    using answer = std::variant<belay::observe, belay::block>;
    struct fold {
        belay::flow accept(belay::block&&, const belay::handler_info&, belay::draft<broken>&);
        bool finish(belay::draft<broken>&) &&;
    };
};

void f(belay::chain<broken>& handlers)
{
    handlers.dispatch({});
}
