#ifndef BELAY_HOOKS_HOST_FUNCTION_HPP
#define BELAY_HOOKS_HOST_FUNCTION_HPP

// What a session asks its host: may this call run, run it (<belay/hooks/run_tools.hpp>), ask the
// model (<belay/hooks/ask.hpp>).

#include <belay/core/host_function.hpp>
#include <belay/hooks/tool.hpp>

namespace belay::hooks {

/// A function of the host that is asked about a tool call, unless it says otherwise.
template <class T, class Asked = tool_call>
using host_function = belay::host_function<T, Asked>;

using belay::host_reply;

namespace detail {

using belay::detail::host_call;

}  // namespace detail
}  // namespace belay::hooks

#endif
