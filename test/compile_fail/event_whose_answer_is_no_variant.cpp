// error: belay: E::answer must be a std::variant of what a handler may say
// prints: broken
#include "event.hpp"

struct broken {
    static constexpr std::string_view event_name = "broken";
    using answer = belay::block;
};

void f(belay::chain<broken>& handlers)
{
    handlers.dispatch({});
}
