#ifndef BELAY_CORE_FAILURE_HPP
#define BELAY_CORE_FAILURE_HPP

// Who a handler is, and how one failed. What a failure *means* is said by the fold of its event.

#include <belay/core/error.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace belay {

/// Who put a handler there: the user's configuration, an extension, or the program that started this
/// one conversation. Folds are lenient with extensions, and with nobody else (spec: Vera, "When a
/// hook fails").
enum class origin : unsigned char { config, extension, conversation };

/// What people and folds know of a handler.
struct handler_info {
    std::string name{};                                  ///< shown to people
    origin from = origin::config;                        ///< the strict one unless said otherwise
    std::optional<std::chrono::milliseconds> timeout{};  ///< enforced by async_chain and observers
    std::size_t position = 0;  ///< from 1, among all of its event; set by the chain
};

/// That a handler failed, and how.
struct failure {
    errc code{};
    handler_info handler{};
    std::string message{};  ///< one sentence for a person
};

/// Names a handler of one chain, so that it can be removed. Never used twice by the same chain.
enum class handler_id : unsigned long long {};

}  // namespace belay

#endif
