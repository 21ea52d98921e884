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
#include <belay/core/detail/subject_index.hpp>
#include <belay/core/matcher.hpp>
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
    explicit chain(trace_sink* trace = nullptr) noexcept : trace_(trace), detours_(trace != nullptr)
    {}

    chain(const chain&) = delete;
    chain& operator=(const chain&) = delete;

    ~chain()  // their destructors find an empty chain
    {
        index_ = {};
        const auto last = std::move(handlers_);
    }

    /// Adds a handler after the others. `info.position` is set by the chain.
    template <class Handler>
    handler_id add(handler_info info, Handler handler)
    {
        return insert(std::move(info), {}, std::move(handler));
    }

    /// Adds a handler that is asked only about events of some subjects.
    template <class Handler>
    handler_id add(handler_info info, matcher only_for, Handler handler)
    {
        static_assert(detail::check_subject<E>());
        return insert(std::move(info), std::move(only_for), std::move(handler));
    }

    /// Removes a handler; false if there is none of that id (any more).
    bool remove(handler_id id)
    {
        const auto found = std::ranges::find_if(
            handlers_, [&](const auto& one) { return one->id == id && one->removed == never; });
        if (found == handlers_.end()) return false;
        (*found)->removed = ++now_;
        ++dead_;
        ++detours_;
        tidy();
        return true;
    }

    /// How many handlers the next event will find, whatever its subject.
    std::size_t size() const noexcept { return handlers_.size() - dead_; }

    /// Asks every handler until one decides.
    outcome_of<E> dispatch(const E& event)
    {
        if (detours_ != 0) [[unlikely]]
            return ask_listed(event);
        return index_.trivial() ? ask_all(event) : ask_some(event);
    }

private:
    using moment = unsigned long long;
    static constexpr moment never = ~moment{0};

    struct entry {
        entry(handler_info who, matcher which, handler_id name)
            : info(std::move(who)), only_for(std::move(which)), id(name)
        {}
        virtual ~entry() = default;
        virtual flow ask(detail::folding<E>& dispatch) = 0;

        handler_info info;
        const matcher only_for;
        const handler_id id;
        moment removed = never;  // dispatches that started later do not see it
    };

    template <class Handler>
    struct entry_of final : entry {
        entry_of(handler_info who, matcher which, handler_id name, Handler h)
            : entry(std::move(who), std::move(which), name), handler(std::move(h))
        {}

        static flow ask_untraced(entry& one, detail::folding<E>& dispatch)
        {
            auto& self = static_cast<entry_of&>(one);
            return dispatch.ask_untraced(self.handler, self.info);
        }
        flow ask(detail::folding<E>& dispatch) override
        {
            return dispatch.traced() ? dispatch.ask_traced(handler, this->info)
                                     : ask_untraced(*this, dispatch);
        }

        Handler handler;
    };

    // How an entry is asked where nobody traces, beside the pointer to it: a dispatch of an
    // event that is for all reads a plain array, and of the entry only its handler.
    struct call {
        flow (*ask_untraced)(entry&, detail::folding<E>&);
        entry* who;

        entry* operator->() const noexcept { return who; }
        flow operator()(detail::folding<E>& dispatch) const { return ask_untraced(*who, dispatch); }
    };

    // A dispatch: while there is one, the lists only grow at their ends.
    class flight {
    public:
        explicit flight(chain& owner) noexcept : chain_(owner) { ++chain_.detours_; }
        ~flight()
        {
            if (--chain_.detours_ != 0) [[unlikely]]
                chain_.tidy();
        }
        flight(const flight&) = delete;
        flight& operator=(const flight&) = delete;

    private:
        chain& chain_;
    };

    template <class Handler>
    handler_id insert(handler_info info, matcher only_for, Handler handler)
    {
        static_assert(detail::check_handler<E, Handler, detail::waits::never>());
        const auto id = static_cast<handler_id>(++last_id_);
        handlers_.push_back(std::make_unique<entry_of<Handler>>(
            std::move(info), std::move(only_for), id, std::move(handler)));
        const call added{&entry_of<Handler>::ask_untraced, handlers_.back().get()};
        try {
            index_.add(added);
        } catch (...) {
            index_.remove(id, added->only_for);
            handlers_.pop_back();
            throw;
        }
        added->info.position = size();
        return id;
    }

    outcome_of<E> ask_all(const E& event)
    {
        const flight here(*this);
        detail::folding<E> folding(event, nullptr);
        const auto& all = index_.others();
        for (std::size_t i = 0, count = all.size(); i != count; ++i) {
            if (all[i](folding) == flow::stop) break;
        }
        return std::move(folding).finish();
    }

    BELAY_NOINLINE outcome_of<E> ask_some(const E& event)
    {
        const auto subject = detail::subject_of(event);
        if (index_.none_for(subject)) return detail::folding<E>(event, nullptr).finish();
        return ask_for(subject, event);
    }

    BELAY_NOINLINE outcome_of<E> ask_for(std::string_view subject, const E& event)
    {
        const flight here(*this);
        detail::folding<E> folding(event, nullptr);
        auto wanted = index_.find(subject);
        while (const auto* one = wanted.next()) {
            if ((*one)(folding) == flow::stop) break;
        }
        return std::move(folding).finish();
    }

    // One after the other, with a look at each: some have been removed by a dispatch that this one is
    // nested in, or the trace is to hear also of those that are not asked.
    BELAY_NOINLINE outcome_of<E> ask_listed(const E& event)
    {
        const flight here(*this);
        detail::folding<E> folding(event, trace_);
        const auto started = now_;
        auto then = flow::proceed;
        for (std::size_t i = 0, count = handlers_.size(); i != count; ++i) {
            auto& one = *handlers_[i];
            if (one.removed <= started) continue;
            const bool matched = one.only_for.matches(detail::subject_of(event));
            if (matched && then == flow::proceed) {
                then = one.ask(folding);
            } else {
                folding.skip(one.info, matched);
            }
        }
        return std::move(folding).finish();
    }

    // Destroys what was removed, once nobody is looking: one at a time, since a destructor may come
    // back here.
    BELAY_NOINLINE void tidy() noexcept
    {
        while (dead_ != 0 && !in_flight()) {
            const auto found = std::ranges::find_if(
                handlers_, [](const auto& one) { return one->removed != never; });
            const auto dead = std::move(*found);
            index_.remove(dead->id, dead->only_for);
            handlers_.erase(found);
            --dead_;
            --detours_;
            number();
        }
    }

    bool in_flight() const noexcept { return detours_ > dead_ + (trace_ != nullptr); }

    void number() noexcept
    {
        std::size_t position = 0;
        for (auto& one : handlers_) {
            if (one->removed == never) one->info.position = ++position;
        }
    }

    detail::subject_index<call> index_;             // of all handlers_
    std::vector<std::unique_ptr<entry>> handlers_;  // entries stay where they are
    std::size_t dead_ = 0;                          // removed, and still in the list
    moment now_ = 0;                                // counts what was removed
    unsigned long long last_id_ = 0;
    trace_sink* const trace_;

    // Why a dispatch is to take the long way: that there is a trace, each of the dead, each dispatch
    // in flight. One number, since a dispatch that takes the short way looks at no other.
    std::size_t detours_;
};

}  // namespace belay

#endif
