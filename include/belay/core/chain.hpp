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
#include <memory>
#include <utility>
#include <vector>

namespace belay {

/// Asks its handlers about an event, in the order in which they were added, on the caller's thread.
///
/// A dispatch allocates nothing unless a handler, or the fold, does. What a handler throws is a
/// failure; what the fold throws leaves `dispatch`.
///
/// Handlers may dispatch on the chain that is running them, and may add to it and remove from it, as
/// their destructors may: a dispatch in flight keeps the handlers that it started with, the next one,
/// also one that is nested in it, has those of its own moment.
///
/// `handler_info::timeout` and `E::deadline` mean nothing here: nobody can stop a function that is
/// running. A handler that may take long belongs in an async_chain.
///
/// Not safe for use by several threads at once.
template <class E>
class chain {
    static_assert(detail::check_event<E>());

public:
    /// `trace` must outlive the chain.
    explicit chain(trace_sink* trace = nullptr) noexcept : trace_(trace) {}

    chain(const chain&) = delete;
    chain& operator=(const chain&) = delete;

    ~chain() { const auto last = std::move(handlers_); }  // their destructors find an empty chain

    /// Adds a handler after the others. `info.position` is set by the chain.
    template <class Handler>
    handler_id add(handler_info info, Handler handler)
    {
        static_assert(detail::check_handler<E, Handler, detail::waits::never>());
        const auto id = static_cast<handler_id>(++last_id_);
        handlers_.push_back(std::make_unique<entry>(
            entry{[h = std::move(handler)](detail::folding<E>& dispatch,
                                           const handler_info& who) mutable {
                      return dispatch.ask(h, who);
                  },
                  std::move(info), id, never}));
        number();
        return id;
    }

    /// Removes a handler; false if there is none of that id (any more).
    bool remove(handler_id id)
    {
        const auto found = std::ranges::find_if(
            handlers_, [&](const auto& one) { return one->id == id && one->removed == never; });
        if (found == handlers_.end()) return false;
        (*found)->removed = ++now_;
        ++dead_;
        tidy();
        return true;
    }

    /// How many handlers the next event will find.
    std::size_t size() const noexcept { return handlers_.size() - dead_; }

    /// Asks every handler until one decides.
    outcome_of<E> dispatch(const E& event)
    {
        const flight here(*this);
        detail::folding<E> folding(event, trace_);
        auto then = flow::proceed;
        for (std::size_t i = 0; i != here.count; ++i) {
            auto& one = *handlers_[i];
            if (one.removed < here.started) continue;
            if (then == flow::stop) {
                if (!folding.traced()) break;
                folding.skip(one.info);
            } else {
                then = one.call(folding, one.info);
            }
        }
        return std::move(folding).finish();
    }

private:
    using moment = unsigned long long;
    static constexpr moment never = ~moment{0};

    struct entry {
        detail::unique_function<flow(detail::folding<E>&, const handler_info&)> call;
        handler_info info;
        handler_id id;
        moment removed;  // dispatches that started later do not see it
    };

    // A dispatch: while there is one, the list only grows at its end.
    struct flight {
        explicit flight(chain& owner) noexcept
            : chain_(owner), started(++owner.now_), count(owner.handlers_.size())
        {
            ++chain_.in_flight_;
        }
        ~flight()
        {
            --chain_.in_flight_;
            chain_.tidy();
        }
        flight(const flight&) = delete;
        flight& operator=(const flight&) = delete;

    private:
        chain& chain_;

    public:
        const moment started;
        const std::size_t count;
    };

    // Destroys what was removed, once nobody is looking: one at a time, since a destructor may come
    // back here.
    void tidy() noexcept
    {
        while (dead_ != 0 && in_flight_ == 0) {
            const auto found = std::ranges::find_if(
                handlers_, [](const auto& one) { return one->removed != never; });
            const auto dead = std::move(*found);
            handlers_.erase(found);
            --dead_;
            number();
        }
    }

    void number() noexcept
    {
        std::size_t position = 0;
        for (auto& one : handlers_) {
            if (one->removed == never) one->info.position = ++position;
        }
    }

    std::vector<std::unique_ptr<entry>> handlers_;  // entries stay where they are
    std::size_t dead_ = 0;                          // removed, and still in the list
    moment now_ = 0;
    unsigned in_flight_ = 0;
    unsigned long long last_id_ = 0;
    trace_sink* trace_;
};

}  // namespace belay

#endif
