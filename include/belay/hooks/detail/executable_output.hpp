#ifndef BELAY_HOOKS_DETAIL_EXECUTABLE_OUTPUT_HPP
#define BELAY_HOOKS_DETAIL_EXECUTABLE_OUTPUT_HPP

// What protocols have in common: how an executable ended, and what it printed, as text or as a JSON
// object that is taken apart.

#include <belay/config.hpp>
#include <belay/core/answer.hpp>
#include <belay/core/error.hpp>
#include <belay/hooks/detail/json.hpp>
#include <belay/process/exit_report.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace belay::hooks::detail {

/// Why an executable has failed by how it ended; nothing: it exited with 0.
BELAY_DECL std::optional<diagnosis> bad_end(const process::exit_report& report);

/// The answer to an event that is only watched: how the executable ended is all that matters.
template <class E>
checked<typename E::answer> watched(const process::exit_report& report)
{
    if (auto why = bad_end(report)) return *std::move(why);
    return typename E::answer(observe{});
}

/// What an executable printed. The first thing that is wrong with it is kept, and after it every part
/// reads as empty: so an answer is read from top to bottom, and judged once.
class executable_output {
public:
    /// A value that an answer uses: a member of the object, or a member of that.
    struct used {
        std::string_view key;
        std::string_view inner{};
    };

    /// Wrong are an end that is not exit status 0, and a stdout that is not UTF-8. `subject`, if there is one,
    /// begins what `refuse` says. Both have to outlive this.
    explicit BELAY_DECL executable_output(const process::exit_report& report,
                                          std::string_view subject = {});

    /// stdout, without the white space around it.
    std::string_view text() const noexcept { return text_; }

    /// Reads the text as JSON, or says why it is none.
    BELAY_DECL std::optional<json_fault> parse();

    /// Whether it was read, and is an object.
    bool is_object() const noexcept { return document_.is_object(); }

    /// A member that has to be there, and of that type. A std::string_view is of this.
    template <class T>
    T must(std::string_view key, std::string_view rule)
    {
        return must<T>(document_.if_object(), key, rule);
    }

    template <class T>
    T must(boost::json::object& in, std::string_view key, std::string_view rule)
    {
        return must<T>(&in, key, rule);
    }

    /// A member that may be absent, but not null or of another type.
    template <class T>
    std::optional<T> may(std::string_view key, std::string_view rule)
    {
        return may<T>(document_.if_object(), key, rule);
    }

    template <class T>
    std::optional<T> may(boost::json::object& in, std::string_view key, std::string_view rule)
    {
        return may<T>(&in, key, rule);
    }

    /// Whether a member is there, and this text.
    BELAY_DECL bool has(std::string_view key, std::string_view value) const;

    /// What is wrong.
    BELAY_DECL void fail(diagnosis why);
    BELAY_DECL void refuse(std::string_view rule);
    BELAY_DECL void refuse_duplicates(std::initializer_list<used> parts);
    BELAY_DECL void refuse_infinite_numbers();

    bool failed() const noexcept { return fault_.has_value(); }

    /// The answer, unless something was wrong. None of what it used may have been given twice.
    template <class Answer, class Said>
    checked<Answer> give(Said&& said, std::initializer_list<used> parts = {})
    {
        if (doubts_.duplicate_keys) refuse_duplicates(parts);
        if (fault_) return *std::move(fault_);
        return checked<Answer>(std::forward<Said>(said));
    }

private:
    static boost::json::value* find(boost::json::object* in, std::string_view key)
    {
        return in ? in->if_contains({key.data(), key.size()}) : nullptr;
    }

    template <class T>
    T must(boost::json::object* in, std::string_view key, std::string_view rule)
    {
        if (auto* found = find(in, key); found && is<T>(*found)) return take<T>(*found);
        refuse(rule);
        return T();
    }

    template <class T>
    std::optional<T> may(boost::json::object* in, std::string_view key, std::string_view rule)
    {
        auto* found = find(in, key);
        if (found == nullptr) return std::nullopt;
        if (is<T>(*found)) return take<T>(*found);
        refuse(rule);
        return std::nullopt;
    }

    using texts = std::vector<std::string>;

    template <class T>
    static bool is(const boost::json::value& value) noexcept
    {
        if constexpr (std::is_same_v<T, bool>) {
            return value.is_bool();
        } else if constexpr (std::is_same_v<T, boost::json::object>) {
            return value.is_object();
        } else if constexpr (std::is_same_v<T, boost::json::array>) {
            return value.is_array();
        } else if constexpr (std::is_same_v<T, texts>) {
            const auto* array = value.if_array();
            return array && std::all_of(array->begin(), array->end(), is<std::string>);
        } else {
            return value.is_string();
        }
    }

    template <class T>
    static T take(boost::json::value& value)
    {
        if constexpr (std::is_same_v<T, bool>) {
            return value.get_bool();
        } else if constexpr (std::is_same_v<T, boost::json::object>) {
            return std::move(value.get_object());
        } else if constexpr (std::is_same_v<T, boost::json::array>) {
            return std::move(value.get_array());
        } else if constexpr (std::is_same_v<T, texts>) {
            texts taken;
            for (auto& one : value.get_array()) taken.push_back(take<std::string>(one));
            return taken;
        } else {
            const auto& text = value.get_string();
            return T(text.data(), text.size());
        }
    }

    BELAY_DECL bool refuse_ill_formed();

    std::string_view subject_;
    std::string_view output_;  // of the report
    std::string_view text_;
    boost::json::value document_;
    json_doubts doubts_;
    std::optional<diagnosis> fault_;
};

}  // namespace belay::hooks::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/executable_output.ipp>
#endif

#endif
