#ifndef BELAY_HOOKS_IMPL_SESSION_EVENTS_IPP
#define BELAY_HOOKS_IMPL_SESSION_EVENTS_IPP

#include <belay/hooks/session_events.hpp>

#include <string>
#include <utility>

namespace belay::hooks {

BELAY_DECL std::string_view session_start::fold::invalid(const mutate& said,
                                                         const handler_info&) const
{
    return said.context.size() > context_limit ? "session_start context exceeds 128 KiB" : "";
}

BELAY_DECL flow session_start::fold::accept(mutate&& said, const handler_info& hook,
                                            draft<session_start>&)
{
    if (!said.context.empty()) {
        concluded_.contributions.push_back({hook.position, hook.name, std::move(said.context)});
    }
    return flow::proceed;
}

BELAY_DECL flow session_start::fold::fail(failure&& why, const handler_info&, draft<session_start>&)
{
    concluded_.failures.push_back(std::move(why));
    return flow::proceed;
}

BELAY_DECL session_start::outcome session_start::fold::finish(draft<session_start>&) &&
{
    return std::move(concluded_);
}

BELAY_DECL std::string session_start::outcome::message() const
{
    std::string text;
    for (const auto& one : contributions) {
        if (!text.empty()) text += "\n\n";
        text += "## Session start hook " + std::to_string(one.position) + "\n\n" + one.context;
    }
    return text;
}

}  // namespace belay::hooks

#endif
