#ifndef BELAY_CORE_DRAFT_HPP
#define BELAY_CORE_DRAFT_HPP

// The event as the next handler sees it.

#include <memory>
#include <type_traits>
#include <utility>

namespace belay {

namespace detail {
struct draft_access;
}

/// Starts as the event that was dispatched, and is changed by the fold alone. The original is never
/// touched; it is copied at the first `edit()`, so a chain that only observes copies nothing.
template <class E>
class draft {
public:
    /// `original` must outlive the draft.
    explicit draft(const E& original) noexcept : original_(&original), view_(&original) {}

    draft(const draft&) = delete;
    draft& operator=(const draft&) = delete;

    /// What the next handler sees.
    const E& view() const noexcept { return *view_; }

    /// The copy to change. In an async_chain it is copied once more if a handler that was abandoned
    /// may still be reading it.
    E& edit()
    {
        static_assert(std::is_copy_constructible_v<E>,
                      "belay: this fold edits its event, so the event must be copy-constructible");
        if (!edited_ || lent_) {
            edited_ = std::make_shared<E>(view());
            view_ = edited_.get();
            lent_ = false;
        }
        return *edited_;
    }

    /// Back to the event that was dispatched.
    void reset() noexcept
    {
        edited_.reset();
        view_ = original_;
        lent_ = false;
    }

    bool edited() const noexcept { return edited_ != nullptr; }

private:
    friend struct detail::draft_access;

    const E* original_;
    const E* view_;
    std::shared_ptr<E> edited_;
    bool lent_ = false;
};

namespace detail {

struct draft_access {
    // The version that a handler reads, kept alive for as long as the handler may read it.
    template <class E>
    static std::shared_ptr<const E> lend(const draft<E>& event,
                                         const std::shared_ptr<const E>& original)
    {
        return event.edited_ ? std::shared_ptr<const E>(event.edited_) : original;
    }

    // The handler was abandoned while it held the current version.
    template <class E>
    static void abandon(draft<E>& event) noexcept
    {
        event.lent_ = event.edited();
    }
};

}  // namespace detail
}  // namespace belay

#endif
