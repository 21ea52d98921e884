// Folds that are final, and whose invalid() returns a string: these compile.
#include "event.hpp"

struct solid {
    static constexpr std::string_view event_name = "solid";
    static constexpr auto deadline = belay::shared_deadline(std::chrono::seconds(1));
    using answer = std::variant<belay::observe, belay::block>;
    struct fold final {
        std::string invalid(const belay::block& said, const belay::handler_info&) const
        {
            return said.reason.empty() ? "a block of this event needs a reason" : "";
        }
        belay::flow accept(belay::block&&, const belay::handler_info&, belay::draft<solid>&)
        {
            return belay::flow::stop;
        }
        belay::flow fail(belay::failure&&, const belay::handler_info&, belay::draft<solid>&)
        {
            return belay::flow::stop;
        }
        bool finish(belay::draft<solid>&) && { return true; }
    };
};

void control()
{
    belay::chain<solid> handlers;
    handlers.add({.name = "one"}, [](const solid&) { return belay::block{"no"}; });
    handlers.dispatch({});
}
