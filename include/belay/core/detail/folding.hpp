#ifndef BELAY_CORE_DETAIL_FOLDING_HPP
#define BELAY_CORE_DETAIL_FOLDING_HPP

// One dispatch's fold and draft, and the steps that every chain takes with them: call a handler,
// judge what it returned, let the fold accept it or say what its failure means.

#include <belay/core/handler.hpp>
#include <belay/core/trace.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <new>
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
    if constexpr (has_name<Alternative>) {
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
    } catch (const std::string& text) {
        return text;
    } catch (const char* text) {
        return text;
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

// A handler that nobody calls: it is not for this event's subject, or an earlier one decided.
template <class E>
void trace_skip(trace_sink& trace, const handler_info& info, bool matched) noexcept
{
    trace.on_span({E::event_name, info, matched, false, {}, nullptr, flow::proceed, {}});
}

template <class E>
class folding {
public:
    folding(const E& event, trace_sink* trace) noexcept : view_(&event), trace_(trace) {}

    draft<E>& event() { return opened().event; }
    bool traced() const noexcept { return trace_ != nullptr; }

    // Call a handler that answers at once. `late` is asked after its answer was found valid, and
    // says how the handler failed if the answer came too late.
    template <class Handler, class Late = never_late>
    flow ask(Handler& handler, const handler_info& info, Late&& late = {})
    {
        if (traced()) [[unlikely]]
            return ask_traced(handler, info, late);
        return ask_untraced(handler, info, late);
    }

    // The same where it is known that nobody traces.
    template <class Handler, class Late = never_late>
    BELAY_INLINE flow ask_untraced(Handler& handler, const handler_info& info, Late&& late = {})
    {
        return call<false>(handler, info, late);
    }

    // The same where it is known that somebody does.
    template <class Handler, class Late = never_late>
    BELAY_NOINLINE flow ask_traced(Handler& handler, const handler_info& info, Late&& late = {})
    {
        begin();
        return call<true>(handler, info, late);
    }

    // An answer that a handler gave later.
    template <bool Traced = true, class Returned, class Late = never_late>
    BELAY_INLINE flow take(Returned&& said, const handler_info& info, Late&& late = {})
    {
        using returned = std::remove_cvref_t<Returned>;
        if constexpr (std::is_same_v<returned, typename E::answer>) {
            return std::visit(
                [&](auto&& one) {
                    return take<Traced>(std::forward<decltype(one)>(one), info, late);
                },
                std::forward<Returned>(said));
        } else if constexpr (is_optional<returned>) {
            if (said) [[unlikely]]
                return take<Traced>(*std::forward<Returned>(said), info, late);
            return take<Traced>(observe{}, info, late);
        } else if constexpr (std::is_same_v<returned, observe>) {
            if constexpr (!std::is_same_v<std::remove_cvref_t<Late>, never_late>) {
                if (auto why = late()) return fail(*std::move(why), info);
            }
            if constexpr (Traced) report(flow::proceed, info, name_of<observe>());
            return flow::proceed;
        } else {
            return decide(std::forward<Returned>(said), info, late);
        }
    }

    flow fail(failure&& why, const handler_info& info)
    {
        if (!traced()) return judge(std::move(why), info);
        const auto reported = why;
        return report(judge(std::move(why), info), info, {}, &reported);
    }

    // A handler was called: its time starts.
    void begin() noexcept
    {
        if (traced()) [[unlikely]]
            began_ = std::chrono::steady_clock::now().time_since_epoch();
    }

    void skip(const handler_info& info, bool matched = true) noexcept
    {
        if (traced()) trace_skip<E>(*trace_, info, matched);
    }

    // A handler that was abandoned since the dispatch was cancelled. The fold is not asked.
    void interrupt(const handler_info& info) noexcept
    {
        if (!traced()) return;
        const failure why{errc::cancelled, info, {}};
        trace(flow::stop, info, {}, &why);
    }

    outcome_of<E> finish() &&
    {
        if (state_) [[unlikely]]
            return finish_opened();
        draft<E> untouched(*view_);
        return typename E::fold{}.finish(untouched);
    }

private:
    // Made for the first handler that has an opinion: most events are seen by none.
    struct state {
        explicit state(const E& original) : event(original) {}
        state(const state&) = delete;
        state& operator=(const state&) = delete;
        BELAY_NOINLINE ~state() = default;

        typename E::fold fold{};
        draft<E> event;
    };

    state& opened()
    {
        if (!state_) state_.emplace(*view_);
        return *state_;
    }

    // Out of the way, as is all that few events need: what is left is inlined where it is called.
    BELAY_NOINLINE outcome_of<E> finish_opened()
    {
        return std::move(state_->fold).finish(state_->event);
    }

    flow judge(failure&& why, const handler_info& info)
    {
        auto& now = opened();
        const auto then = now.fold.fail(std::move(why), info, now.event);
        view_ = &now.event.view();
        return then;
    }

    template <class Alternative>
    flow accept(Alternative&& said, const handler_info& info)
    {
        auto& now = opened();
        const auto then = now.fold.accept(std::forward<Alternative>(said), info, now.event);
        view_ = &now.event.view();
        return then;
    }

    template <bool Traced, class Handler, class Late>
    BELAY_INLINE flow call(Handler& handler, const handler_info& info, Late&& late)
    {
        using returned = std::invoke_result_t<Handler&, const E&>;
        if constexpr (is_optional<returned>) {
            unended<returned> said;
            try {
                ::new (static_cast<void*>(&said.value)) returned(handler(*view_));
            } catch (...) {
                return fail_thrown(info);
            }
            if (said.value) [[unlikely]]
                return take_and_end<Traced>(said.value, info, late);
            return take<Traced>(observe{}, info, late);
        } else {
            bool answered = false;
            try {
                if constexpr (std::is_void_v<returned>) {
                    handler(*view_);
                    answered = true;
                    return take<Traced>(observe{}, info, late);
                } else {
                    auto&& said = handler(*view_);
                    answered = true;
                    return take<Traced>(std::move(said), info, late);
                }
            } catch (...) {
                if (answered) throw;  // not the handler's fault, but the fold's
                return fail_thrown(info);
            }
        }
    }

    // An empty std::optional needs no destructor, and many handlers after one another are quicker
    // without the calls of it: what is in one is destroyed by take_and_end.
    template <class Optional>
    union unended {
        unended() noexcept {}
        ~unended() {}
        Optional value;
    };

    template <bool Traced, class Optional, class Late>
    BELAY_NOINLINE flow take_and_end(Optional& said, const handler_info& info, Late&& late)
    {
        struct ending {
            Optional& what;
            ~ending() { std::destroy_at(&what); }
        } const last{said};
        return take<Traced>(*std::move(said), info, late);
    }

    // Out of the way of handlers that have no opinion, which is most of them most of the time.
    template <class Alternative, class Late>
    BELAY_NOINLINE flow decide(Alternative&& said, const handler_info& info, Late&& late)
    {
        if constexpr (judges<typename E::fold, std::remove_cvref_t<Alternative>>) {
            std::string why(std::as_const(opened().fold).invalid(said, info));
            if (!why.empty()) return fail({errc::invalid_answer, info, std::move(why)}, info);
        }
        if (auto why = late()) return fail(*std::move(why), info);
        return report(accept(std::forward<Alternative>(said), info), info,
                      name_of<std::remove_cvref_t<Alternative>>());
    }

    BELAY_NOINLINE flow fail_thrown(const handler_info& info)
    {
        return fail({errc::threw, info, message_of(std::current_exception())}, info);
    }

    flow report(flow then, const handler_info& info, std::string_view said,
                const failure* failed = nullptr) noexcept
    {
        if (traced()) [[unlikely]]
            trace(then, info, said, failed);
        return then;
    }

    BELAY_NOINLINE void trace(flow then, const handler_info& info, std::string_view said,
                              const failure* failed) noexcept
    {
        const bool ran = failed == nullptr || failed->code != errc::not_started;
        std::chrono::nanoseconds took{0};
        if (ran) took = std::chrono::steady_clock::now().time_since_epoch() - began_;
        trace_->on_span({E::event_name, info, true, ran, said, failed, then, took});
    }

    const E* view_;  // what the next handler sees
    trace_sink* trace_;
    std::optional<state> state_;
    std::chrono::steady_clock::duration began_;  // since its epoch; not set if nobody traces
};

}  // namespace belay::detail

#endif
