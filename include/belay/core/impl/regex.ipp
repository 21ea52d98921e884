#ifndef BELAY_CORE_IMPL_REGEX_IPP
#define BELAY_CORE_IMPL_REGEX_IPP

#include <belay/core/regex.hpp>

#include <boost/regex.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace belay {
namespace detail {

struct regex_pattern final : subject_pattern {
    explicit regex_pattern(boost::regex e) : expression(std::move(e)) {}

    bool matches(std::string_view subject) const override
    {
        try {
            return boost::regex_match(subject.begin(), subject.end(), expression);
        } catch (const std::runtime_error&) {
            return true;  // too complex for this subject
        }
    }

    boost::regex expression;
};

}  // namespace detail

BELAY_DECL matcher regex(std::string_view pattern)
{
    const auto whole = "the regular expression '" + std::string(pattern) + "' ";
    if (pattern.empty()) throw std::invalid_argument(whole + "is empty: it would match no name");
    try {
        return matcher(std::make_shared<const detail::regex_pattern>(
            boost::regex(pattern.begin(), pattern.end(), boost::regex::perl)));
    } catch (const boost::regex_error& error) {
        std::string why = error.what();
        why.resize(std::min(why.find("  The error occurred"), why.size()));  // and quotes it all
        throw std::invalid_argument(whole + "is wrong at character " +
                                    std::to_string(error.position() + 1) + ": " + why);
    }
}

}  // namespace belay

#endif
