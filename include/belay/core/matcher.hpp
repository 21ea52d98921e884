#ifndef BELAY_CORE_MATCHER_HPP
#define BELAY_CORE_MATCHER_HPP

// Which events a handler is for, by their subject: of an event about a tool, the tool's name.
//
//     gate.add({.name = "no shell"}, belay::exact("bash"), no_shell);
//     gate.add({.name = "read only"}, belay::any_of({"edit", "write"}), read_only);
//     gate.add({.name = "remote"}, belay::glob("mcp__*"), ask_first);
//
// An event has a subject if it says so: `std::string_view subject() const`. A chain finds the handlers
// that are for an exact name without asking the others. Regular expressions are in <belay/core/regex.hpp>.

#include <belay/config.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay {

namespace detail {

struct subject_pattern {
    virtual ~subject_pattern() = default;
    virtual bool matches(std::string_view subject) const = 0;
};

// Lists of names hold each name once, and none that is empty.
struct faulty_name {
    std::size_t index;
    bool twice;  // else it is empty
};

// The first that breaks the rule, if one does.
BELAY_DECL std::optional<faulty_name> find_faulty_name(const std::vector<std::string>& names);

}  // namespace detail

/// Which subjects a handler is for. What kind of matcher it is, is said by the function that makes it,
/// and never guessed from the characters of a name.
class matcher {
public:
    /// Every subject.
    matcher() noexcept = default;

    BELAY_DECL bool matches(std::string_view subject) const;

    bool matches_everything() const noexcept { return names_.empty() && !pattern_; }

    /// The names of `exact` and `any_of`; none for a pattern.
    const std::vector<std::string>& names() const noexcept { return names_; }

    /// For the functions that make patterns.
    explicit matcher(std::shared_ptr<const detail::subject_pattern> pattern) noexcept
        : pattern_(std::move(pattern))
    {}

private:
    friend BELAY_DECL matcher any_of(std::vector<std::string> names);

    std::vector<std::string> names_;
    std::shared_ptr<const detail::subject_pattern> pattern_;
};

/// Of that name, byte for byte. An empty name throws `std::invalid_argument`.
[[nodiscard]] BELAY_DECL matcher exact(std::string name);

/// Of one of those names, byte for byte. No name, an empty one, and one that is there twice throw
/// `std::invalid_argument`.
[[nodiscard]] BELAY_DECL matcher any_of(std::vector<std::string> names);

/// A pattern for the whole name, as a shell has it: `*` is any text, also none; `?` one character (of
/// UTF-8); `[a-z_]` one of the ASCII characters in the list, `[!a-z_]` or `[^a-z_]` one that is not; after `\`,
/// a character means itself. A pattern that is empty, a list that does not end, is empty, holds what is
/// not ASCII or a range that runs backwards, a `\` at the end, and what only some shells understand (any of
/// `{}()|`, a class as `[[:alpha:]]`) throw `std::invalid_argument`.
[[nodiscard]] BELAY_DECL matcher glob(std::string_view pattern);

}  // namespace belay

#if defined(BELAY_HEADER_ONLY)
#include <belay/core/impl/matcher.ipp>
#endif

#endif
