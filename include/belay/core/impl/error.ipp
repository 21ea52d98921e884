#ifndef BELAY_CORE_IMPL_ERROR_IPP
#define BELAY_CORE_IMPL_ERROR_IPP

#include <belay/core/error.hpp>

#include <boost/system/error_category.hpp>
#include <boost/system/error_condition.hpp>
#include <boost/system/system_error.hpp>
#include <boost/throw_exception.hpp>

#include <cstdio>

namespace belay {
namespace detail {

constexpr const char* text_of(errc code) noexcept
{
    switch (code) {
    case errc::spawn_failed: return "the executable could not be started";
    case errc::bad_cwd: return "the working directory cannot be entered";
    case errc::busy: return "the executable is still open for writing";
    case errc::invalid_argv: return "the argument list is not usable";
    case errc::input_too_large: return "the input is over its limit";
    case errc::unavailable: return "the executable has failed again and again";
    case errc::output_too_large: return "the output is over its limit";
    case errc::timed_out: return "the timeout has passed";
    case errc::exited: return "the executable exited with a failure status";
    case errc::signalled: return "the executable was ended by a signal";
    case errc::status_lost: return "the exit status was taken by somebody else";
    case errc::deadline: return "the deadline of the chain has passed";
    case errc::not_started: return "no time was left to start the handler";
    case errc::cancelled: return "the operation was cancelled";
    case errc::unanswered: return "the handler dropped its reply without answering";
    case errc::threw: return "the handler left by an exception";
    case errc::not_utf8: return "the output is not valid UTF-8";
    case errc::not_json: return "the output is not one JSON value";
    case errc::invalid_answer: return "the answer is not valid for this event";
    case errc::not_begun: return "what this belongs to has not begun";
    case errc::in_progress: return "something that excludes this is in progress";
    case errc::closed: return "what this belongs to has been closed";
    case errc::undeclared: return "the capability was not declared";
    case errc::unreachable: return "the model could not be asked";
    case errc::invalid_config: return "the configuration is not valid";
    case errc::unreadable: return "the file cannot be read";
    }
    return "unknown belay error";
}

class error_category_type final : public boost::system::error_category {
public:
    // A fixed id, so that the copies of two shared objects compare equal.
    constexpr error_category_type() noexcept : boost::system::error_category(0xB31A'7E5C'40D1'92F7)
    {}

    const char* name() const noexcept override { return "belay"; }

    std::string message(int value) const override { return text_of(static_cast<errc>(value)); }

    char const* message(int value, char* buffer, std::size_t size) const noexcept override
    {
        std::snprintf(buffer, size, "%s", text_of(static_cast<errc>(value)));
        return buffer;
    }

    boost::system::error_condition default_error_condition(int value) const noexcept override
    {
        switch (static_cast<errc>(value)) {
        case errc::cancelled: return boost::system::errc::operation_canceled;
        case errc::timed_out:
        case errc::deadline: return boost::system::errc::timed_out;
        default: return {value, *this};
        }
    }
};

inline constexpr error_category_type error_category_object{};

}  // namespace detail

BELAY_DECL const boost::system::error_category& error_category() noexcept
{
    return detail::error_category_object;
}

BELAY_DECL error_code make_error_code(errc code) noexcept
{
    return {static_cast<int>(code), error_category()};
}

BELAY_DECL void throw_exception_from_error(const diagnosis& why,
                                           const boost::source_location& where)
{
    boost::throw_exception(boost::system::system_error(make_error_code(why.code), why.message),
                           where);
}

}  // namespace belay

#endif
