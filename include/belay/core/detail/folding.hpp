#ifndef BELAY_CORE_DETAIL_FOLDING_HPP
#define BELAY_CORE_DETAIL_FOLDING_HPP

// One dispatch's fold and draft, and the steps that every chain takes with them: call a handler,
// judge what it returned, let the fold accept it or say what its failure means.

#include <belay/core/handler.hpp>
#include <belay/core/trace.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace belay::detail {

template <class Alternative>
constexpr std::string_view name_of() noexcept
{
    if constexpr (requires { std::string_view(Alternative::name); }) {
        return Alternative::name;
    } else {
        return "answer";
    }
}

// For chains in which no answer comes too late.
struct never_late {
    constexpr std::optional<failure> operator()() const noexcept { return std::nullopt; }
};

// What is caught: one sentence.
inline std::string message_of(std::exception_ptr thrown)
{
    try {
        std::rethrow_exception(std::move(thrown));
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

template <class E>
class folding {
public:
    folding(const E& event, trace_sink* trace) noexcept : event_(event), trace_(trace) {}

    draft<E>& event() noexcept { return event_; }
    bool traced() const noexcept { return trace_ != nullptr; }

    // Call a handler that answers at once. `late` is asked after its answer was found valid, and
    // says how the handler failed if the answer came too late.
    template <class Handler, class Late = never_late>
    flow ask(Handler& handler, const handler_info& info, Late&& late = {})
    {
        begin();
        try {
            if constexpr (std::is_void_v<std::invoke_result_t<Handler&, const E&>>) {
                handler(event_.view());
                return take(observe{}, info, late);
            } else {
                return take(handler(event_.view()), info, late);
            }
        } catch (...) {
            return fail({errc::threw, info, message_of(std::current_exception())}, info);
        }
    }

    template <class Returned, class Late = never_late>
    flow take(Returned&& said, const handler_info& info, Late&& late = {})
    {
        using returned = std::remove_cvref_t<Returned>;
        if constexpr (std::is_same_v<returned, typename E::answer>) {
            return std::visit(
                [&](auto&& one) { return take(std::forward<decltype(one)>(one), info, late); },
                std::forward<Returned>(said));
        } else if constexpr (is_optional<returned>) {
            return said ? take(*std::forward<Returned>(said), info, late)
                        : take(observe{}, info, late);
        } else if constexpr (std::is_same_v<returned, observe>) {
            if (auto why = late()) return fail(*std::move(why), info);
            return report(info, name_of<observe>(), nullptr, flow::proceed);
        } else {
            if constexpr (requires { std::string(fold_.invalid(said, info)); }) {
                auto why = std::string(fold_.invalid(said, info));
                if (!why.empty()) return fail({errc::invalid_answer, info, std::move(why)}, info);
            }
            if (auto why = late()) return fail(*std::move(why), info);
            return report(info, name_of<returned>(), nullptr,
                          fold_.accept(std::forward<Returned>(said), info, event_));
        }
    }

    flow fail(failure&& why, const handler_info& info)
    {
        if (!traced()) return fold_.fail(std::move(why), info, event_);
        const auto reported = why;
        return report(info, {}, &reported, fold_.fail(std::move(why), info, event_));
    }

    // A handler was called: its time starts.
    void begin() noexcept
    {
        if (traced()) began_ = std::chrono::steady_clock::now();
    }

    // A handler that nobody calls, since an earlier one decided.
    void skip(const handler_info& info) noexcept
    {
        if (traced()) trace_->on_span({E::event_name, info, false, {}, nullptr, flow::proceed, {}});
    }

    outcome_of<E> finish() && { return std::move(fold_).finish(event_); }

private:
    flow report(const handler_info& info, std::string_view said, const failure* failed,
                flow then) noexcept
    {
        if (traced()) {
            const bool ran = failed == nullptr || failed->code != errc::not_started;
            using nanoseconds = std::chrono::nanoseconds;
            const auto took = ran ? nanoseconds(std::chrono::steady_clock::now() - began_)
                                  : nanoseconds(0);
            trace_->on_span({E::event_name, info, ran, said, failed, then, took});
        }
        return then;
    }

    typename E::fold fold_{};
    draft<E> event_;
    trace_sink* trace_;
    std::chrono::steady_clock::time_point began_{};
};

}  // namespace belay::detail

#endif
