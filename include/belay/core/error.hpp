#ifndef BELAY_CORE_ERROR_HPP
#define BELAY_CORE_ERROR_HPP

// Every way in which a hook, or the engine around it, can fail.

#include <belay/config.hpp>

#include <boost/assert/source_location.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

#include <string>
#include <type_traits>

namespace belay {

/// What operations complete with. Its category is `error_category()`, or the system's.
using error_code = boost::system::error_code;

/// A value, or the error that stands in its place.
template <class T>
using result = boost::system::result<T>;

/// What went wrong. Zero is success and has no name here.
enum class errc {
    // starting an executable
    spawn_failed = 1,  ///< it could not be started: missing, not executable, no resources
    bad_cwd,           ///< its working directory does not exist or cannot be entered
    busy,              ///< its file is still open for writing (ETXTBSY), also after a short retry
    invalid_argv,  ///< argv is empty, too long, holds a NUL, or does not start with an absolute path
    input_too_large,  ///< its input is over the limit; nothing was started
    unavailable,  ///< it lives on for many events, has failed again and again, and is not yet started anew

    // running it
    output_too_large,  ///< it wrote more to stdout than its limit
    timed_out,         ///< it, or a function, was still running at its own timeout
    exited,            ///< it exited with a status that means failure
    signalled,         ///< it was ended by a signal
    status_lost,       ///< somebody else reaped it, so its exit status is unknown

    // a chain of handlers
    deadline,     ///< it was still running when the deadline of its chain passed
    not_started,  ///< its turn came too late: after the deadline of its chain, or not at all
    cancelled,    ///< the operation was cancelled
    unanswered,   ///< it dropped its reply without answering
    threw,        ///< it left by an exception

    // what it answered
    not_utf8,        ///< its output is not valid UTF-8
    not_json,        ///< its output is not one JSON value
    invalid_answer,  ///< its answer is not one that this event accepts

    // the order of calls
    not_begun,    ///< what this belongs to (a conversation, a turn, a compaction) has not begun
    in_progress,  ///< what this would begin, or would disturb, is in progress
    closed,       ///< what this belongs to has been closed

    unreachable,  ///< the model of a conversation could not be asked

    // configuration
    undeclared,      ///< an extension uses a capability that it has not declared
    invalid_config,  ///< a document or a setting that cannot be used; the message names the entry
    unreadable,      ///< a file that cannot be read
};

/// The category of `errc`.
BELAY_DECL const boost::system::error_category& error_category() noexcept;

/// Makes `errc` convertible to `error_code`.
BELAY_DECL error_code make_error_code(errc code) noexcept;

/// What to tell a person: a code for programs, and a sentence that names the entry, field and value.
struct diagnosis {
    errc code = errc::invalid_config;
    std::string message;
};

/// A value, or the diagnosis of why there is none. `value()` on a diagnosis throws
/// `boost::system::system_error` with its code and message.
template <class T>
using checked = boost::system::result<T, diagnosis>;

[[noreturn]] BELAY_DECL void throw_exception_from_error(const diagnosis& why,
                                                        const boost::source_location& where);

}  // namespace belay

template <>
struct boost::system::is_error_code_enum<belay::errc> : std::true_type {};

#if defined(BELAY_HEADER_ONLY)
#include <belay/core/impl/error.ipp>
#endif

#endif
