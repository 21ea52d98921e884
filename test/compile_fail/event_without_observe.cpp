// error: belay: the first alternative of E::answer must be belay::observe
// prints: broken
#include "event.hpp"

struct broken {
    static constexpr std::string_view event_name = "broken";
    using answer = std::variant<belay::block, belay::observe>;
};

void f(belay::chain<broken>& handlers)
{
    handlers.dispatch({});
}
