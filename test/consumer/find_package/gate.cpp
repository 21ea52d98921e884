#include <belay/core.hpp>

#include <string>

struct pre_commit {
    static constexpr std::string_view event_name = "pre_commit";
    using answer = std::variant<belay::observe, belay::block>;
    struct fold;
    std::string message;
};

struct pre_commit::fold {
    std::string blocked;
    belay::flow accept(belay::block&& said, const belay::handler_info&, belay::draft<pre_commit>&)
    {
        blocked = said.reason;
        return belay::flow::stop;
    }
    belay::flow fail(belay::failure&&, const belay::handler_info&, belay::draft<pre_commit>&) { return belay::flow::stop; }
    std::string finish(belay::draft<pre_commit>&) && { return blocked; }
};

int main()
{
    belay::chain<pre_commit> gate;
    gate.add({.name = "message"}, [](const pre_commit&) { return belay::block{"say what you changed"}; });
    return gate.dispatch({.message = ""}) == "say what you changed" ? 0 : 1;
}
