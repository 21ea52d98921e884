#ifndef BELAY_MODULES_EVENT_RULES_HPP
#define BELAY_MODULES_EVENT_RULES_HPP

// The fold of the events of which a handler may return a result, and the last one counts.

#include <belay/core/event.hpp>

#include <optional>
#include <string>
#include <utility>

namespace belay::modules {

/// What the handlers of an event said of which the last answer counts.
template <class R>
struct last_result {
    bool cancelled = true;     ///< it is not to happen; so also if the dispatch failed
    std::optional<R> said{};   ///< the last answer, whole; none if nobody gave one
    std::string decided_by{};  ///< the module that gave it
};

/// The last answer counts, whole: it is not merged with earlier ones, and an empty one takes back what
/// they said. `cancel` ends the dispatch. A failing handler has no opinion.
template <class E, class R>
struct last_result_fold {
    flow accept(R&& said, const handler_info& who, draft<E>&)
    {
        concluded_.said = std::move(said);
        concluded_.decided_by = who.name;
        return cancels() ? flow::stop : flow::proceed;
    }

    flow fail(failure&&, const handler_info&, draft<E>&) { return flow::proceed; }

    last_result<R> finish(draft<E>&) &&
    {
        concluded_.cancelled = cancels();
        return std::move(concluded_);
    }

private:
    bool cancels() const
    {
        if constexpr (requires(const R& said) { said.cancel; }) {
            return concluded_.said && concluded_.said->cancel;
        } else {
            return false;
        }
    }

    last_result<R> concluded_;
};

}  // namespace belay::modules

#endif
