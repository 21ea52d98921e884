// error: belay: the fold of this event has an invalid() that fits none of its alternatives; make it std::string_view invalid(const Alternative&, const handler_info&) const
// prints: broken
#include "event.hpp"

struct broken {
    static constexpr std::string_view event_name = "broken";
    using answer = std::variant<belay::observe, belay::block>;
    struct fold {
        std::string_view invalid(const belay::block&) const;  // lacks the handler_info
        belay::flow accept(belay::block&&, const belay::handler_info&, belay::draft<broken>&);
        belay::flow fail(belay::failure&&, const belay::handler_info&, belay::draft<broken>&);
        bool finish(belay::draft<broken>&) &&;
    };
};

void f(belay::chain<broken>& handlers)
{
    handlers.dispatch({});
}
