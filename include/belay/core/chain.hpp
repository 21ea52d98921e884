#ifndef BELAY_CORE_CHAIN_HPP
#define BELAY_CORE_CHAIN_HPP

// Handlers that are added at run time and answer at once.
//
//     belay::chain<pre_commit> gate;
//     gate.add({.name = "no empty message"}, [](const pre_commit& event) -> std::optional<belay::block> {
//         if (event.message.empty()) return belay::block{"say what you changed"};
//         return std::nullopt;
//     });
//     auto outcome = gate.dispatch({.message = ""});

#include <belay/core/detail/folding.hpp>
#include <belay/core/detail/unique_function.hpp>
#include <belay/core/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace belay {

/// Asks its handlers about an event, in the order in which they were added, on the caller's thread.
///
/// A dispatch allocates nothing unless a handler, or the fold, does. Handlers may dispatch on the
/// chain that is running them, and may add to it and remove from it: a dispatch in flight keeps the
/// handlers that it started with, so one that is added is first asked at the next event.
///
/// `handler_info::timeout` and `E::deadline` mean nothing here: nobody can stop a function that is
/// running. A handler that may take long belongs in an async_chain.
///
/// Not safe for use by several threads at once.
template <class E>
class chain {
    static_assert(detail::check_event<E>());

public:
    explicit chain(trace_sink* trace = nullptr) noexcept : trace_(trace) {}

    chain(const chain&) = delete;
    chain& operator=(const chain&) = delete;

    /// Adds a handler after the others. `info.position` is set by the chain.
    template <class Handler>
    handler_id add(handler_info info, Handler handler)
    {
        static_assert(detail::check_handler<E, Handler, detail::waits::never>());
        const auto id = static_cast<handler_id>(++last_id_);
        added_.push_back({[h = std::move(handler)](detail::folding<E>& dispatch,
                                                   const handler_info& who) mutable {
                              return dispatch.ask(h, who);
                          },
                          std::make_unique<handler_info>(std::move(info)), id, alive});
        stale_ = true;
        tidy();
        return id;
    }

    /// Removes a handler; false if there is none of that id (any more).
    bool remove(handler_id id)
    {
        for (auto* slots : {&slots_, &added_}) {
            for (auto& one : *slots) {
                if (one.id != id || one.removed != alive) continue;
                one.removed = now_;
                stale_ = true;
                tidy();
                return true;
            }
        }
        return false;
    }

    /// How many handlers the next event will find.
    std::size_t size() const noexcept
    {
        const auto living = [](const auto& one) { return one.removed == alive; };
        return static_cast<std::size_t>(std::ranges::count_if(slots_, living) +
                                        std::ranges::count_if(added_, living));
    }

    /// Asks every handler until one decides.
    outcome_of<E> dispatch(const E& event)
    {
        const flight here(*this);
        detail::folding<E> folding(event, trace_);
        auto then = flow::proceed;
        for (auto& one : slots_) {
            if (one.removed <= here.started) continue;
            if (then == flow::stop) {
                if (!folding.traced()) break;
                folding.skip(*one.info);
            } else {
                then = one.call(folding, *one.info);
            }
        }
        return std::move(folding).finish();
    }

private:
    using moment = unsigned long long;
    static constexpr moment alive = ~moment{0};

    struct slot {
        detail::unique_function<flow(detail::folding<E>&, const handler_info&)> call;
        std::unique_ptr<handler_info> info;
        handler_id id;
        moment removed;  // the flights that started at or after this moment do not see it
    };

    // While a dispatch is in flight, slots_ neither grows nor shrinks.
    struct flight {
        explicit flight(chain& owner) noexcept : owner_(owner), started(++owner.now_)
        {
            ++owner.in_flight_;
            ++owner.now_;
        }
        ~flight()
        {
            --owner_.in_flight_;
            owner_.tidy();
        }
        flight(const flight&) = delete;
        flight& operator=(const flight&) = delete;

    private:
        chain& owner_;

    public:
        const moment started;
    };

    // Takes in what was added and drops what was removed, once nobody is looking.
    void tidy() noexcept
    {
        if (!stale_ || in_flight_ != 0) return;
        std::ranges::move(added_, std::back_inserter(slots_));
        added_.clear();
        std::erase_if(slots_, [](const slot& one) { return one.removed != alive; });
        std::size_t position = 0;
        for (auto& one : slots_) one.info->position = ++position;
        stale_ = false;
    }

    std::vector<slot> slots_;
    std::vector<slot> added_;  // they wait there while a dispatch is in flight
    moment now_ = 0;
    unsigned in_flight_ = 0;
    bool stale_ = false;
    unsigned long long last_id_ = 0;
    trace_sink* trace_;
};

}  // namespace belay

#endif
