#ifndef BELAY_PROCESS_INVOCATION_HPP
#define BELAY_PROCESS_INVOCATION_HPP

// What to run: a program, its surroundings, and the bounds within which it has to stay.

#include <belay/config.hpp>
#include <belay/core/error.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace belay::process {

struct aftermath;

/// A bound that is never reached.
inline constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

// The bounds that hooks have (spec: Vera, "When a hook fails"). A byte is a UTF-8 byte.
inline constexpr std::size_t argv_elements_limit = 16;  ///< the program is one of them
inline constexpr std::size_t argv_json_limit = 8192;    ///< bytes of argv written as compact JSON
inline constexpr std::size_t input_limit = 256 * 1024;  ///< bytes of stdin
inline constexpr std::size_t out_limit = 64 * 1024;     ///< bytes of stdout
inline constexpr std::size_t err_limit = 64 * 1024;     ///< bytes of stderr that are kept

/// How many bytes may pass. Exactly the bound is allowed.
struct limits {
    std::size_t input = input_limit;  ///< over it: `errc::input_too_large`, and nothing is started
    std::size_t out = out_limit;      ///< over it: `errc::output_too_large`, and the child is ended
    std::size_t err = err_limit;      ///< what is over it is read and dropped; never a failure

    /// No bound at all. The memory of the host is then the child's to fill.
    static constexpr limits none() noexcept { return {no_limit, no_limit, no_limit}; }
};

/// One run of a program. No shell, no search in PATH, no expansion of anything.
struct invocation {
    /// The absolute path of the program, then its arguments.
    std::vector<std::string> argv;

    /// Its working directory. Empty: the host's.
    std::string cwd;

    /// Its whole environment, each element `NAME=value`. Absent: the host's.
    std::optional<std::vector<std::string>> environment;

    /// From the call of `async_run` to its completion. Absent: no limit. Zero or less: over at
    /// once.
    std::optional<std::chrono::milliseconds> timeout;

    /// Between SIGTERM and SIGKILL for a group that has to end. Zero or less: SIGKILL at once.
    std::chrono::milliseconds grace{1000};

    /// How many bytes may pass.
    process::limits limits;

    /// Called once, on the operation's executor, when a child whose report came without its status
    /// (it timed out, wrote too much, was cancelled) was reaped. Not called when the context is
    /// destroyed.
    std::function<void(const aftermath&)> on_reaped;
};

/// The bytes that `argv` takes as compact JSON in UTF-8, brackets and quotes included.
[[nodiscard]] BELAY_DECL std::size_t json_size(const std::vector<std::string>& argv) noexcept;

/// Whether a hook may have this argv: 1 to 16 elements, none empty, no NUL, at most 8 KiB as JSON
/// (spec: Vera, "Limits"). The diagnosis is `errc::invalid_argv` and names the element. `async_run`
/// itself only asks for what the system needs: a first element, which is an absolute path, and no NUL.
[[nodiscard]] BELAY_DECL checked<void> check_argv(const std::vector<std::string>& argv);

}  // namespace belay::process

#if defined(BELAY_HEADER_ONLY)
#include <belay/process/impl/invocation.ipp>
#endif

#endif
