#ifndef BELAY_PROCESS_EXIT_REPORT_HPP
#define BELAY_PROCESS_EXIT_REPORT_HPP

// What became of a run: how the child ended, and what it wrote.

#include <belay/core/error.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace belay::process {

/// How a child ended. An exit status and a signal number are never folded into one integer.
class exit_status {
public:
    /// Unknown: not started, not ended yet, or reaped by somebody else.
    constexpr exit_status() noexcept = default;

    static constexpr exit_status exited(int code) noexcept { return {kind::exited, code}; }
    static constexpr exit_status signalled(int number) noexcept
    {
        return {kind::signalled, number};
    }

    /// The exit status, 0 to 255, if the child exited by itself.
    constexpr std::optional<int> code() const noexcept
    {
        return kind_ == kind::exited ? std::optional(value_) : std::nullopt;
    }

    /// The signal, if one ended the child.
    constexpr std::optional<int> signal() const noexcept
    {
        return kind_ == kind::signalled ? std::optional(value_) : std::nullopt;
    }

    constexpr bool is_known() const noexcept { return kind_ != kind::unknown; }

    /// Whether it exited with 0.
    constexpr bool is_success() const noexcept { return *this == exited(0); }

    friend constexpr bool operator==(const exit_status&, const exit_status&) noexcept = default;

private:
    enum class kind : unsigned char { unknown, exited, signalled };

    constexpr exit_status(kind which, int value) noexcept : kind_(which), value_(value) {}

    kind kind_ = kind::unknown;
    int value_ = 0;
};

/// One run. Passed with every error code, too: then it holds what was known by that time.
struct exit_report {
    /// The child was started. If it was, and the status is unknown, `invocation::on_reaped` will tell it,
    /// unless the error is `errc::status_lost`.
    bool started = false;

    exit_status status;

    std::string out;  ///< stdout as it came: bytes that nobody has decoded yet (see utf8.hpp)
    std::string err;  ///< the first `limits::err` bytes of stderr; the cut may split a character

    std::size_t out_bytes =
        0;  ///< seen on stdout, more than `out` holds when it went over its limit
    std::size_t err_bytes =
        0;  ///< seen on stderr, more than `err` holds when it went over its limit

    /// From the call to the completion.
    std::chrono::nanoseconds duration{};

    /// Somebody still held stdout or stderr when the child had exited: a grandchild, or for a
    /// moment a program that another thread was just starting.
    bool pipe_still_open = false;

    /// The child was started, and by the time of the report its pipe had not taken the whole input:
    /// it closed its stdin, or ended, without reading it. (What the pipe had taken, up to its
    /// capacity, counts as read.)
    bool stdin_unread = false;

    /// The system's own error behind `spawn_failed`, `bad_cwd` and `busy`.
    error_code cause;

    /// For people: what was tried, on what, and what the system said. Empty unless nothing was
    /// started.
    std::string detail;
};

/// What became of a child that was still alive when its run was reported.
struct aftermath {
    exit_status status;  ///< unknown if something else took it

    /// It had not ended by the end of the grace, and SIGKILL was needed.
    bool hard_kill = false;
};

}  // namespace belay::process

#endif
