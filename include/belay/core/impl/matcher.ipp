#ifndef BELAY_CORE_IMPL_MATCHER_IPP
#define BELAY_CORE_IMPL_MATCHER_IPP

#include <belay/core/matcher.hpp>

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace belay {
namespace detail {

// Matches in time that is at most the product of both lengths, whatever the pattern.
class glob_pattern final : public subject_pattern {
public:
    explicit glob_pattern(std::string_view text)
    {
        if (text.empty()) refuse(text, "is empty: it would match no name");
        for (std::size_t at = 0; at != text.size();) read(text, at);
    }

    bool matches(std::string_view subject) const override
    {
        std::size_t next = 0, at = 0;
        auto star = parts_.size();  // the last `*` that was met,
        std::size_t behind = 0;     // and where what follows it was last tried
        while (at != subject.size()) {
            if (next != parts_.size() && parts_[next].what == kind::text) {
                star = next++;
                behind = at;
            } else if (const auto length = fit(next, subject.substr(at)); length != 0) {
                ++next;
                at += length;
            } else if (star != parts_.size()) {
                next = star + 1;
                at = ++behind;
            } else {
                return false;
            }
        }
        while (next != parts_.size() && parts_[next].what == kind::text) ++next;
        return next == parts_.size();
    }

private:
    enum class kind : unsigned char { byte, character, listed, unlisted, text };

    struct part {
        kind what;
        char byte = 0;
        std::bitset<128> list{};
    };

    [[noreturn]] static void refuse(std::string_view pattern, const std::string& why)
    {
        throw std::invalid_argument("the glob '" + std::string(pattern) + "' " + why);
    }

    // How many bytes of the text the part takes; 0: it does not fit.
    std::size_t fit(std::size_t which, std::string_view text) const
    {
        if (which == parts_.size()) return 0;
        const auto& one = parts_[which];
        const auto first = static_cast<unsigned char>(text.front());
        if (one.what == kind::byte) return text.front() == one.byte ? 1 : 0;
        if (one.what == kind::listed) return first < 128 && one.list[first] ? 1 : 0;
        if (one.what == kind::unlisted && first < 128 && one.list[first]) return 0;
        const auto next = std::find_if(text.begin() + 1, text.end(), [](char c) {
            return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
        });
        return static_cast<std::size_t>(next - text.begin());
    }

    void read(std::string_view text, std::size_t& at)
    {
        const auto here = at++;
        switch (text[here]) {
        case '*': parts_.push_back({kind::text}); return;
        case '?': parts_.push_back({kind::character}); return;
        case '[': read_list(text, at); return;
        case '{':
        case '}':
        case '(':
        case ')':
        case '|':
            refuse(text, "has a '" + std::string(1, text[here]) + "' at character " +
                             std::to_string(here + 1) + ": say any_of, or put a \\ before it");
        case '\\':
            if (at == text.size()) refuse(text, "ends with a '\\' that has nothing after it");
            parts_.push_back({kind::byte, text[at++]});
            return;
        default: parts_.push_back({kind::byte, text[here]});
        }
    }

    void read_list(std::string_view text, std::size_t& at)
    {
        const auto where = "at character " + std::to_string(at);
        const auto listed = [&]() -> unsigned char {
            if (at != text.size() && text[at] == '\\') ++at;
            if (at == text.size()) refuse(text, "has a list " + where + " that does not end");
            const auto code = static_cast<unsigned char>(text[at++]);
            if (code >= 128) refuse(text, "has a list " + where + " of more than ASCII");
            return code;
        };
        part one{kind::listed};
        if (at != text.size() && (text[at] == '!' || text[at] == '^')) {
            one.what = kind::unlisted;
            ++at;
        }
        while (at == text.size() || text[at] != ']') {
            if (text.substr(at, 2) == "[:")
                refuse(text, "has a class in the list " + where + ": list its characters");
            const auto first = listed();
            auto last = first;
            if (at + 1 < text.size() && text[at] == '-' && text[at + 1] != ']') {
                ++at;
                last = listed();
            }
            if (last < first)
                refuse(text, "has a list " + where + " with a range that runs backwards");
            for (std::size_t code = first; code <= last; ++code) one.list.set(code);
        }
        if (one.list.none()) refuse(text, "has a list " + where + " with nothing in it");
        ++at;
        parts_.push_back(one);
    }

    std::vector<part> parts_;
};

BELAY_DECL std::optional<faulty_name> find_faulty_name(const std::vector<std::string>& names)
{
    std::set<std::string_view> before;  // the list may be long, and somebody else's
    for (std::size_t index = 0; index != names.size(); ++index) {
        if (names[index].empty()) return faulty_name{index, false};
        if (!before.insert(names[index]).second) return faulty_name{index, true};
    }
    return std::nullopt;
}

}  // namespace detail

BELAY_DECL bool matcher::matches(std::string_view subject) const
{
    if (pattern_) return pattern_->matches(subject);
    return names_.empty() || std::find(names_.begin(), names_.end(), subject) != names_.end();
}

BELAY_DECL matcher exact(std::string name)
{
    std::vector<std::string> names;
    names.push_back(std::move(name));
    return any_of(std::move(names));
}

BELAY_DECL matcher any_of(std::vector<std::string> names)
{
    if (names.empty()) throw std::invalid_argument("a handler for any of no names is for nothing");
    if (const auto faulty = detail::find_faulty_name(names)) {
        throw std::invalid_argument(faulty->twice ? "a handler is for the name '" +
                                                        names[faulty->index] + "' twice"
                                                  : "a handler is for an empty name");
    }
    matcher made;
    made.names_ = std::move(names);
    return made;
}

BELAY_DECL matcher glob(std::string_view pattern)
{
    return matcher(std::make_shared<const detail::glob_pattern>(pattern));
}

}  // namespace belay

#endif
