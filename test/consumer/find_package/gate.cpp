#include <belay/core.hpp>

struct pre_commit {
    static constexpr std::string_view event_name = "pre_commit";
    using answer = std::variant<belay::observe, belay::block>;
    struct fold {
        using info = belay::handler_info;
        using draft = belay::draft<pre_commit>;
        belay::flow accept(belay::block&& why, const info&, draft&) { return said = why.reason, belay::flow::stop; }
        belay::flow fail(belay::failure&& why, const info&, draft&) { return said = why.message, belay::flow::stop; }
        std::string finish(draft&) && { return said; }
        std::string said;
    };
};
int main()
{
    belay::chain<pre_commit> gate;
    gate.add({.name = "no"}, [](const pre_commit&) { return belay::block{"not today"}; });
    return gate.dispatch({}) == "not today" ? 0 : 1;
}
