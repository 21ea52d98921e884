#include "hook_trace.hpp"

#include <chrono>
#include <string>

namespace agent {

void hook_trace::on_span(const belay::trace_span& span) noexcept
{
    using std::chrono::milliseconds;
    auto line = std::string(span.event) + ": " + span.handler.name;
    if (!span.matched) {
        line += " is not for this tool";
    } else if (!span.ran) {
        line += " was not asked";
    } else {
        line += span.failed ? " failed" : " said " + std::string(span.said);
        const auto took = std::chrono::round<milliseconds>(span.took);
        line += ", after " + std::to_string(took.count()) + " ms";
    }
    out_.line(2, dim("~ " + line));
    out_.flush();
}

}  // namespace agent
