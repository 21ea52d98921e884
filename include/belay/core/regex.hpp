#ifndef BELAY_CORE_REGEX_HPP
#define BELAY_CORE_REGEX_HPP

// Handlers for subjects that a regular expression describes. A header of its own, since it needs Boost.Regex.
//
//     gate.add({.name = "databases"}, belay::regex("mcp__(pg|mysql)_.*"), ask_first);

#include <belay/config.hpp>
#include <belay/core/matcher.hpp>

#include <string_view>

namespace belay {

/// A regular expression, in Perl's syntax, for the whole name. One that is wrong, or empty, throws
/// `std::invalid_argument`, which says what is wrong and where.
///
/// A subject for which the expression takes too many steps to decide counts as one of its: a gate is
/// asked once too often rather than not at all.
[[nodiscard]] BELAY_DECL matcher regex(std::string_view pattern);

}  // namespace belay

#if defined(BELAY_HEADER_ONLY)
#include <belay/core/impl/regex.ipp>
#endif

#endif
