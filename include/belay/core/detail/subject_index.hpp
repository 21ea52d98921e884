#ifndef BELAY_CORE_DETAIL_SUBJECT_INDEX_HPP
#define BELAY_CORE_DETAIL_SUBJECT_INDEX_HPP

// Which handlers of a chain are for a subject, in the order of the chain.

#include <belay/core/failure.hpp>
#include <belay/core/matcher.hpp>

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::detail {

// Quicker than the order of the alphabet: most names differ in their length.
struct shorter_first {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const noexcept
    {
        return a.size() != b.size() ? a.size() < b.size() : a < b;
    }
};

// What belongs to a name. Most names for which there is nothing are told apart by a glance.
template <class T>
class by_name {
public:
    T& operator[](const std::string& name)
    {
        present_ |= bit(name);
        return all_[name];
    }

    // Null: there is nothing.
    const T* find(std::string_view name) const
    {
        if (!perhaps(name)) return nullptr;
        const auto found = all_.find(name);
        return found == all_.end() ? nullptr : &found->second;
    }

    // False: there is nothing for this name.
    bool perhaps(std::string_view name) const noexcept { return (present_ & bit(name)) != 0; }

    bool empty() const noexcept { return all_.empty(); }

    T* find(std::string_view name) { return const_cast<T*>(std::as_const(*this).find(name)); }

    void erase(const std::string& name)
    {
        all_.erase(name);
        present_ = 0;
        for (const auto& [left, value] : all_) present_ |= bit(left);
    }

private:
    static std::uint64_t bit(std::string_view name) noexcept
    {
        if (name.empty()) return 0;
        const auto first = static_cast<unsigned char>(name.front());
        const auto last = static_cast<unsigned char>(name.back());
        return std::uint64_t{1} << ((name.size() * 11 + first * 5U + last) % 64);
    }

    std::map<std::string, T, shorter_first> all_;
    std::uint64_t present_ = 0;
};

// For handlers that come and go. A Handler is a pointer, or like one, to what has an `id`, greater than
// those of the handlers before it, and a matcher `only_for`.
template <class Handler>
class subject_index {
public:
    using items = std::vector<Handler>;

    // Goes through the handlers for one subject that were there when it was made. Handlers may be added
    // meanwhile, but not removed.
    class cursor {
    public:
        // Null: that was the last.
        const Handler* next()
        {
            while (!named_.at_end()) {
                if (others_.at_end() || named_.now()->id < others_.now()->id) return &named_.take();
                if (const auto* one = next_other()) return one;
            }
            while (!others_.at_end()) {
                if (const auto* one = next_other()) return one;
            }
            return nullptr;
        }

    private:
        friend class subject_index;

        struct place {
            const items* list;
            std::size_t next;
            std::size_t end;

            bool at_end() const noexcept { return next == end; }
            const Handler& now() const noexcept { return (*list)[next]; }
            const Handler& take() noexcept { return (*list)[next++]; }
        };

        cursor(const items& others, const items* named, std::string_view subject) noexcept
            : others_{&others, 0, others.size()},
              named_{named, 0, named == nullptr ? 0 : named->size()},
              subject_(subject)
        {}

        const Handler* next_other()
        {
            const auto& one = others_.take();
            const auto& which = one->only_for;
            return which.matches_everything() || which.matches(subject_) ? &one : nullptr;
        }

        place others_;
        place named_;
        std::string_view subject_;
    };

    // After the others.
    void add(Handler one)
    {
        const auto& names = one->only_for.names();
        for (const auto& name : names) named_[name].push_back(one);
        if (names.empty()) others_.push_back(one);
        trivial_ = trivial_ && one->only_for.matches_everything();
    }

    void remove(handler_id id, const matcher& only_for)
    {
        const auto is_it = [&](const Handler& each) { return each->id == id; };
        for (const auto& name : only_for.names()) {
            auto* list = named_.find(name);
            if (list == nullptr) continue;
            std::erase_if(*list, is_it);
            if (list->empty()) named_.erase(name);
        }
        std::erase_if(others_, is_it);
        trivial_ = named_.empty() && std::ranges::all_of(others_, [](const Handler& each) {
                       return each->only_for.matches_everything();
                   });
    }

    // Whether all handlers are for every subject; they are `others()`, then.
    bool trivial() const noexcept { return trivial_; }

    // The handlers that are for no exact name.
    const items& others() const noexcept { return others_; }

    // True: no handler is for this subject. It is quicker than find, and does not see all.
    bool none_for(std::string_view subject) const noexcept
    {
        return others_.empty() && !named_.perhaps(subject);
    }

    cursor find(std::string_view subject) const { return {others_, named_.find(subject), subject}; }

private:
    by_name<items> named_;
    items others_;
    bool trivial_ = true;
};

// For a fixed number of handlers: a bit for each.
template <std::size_t N>
class subject_bits {
public:
    void add(std::size_t handler, const matcher& only_for)
    {
        for (const auto& name : only_for.names()) named_[name].set(handler);
        if (only_for.matches_everything()) {
            always_.set(handler);
        } else if (only_for.names().empty()) {
            patterns_.emplace_back(handler, only_for);
        }
    }

    std::bitset<N> find(std::string_view subject) const
    {
        auto found = always_;
        if (const auto* named = named_.find(subject)) found |= *named;
        for (const auto& [handler, pattern] : patterns_) {
            if (pattern.matches(subject)) found.set(handler);
        }
        return found;
    }

private:
    std::bitset<N> always_;
    by_name<std::bitset<N>> named_;
    std::vector<std::pair<std::size_t, matcher>> patterns_;
};

}  // namespace belay::detail

#endif
