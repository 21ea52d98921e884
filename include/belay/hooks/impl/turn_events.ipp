#ifndef BELAY_HOOKS_IMPL_TURN_EVENTS_IPP
#define BELAY_HOOKS_IMPL_TURN_EVENTS_IPP

#include <belay/hooks/text_rules.hpp>
#include <belay/hooks/turn_events.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace belay::hooks {

BELAY_DECL std::string_view pre_turn::fold::invalid(const block& said, const handler_info&) const
{
    return said.reason.empty() ? "pre_turn block reason must be a non-empty string" : "";
}

BELAY_DECL std::string_view pre_turn::fold::invalid(const mutate& said, const handler_info&) const
{
    const auto empty = [](const std::string& text) { return text.empty(); };
    if (said.context && said.context->size() > context_limit) {
        return "pre_turn context exceeds 128 KiB";
    }
    if (said.tools && std::ranges::any_of(*said.tools, empty)) {
        return "pre_turn mutate tools must be an array of non-empty strings";
    }
    if (said.model && said.model->empty()) {
        return "pre_turn mutate model must be a non-empty string";
    }
    if (said.reasoning_effort && said.reasoning_effort->empty()) {
        return "pre_turn mutate reasoningEffort must be a non-empty string";
    }
    if (said.display && !is_display_line(*said.display)) {
        return "pre_turn display must be one line of at most 200 characters";
    }
    return "";
}

BELAY_DECL flow pre_turn::fold::accept(block&& said, const handler_info& hook,
                                       draft<pre_turn>& event)
{
    return end(std::move(said), hook, event);
}

BELAY_DECL flow pre_turn::fold::accept(mutate&& said, const handler_info& hook,
                                       draft<pre_turn>& event)
{
    concluded_.mutated = true;
    bool changed = false;
    if (said.tools) {
        // Only narrower: a name that is not offered is dropped.
        const auto& offered = event.view().tools;
        std::erase_if(*said.tools, [&](const std::string& name) {
            return std::ranges::find(offered, name) == offered.end();
        });
        event.edit().tools = *std::move(said.tools);
        narrowed_ = changed = true;
    }
    if (event.view().first_of_turn && !event.view().arrived_during_turn) {
        changed = changed || said.model || said.reasoning_effort;
        if (said.model) event.edit().model = *(concluded_.model = std::move(said.model));
        if (said.reasoning_effort) {
            event.edit().reasoning_effort = concluded_.reasoning_effort =
                std::move(said.reasoning_effort);
        }
    }
    if (changed) concluded_.changed_by.push_back(hook.name);
    if (said.context && !said.context->empty()) {
        concluded_.contexts.push_back(
            {hook.name, *std::move(said.context), std::move(said.display).value_or(std::string())});
    }
    return flow::proceed;
}

BELAY_DECL flow pre_turn::fold::fail(failure&& why, const handler_info& hook,
                                     draft<pre_turn>& event)
{
    if (hook.from == origin::extension) {
        concluded_.ignored.push_back(std::move(why));
        return flow::proceed;
    }
    end(block{why.message}, hook, event);
    concluded_.failed = std::move(why);
    return flow::stop;
}

BELAY_DECL pre_turn::outcome pre_turn::fold::finish(draft<pre_turn>& event) &&
{
    if (narrowed_) concluded_.tools = std::move(event.edit().tools);
    return std::move(concluded_);
}

BELAY_DECL flow pre_turn::fold::end(block&& why, const handler_info& hook, draft<pre_turn>& event)
{
    event.reset();
    narrowed_ = false;
    concluded_ = outcome{.blocked = std::move(why),
                         .decided_by = hook.name,
                         .ignored = std::move(concluded_.ignored)};
    return flow::stop;
}

BELAY_DECL std::string_view turn_ending::fold::invalid(const continue_turn& said,
                                                       const handler_info&) const
{
    if (said.context.empty()) return "turn_ending continue context must not be empty";
    if (said.context.size() > context_limit) return "turn_ending context exceeds 128 KiB";
    if (said.display && !is_display_line(*said.display)) {
        return "turn_ending display must be one line of at most 200 characters";
    }
    return "";
}

BELAY_DECL flow turn_ending::fold::accept(continue_turn&& said, const handler_info& hook,
                                          draft<turn_ending>& event)
{
    // A turn gets one continuation: afterwards this is ignored, and stops nobody.
    if (event.view().continuations != 0) return flow::proceed;
    concluded_.continuation = {hook.name, std::move(said.context),
                               std::move(said.display).value_or(std::string())};
    return flow::stop;
}

BELAY_DECL flow turn_ending::fold::fail(failure&& why, const handler_info& hook,
                                        draft<turn_ending>&)
{
    if (hook.from == origin::extension) {
        concluded_.ignored.push_back(std::move(why));
        return flow::proceed;
    }
    concluded_.failed = std::move(why);
    return flow::stop;
}

BELAY_DECL turn_ending::outcome turn_ending::fold::finish(draft<turn_ending>&) &&
{
    return std::move(concluded_);
}

BELAY_DECL std::string pre_turn::outcome::blocked_text() const
{
    if (failed) return "pre_turn hook failed: " + failed->message;
    return blocked ? "pre_turn hook blocked this turn: " + blocked->reason : std::string();
}

}  // namespace belay::hooks

#endif
