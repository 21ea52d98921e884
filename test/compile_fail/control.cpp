// The same shapes as in the other files of this folder, made right: this one compiles.
#include "event.hpp"

void control()
{
    belay::chain<gate> handlers;
    handlers.add({.name = "void"}, [](const gate&) {});
    handlers.add({.name = "one"}, [](const gate&) { return belay::block{"no"}; });
    handlers.add({.name = "maybe"}, [](const gate&) { return std::optional<belay::block>(); });
    handlers.add({.name = "all"}, [](const gate&) -> gate::answer { return belay::observe{}; });
    handlers.dispatch({.text = "x"});

    belay::chain<note> notes;
    notes.add({.name = "void"}, [](const note&) {});
    notes.dispatch({.value = 1});

    auto fixed = belay::make_static_chain<gate>([](const gate&) { return belay::block{"no"}; });
    fixed.dispatch({.text = "x"});
}
