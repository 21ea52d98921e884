#ifndef BELAY_PROCESS_DETAIL_LAUNCH_HPP
#define BELAY_PROCESS_DETAIL_LAUNCH_HPP

// Starts a child with pipes as its descriptors 0, 1 and 2, and says in words why it could not.

#include <belay/config.hpp>
#include <belay/core/error.hpp>
#include <belay/process/detail/child.hpp>
#include <belay/process/detail/file_descriptor.hpp>
#include <belay/process/detail/run_handler.hpp>

#include <optional>
#include <string>
#include <vector>

namespace belay::process::detail {

/// Why a child could not be started.
struct launch_fault {
    errc code;
    error_code cause;    ///< the system's
    std::string detail;  ///< for people
};

/// What the system cannot be given: no argv, a program that is not absolute, a NUL. Empty: nothing.
BELAY_DECL std::string invocation_fault(const std::vector<std::string>& argv,
                                        const std::string& cwd,
                                        const std::optional<std::vector<std::string>>& environment);

/// Descriptors 0, 1 and 2 of a child.
struct stdio_pipes {
    pipe_ends in;
    pipe_ends out;
    pipe_ends err;
};

/// A write to `in` does not block. A stream that is given `out` or `err` sees to that for itself.
BELAY_DECL std::optional<launch_fault> make_pipes(stdio_pipes& pipes, const std::string& program);

/// The pipes' ends stay the caller's, the child's among them. A null `spawn` stands for
/// `detail::spawn`.
BELAY_DECL std::optional<launch_fault> launch_child(
    child& started, const std::vector<std::string>& argv, const std::string& cwd,
    const std::optional<std::vector<std::string>>& environment, const stdio_pipes& pipes,
    spawner spawn);

}  // namespace belay::process::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/process/impl/launch.ipp>
#endif

#endif
