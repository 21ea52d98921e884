#ifndef BELAY_EXAMPLE_AGENT_HOOK_TRACE_HPP
#define BELAY_EXAMPLE_AGENT_HOOK_TRACE_HPP

#include <belay/core/trace.hpp>

#include "terminal.hpp"

namespace agent {

/// Prints what each hook said.
class hook_trace final : public belay::trace_sink {
public:
    explicit hook_trace(terminal& out) : out_(out) {}

    void on_span(const belay::trace_span& span) noexcept override;

private:
    terminal& out_;
};

}  // namespace agent

#endif
