#ifndef BELAY_PROCESS_WORKER_TYPES_HPP
#define BELAY_PROCESS_WORKER_TYPES_HPP

// What a worker is told, and what it tells.

#include <belay/core/error.hpp>
#include <belay/process/exit_report.hpp>
#include <belay/process/invocation.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace belay::process {

/// The program, its surroundings, and the bounds within which it has to stay.
struct worker_options {
    /// The absolute path of the program, then its arguments.
    std::vector<std::string> argv{};

    /// Its working directory. Empty: the host's.
    std::string cwd{};

    /// Its whole environment, each element `NAME=value`. Absent: the host's.
    std::optional<std::vector<std::string>> environment{};

    /// For a program that has to end: between the end of its stdin and SIGTERM, and between that and
    /// SIGKILL. One that has failed gets SIGTERM first. Zero or less: SIGKILL at once.
    std::chrono::milliseconds grace{1000};

    /// How many bytes an event, a result, and stderr since the last answer may have. With a result over
    /// `out`, and with a line that is longer than such a result and `envelope_limit`, it has failed.
    process::limits limits{};

    /// How many requests it may have at a time (0 is 1). With more than one it may answer in any order,
    /// and must not mind seeing an event twice.
    std::size_t in_flight = 1;

    /// After that many requests a fresh one takes its place (0 is 1).
    std::size_t recycle_after = no_limit;

    /// It is ended when it had nothing to do for that long, and started again for the next request.
    std::optional<std::chrono::milliseconds> idle_timeout{};

    /// When it has failed, a fresh one is started at once; if that fails before it has given an answer, the
    /// next one this long after its start, then twice as long, up to `longest_pause`. To be overdue is to
    /// fail, so where requests have much time, a program that hangs is replaced without a pause. A request
    /// with less time than what is left of a pause fails at once, and so does any with a timeout where more
    /// than a second is left.
    std::chrono::milliseconds first_pause{100};
    std::chrono::milliseconds longest_pause{5000};
};

/// What a line of an answer may have beside its result: bytes.
inline constexpr std::size_t envelope_limit = 128;

/// Hears of the turns of a request, on the worker's executor: true when the program is given it; false when
/// that program has gone, and the request waits for another turn. Must not throw, and not use the worker.
using turn_listener = std::function<void(bool has_turn)>;

/// What became of a request. Passed with every error code, too.
struct worker_reply {
    /// The bytes of `result`: one JSON value. Empty if the answer has none.
    std::string result;

    /// With `errc::exited` and `errc::signalled`: how the program ended. With `errc::unavailable`: how the
    /// last one did, if that was seen.
    exit_status status;

    /// With an error: what the program wrote to stderr after its last answer, its last `limits::err`
    /// bytes. With `errc::unavailable`: the last program.
    std::string err;

    /// With an error, for people: what went wrong, and where a line was wrong, a piece of it.
    std::string detail;

    /// The system's own error behind `spawn_failed`, `bad_cwd` and `busy`.
    error_code cause;

    /// From the call to the completion. The wait for its turn is a part.
    std::chrono::nanoseconds duration{};
};

}  // namespace belay::process

#endif
