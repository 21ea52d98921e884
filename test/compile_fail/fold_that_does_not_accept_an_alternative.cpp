// error: belay: the fold of this event does not accept one of its alternatives; add flow accept(Alternative&&, const handler_info&, draft<E>&)
// prints: broken
// prints: patch
#include "event.hpp"

struct broken {
    static constexpr std::string_view event_name = "broken";
    using answer = std::variant<belay::observe, belay::block, patch>;
    struct fold {
        belay::flow accept(belay::block&&, const belay::handler_info&, belay::draft<broken>&);
        belay::flow fail(belay::failure&&, const belay::handler_info&, belay::draft<broken>&);
        bool finish(belay::draft<broken>&) &&;
    };
};

void f(belay::chain<broken>& handlers)
{
    handlers.dispatch({});
}
