#ifndef BELAY_TEST_CORE_EVENTS_HPP
#define BELAY_TEST_CORE_EVENTS_HPP

// The events of the kernel's tests.

#include <belay/core/event.hpp>
#include <belay/core/trace.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace belay::test {

// Counts its copies where `copies` points to.
struct counted {
    counted() = default;
    counted(const counted& other) : copies(other.copies) { count(); }
    counted(counted&&) = default;
    counted& operator=(const counted& other)
    {
        copies = other.copies;
        count();
        return *this;
    }
    counted& operator=(counted&&) = default;
    ~counted() = default;

    int* copies = nullptr;  // null: nobody counts

private:
    void count() const
    {
        if (copies != nullptr) ++*copies;
    }
};

// A gate: handlers may rewrite the text or block it. A handler of the configuration that fails
// blocks; one of an extension is ignored.
template <int Tag>
struct basic_gate {
    static constexpr std::string_view event_name = "gate";
    static constexpr auto deadline = Tag == 1 ? shared_deadline(std::chrono::milliseconds(60'000))
                                     : Tag == 2
                                         ? deadline_per_handler(std::chrono::milliseconds(60'000))
                                         : deadline_rule{};

    struct rewrite {
        static constexpr std::string_view name = "rewrite";
        std::string text{};
    };
    using answer = std::variant<observe, rewrite, block>;

    struct outcome {
        bool allowed = false;
        std::string text{};
        std::string reason{};
        std::vector<failure> failures{};
    };
    struct fold;

    std::string text{};
    counted copies{};
};

template <int Tag>
struct basic_gate<Tag>::fold {
    std::string_view invalid(const block& said, const handler_info&) const
    {
        return said.reason.empty() ? "a block needs a reason" : "";
    }
    flow accept(rewrite&& said, const handler_info&, draft<basic_gate>& event)
    {
        event.edit().text = std::move(said.text);
        return flow::proceed;
    }
    flow accept(block&& said, const handler_info&, draft<basic_gate>&)
    {
        concluded.allowed = false;
        concluded.reason = std::move(said.reason);
        return flow::stop;
    }
    flow fail(failure&& why, const handler_info& who, draft<basic_gate>& event)
    {
        concluded.failures.push_back(std::move(why));
        if (who.from == origin::extension) return flow::proceed;
        event.reset();
        concluded.allowed = false;
        concluded.reason = concluded.failures.back().message;
        return flow::stop;
    }
    outcome finish(draft<basic_gate>& event) &&
    {
        concluded.text = event.view().text;
        return std::move(concluded);
    }

    outcome concluded{.allowed = true};
};

using gate = basic_gate<0>;              // no deadline
using gate_shared = basic_gate<1>;       // 60 s for all
using gate_per_handler = basic_gate<2>;  // 60 s for each

struct note {
    static constexpr std::string_view event_name = "note";
    using answer = std::variant<observe>;
    using fold = notify_fold<note>;

    int value = 0;
};

// Its fold throws the reason of a block.
struct brittle {
    static constexpr std::string_view event_name = "brittle";
    using answer = std::variant<observe, block>;
    struct outcome {
        bool allowed = false;
    };
    struct fold {
        flow accept(block&& said, const handler_info&, draft<brittle>&)
        {
            throw std::runtime_error(said.reason);
        }
        flow fail(failure&&, const handler_info&, draft<brittle>&) { return flow::proceed; }
        outcome finish(draft<brittle>&) && { return {true}; }
    };
};

// Its fold is final, and makes up why an answer is invalid.
struct wordy {
    static constexpr std::string_view event_name = "wordy";
    using answer = std::variant<observe, block>;
    struct outcome {
        std::string why{};
    };
    struct fold final {
        std::string invalid(const block& said, const handler_info&) const
        {
            return said.reason + " is not a reason that anybody would accept here";
        }
        flow accept(block&&, const handler_info&, draft<wordy>&) { return flow::stop; }
        flow fail(failure&& failed, const handler_info&, draft<wordy>&)
        {
            why = std::move(failed.message);
            return flow::stop;
        }
        outcome finish(draft<wordy>&) && { return {std::move(why)}; }
        std::string why{};
    };
};

// Data members whose names are those of constants that an event or an answer may have.
struct named_like_constants {
    static constexpr std::string_view event_name = "named_like_constants";
    struct rename {
        std::string name{};
    };
    using answer = std::variant<observe, rename>;
    struct outcome {
        std::string name{};
    };
    struct fold {
        flow accept(rename&& said, const handler_info&, draft<named_like_constants>& event)
        {
            event.edit().name = std::move(said.name);
            return flow::proceed;
        }
        flow fail(failure&&, const handler_info&, draft<named_like_constants>&)
        {
            return flow::proceed;
        }
        outcome finish(draft<named_like_constants>& event) && { return {event.view().name}; }
    };
    std::string name{};
    int deadline = 0;
};

// An event about a tool. Its outcome is who said what about it, in order; "!" stops.
struct use {
    static constexpr std::string_view event_name = "use";
    struct note {
        static constexpr std::string_view name = "note";
        std::string text{};
    };
    using answer = std::variant<observe, note>;
    struct fold {
        flow accept(note&& said, const handler_info&, draft<use>&)
        {
            concluded += said.text;
            return said.text == "!" ? flow::stop : flow::proceed;
        }
        flow fail(failure&& why, const handler_info&, draft<use>&)
        {
            concluded += "(" + why.message + ")";
            return flow::proceed;
        }
        std::string finish(draft<use>&) && { return std::move(concluded); }
        std::string concluded{};
    };

    std::string_view subject() const noexcept { return tool; }

    std::string tool{};
};

inline auto says(std::string text)
{
    return [text = std::move(text)](const use&) { return use::note{text}; };
}

// One that only notifies about a tool.
struct used {
    static constexpr std::string_view event_name = "used";
    using answer = std::variant<observe>;
    using fold = notify_fold<used>;

    std::string_view subject() const noexcept { return tool; }

    std::string tool{};
};

// Keeps what it was told.
struct recorder final : trace_sink {
    struct span {
        std::string handler;
        bool matched;
        bool ran;
        std::string said;
        bool failed;
        bool decided;
    };
    void on_span(const trace_span& one) noexcept override
    {
        spans.push_back({one.handler.name, one.matched, one.ran, std::string(one.said),
                         one.failed != nullptr, one.then == flow::stop});
    }
    std::vector<span> spans;
};

}  // namespace belay::test

#endif
