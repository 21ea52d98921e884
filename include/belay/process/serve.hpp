#ifndef BELAY_PROCESS_SERVE_HPP
#define BELAY_PROCESS_SERVE_HPP

// The other side of a worker: a program that answers one event after the other.
//
//     int main()
//     {
//         return belay::process::serve([](std::string_view event) -> std::string {
//             return event.find("rm -rf") == event.npos ? "{}" : R"({"action":"block","message":"no"})";
//         });
//     }

#include <belay/config.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace belay::process {

/// Gets the bytes of an event, one JSON value, and returns those of its result, likewise. An empty result
/// is that of a program that prints nothing.
using service = std::function<std::string(std::string_view event)>;

/// Answers each event from stdin on stdout, in order, until stdin ends. Nothing else may write to stdout
/// meanwhile. Returns what `main` has to return: 0, or 1 after a line that is no request, an exception of
/// `answer`, or an error of the system; stderr says which.
[[nodiscard]] BELAY_DECL int serve(const service& answer);

}  // namespace belay::process

#if defined(BELAY_HEADER_ONLY)
#include <belay/process/impl/serve.ipp>
#endif

#endif
