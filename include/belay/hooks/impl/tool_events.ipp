#ifndef BELAY_HOOKS_IMPL_TOOL_EVENTS_IPP
#define BELAY_HOOKS_IMPL_TOOL_EVENTS_IPP

#include <belay/hooks/tool_events.hpp>

#include <string>
#include <utility>

namespace belay::hooks {

BELAY_DECL std::string_view pre_tool_use::fold::invalid(const block& said,
                                                        const handler_info&) const
{
    return said.reason.empty() ? "pre_tool_use block reason must be a non-empty string" : "";
}

BELAY_DECL std::string_view pre_tool_use::fold::invalid(const replace& said,
                                                        const handler_info&) const
{
    return is_text_only(said.result.content)
               ? ""
               : "pre_tool_use replacement content items must be text content";
}

BELAY_DECL flow pre_tool_use::fold::accept(mutate&& said, const handler_info& hook,
                                           draft<pre_tool_use>& event)
{
    event.edit().call.input = std::move(said.input);
    concluded_.changed_by.push_back(hook.name);
    return flow::proceed;
}

BELAY_DECL flow pre_tool_use::fold::accept(block&& said, const handler_info& hook,
                                           draft<pre_tool_use>&)
{
    return decide(std::move(said), hook);
}

BELAY_DECL flow pre_tool_use::fold::accept(replace&& said, const handler_info& hook,
                                           draft<pre_tool_use>&)
{
    return decide(std::move(said), hook);
}

BELAY_DECL flow pre_tool_use::fold::fail(failure&& why, const handler_info& hook,
                                         draft<pre_tool_use>& event)
{
    if (hook.from == origin::extension) {
        concluded_.ignored.push_back(std::move(why));
        return flow::proceed;
    }
    event.reset();  // the original input is kept
    concluded_.changed_by.clear();
    decide(block{"pre_tool_use hook failed: " + why.message}, hook);
    concluded_.failed = std::move(why);
    return flow::stop;
}

BELAY_DECL pre_tool_use::outcome pre_tool_use::fold::finish(draft<pre_tool_use>& event) &&
{
    if (event.edited()) concluded_.input = std::move(event.edit().call.input);
    return std::move(concluded_);
}

BELAY_DECL std::string_view post_tool_use::fold::invalid(const mutate& said,
                                                         const handler_info&) const
{
    return !said.content || is_text_only(*said.content)
               ? ""
               : "post_tool_use mutate patch content items must be text content";
}

BELAY_DECL flow post_tool_use::fold::accept(mutate&& said, const handler_info& hook,
                                            draft<post_tool_use>& event)
{
    if (!said.content && !said.is_error) return flow::proceed;
    auto& patched = event.edit().result;
    if (said.content) patched.content = *std::move(said.content);
    if (said.is_error) patched.is_error = *said.is_error;
    concluded_.patched_by.push_back(hook.name);
    return flow::proceed;
}

BELAY_DECL flow post_tool_use::fold::fail(failure&& why, const handler_info& hook,
                                          draft<post_tool_use>& event)
{
    if (hook.from == origin::extension) {
        concluded_.ignored.push_back(std::move(why));
        return flow::proceed;
    }
    event.reset();  // the tool's own result is kept
    concluded_.patched_by.clear();
    concluded_.failed = std::move(why);
    return flow::stop;
}

BELAY_DECL post_tool_use::outcome post_tool_use::fold::finish(draft<post_tool_use>& event) &&
{
    if (event.edited()) concluded_.result = std::move(event.edit().result);
    return std::move(concluded_);
}

}  // namespace belay::hooks

#endif
