#ifndef BELAY_CORE_TRACE_HPP
#define BELAY_CORE_TRACE_HPP

// What happened in a chain, handler by handler. Nothing is paid for it while no sink is attached.

#include <belay/core/answer.hpp>
#include <belay/core/failure.hpp>

#include <chrono>
#include <string_view>

namespace belay {

/// One handler's part in one dispatch. Everything it points to is valid only during the call.
struct trace_span {
    std::string_view event;  ///< E::event_name
    const handler_info& handler;
    bool matched;           ///< false: it is for events of other subjects
    bool ran;               ///< false, if it matched: an earlier one, or the deadline, came first
    std::string_view said;  ///< the answer's name; empty if it failed or did not run
    const failure* failed;  ///< how it failed, or null
    flow then;              ///< stop: this one decided
    std::chrono::nanoseconds took;  ///< from its call to its answer or its failure
};

/// Where a chain reports what its handlers did: one span for each handler of each dispatch, in
/// order. Called on the thread that runs the dispatch; must not throw.
class trace_sink {
public:
    virtual ~trace_sink() = default;
    virtual void on_span(const trace_span& span) noexcept = 0;
};

}  // namespace belay

#endif
