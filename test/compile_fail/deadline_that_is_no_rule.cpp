// error: belay: the deadline of this event is no deadline_rule; make it static constexpr auto deadline = belay::shared_deadline(...), or belay::deadline_per_handler(...)
// prints: broken
#include "event.hpp"

struct broken {
    static constexpr std::string_view event_name = "broken";
    static constexpr auto deadline = std::chrono::milliseconds(50);
    using answer = std::variant<belay::observe>;
    using fold = belay::notify_fold<broken>;
};

void f(belay::chain<broken>& handlers)
{
    handlers.dispatch({});
}
