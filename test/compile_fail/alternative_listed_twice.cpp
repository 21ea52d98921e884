// error: belay: E::answer lists the same alternative twice; give each meaning a type of its own
// prints: broken
#include "event.hpp"

struct broken {
    static constexpr std::string_view event_name = "broken";
    using answer = std::variant<belay::observe, belay::block, belay::block>;
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
