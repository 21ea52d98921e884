#ifndef BELAY_CORE_REPLY_HPP
#define BELAY_CORE_REPLY_HPP

// How a handler of an async_chain answers later.

#include <belay/core/event.hpp>

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace belay {
namespace detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

template <class R, class E>
concept optional_alternative = is_optional<R> && alternative_of<typename R::value_type, E>;

// What a handler of E may return, and what its reply takes.
template <class R, class E>
concept answers = std::is_void_v<R> || alternative_of<R, E> || optional_alternative<R, E> ||
                  std::same_as<R, typename E::answer>;

// One call of one handler that answers later. The chain's side is in detail/flight.hpp.
template <class E>
struct call_base {
    // An answer, or how the handler failed (no message: what the code says).
    struct failed {
        errc code{};
        std::string message{};
    };
    using said = std::variant<typename E::answer, failed>;

    virtual ~call_base() = default;
    virtual void settle(said what) noexcept = 0;  // the first one counts; from any thread
    virtual bool open() const noexcept = 0;
    virtual const handler_info& info() const noexcept = 0;
    virtual std::chrono::steady_clock::time_point deadline() const noexcept = 0;
    virtual void await_turn(std::chrono::milliseconds at_most, std::string what) noexcept = 0;
    virtual bool begin() noexcept = 0;
};

}  // namespace detail

/// The one answer that a handler owes for one event. Move-only; use it from any thread, once, while
/// the chain's executor lives. What comes after the chain has moved on is dropped.
///
/// The event that the handler was given stays valid until the reply has been used or destroyed.
/// Destroying it unused is a failure of the handler, `errc::unanswered`. One that was moved from or
/// used can only be assigned to or destroyed.
template <class E>
class reply {
public:
    explicit reply(std::shared_ptr<detail::call_base<E>> call) noexcept : call_(std::move(call)) {}

    reply(reply&&) noexcept = default;
    reply& operator=(reply&& other) noexcept
    {
        if (this == &other) return *this;
        reply(std::move(*this));  // an answer that was still owed is now unanswered
        call_ = std::move(other.call_);
        return *this;
    }

    ~reply()
    {
        if (call_) call_->settle(failed{errc::unanswered, {}});
    }

    /// No opinion.
    void operator()() { settle(observe{}); }

    /// Anything that a handler of E may return.
    template <class Said>
    void operator()(Said&& said)
    {
        using type = std::remove_cvref_t<Said>;
        static_assert(
            detail::answers<type, E>,
            "belay: this event does not accept what the reply was given; give it "
            "nothing, one alternative of E::answer, a std::optional of one, or E::answer");
        if constexpr (detail::is_optional<type>) {
            if (said) {
                settle(*std::forward<Said>(said));
            } else {
                settle(observe{});
            }
        } else {
            settle(std::forward<Said>(said));
        }
    }

    /// The handler has failed; its event's fold says what that means.
    void fail(errc code, std::string message) { settle_with(failed{code, std::move(message)}); }

    /// Whether the chain still waits for this answer.
    bool awaited() const noexcept { return call_ && call_->open(); }

    /// Who answers here.
    const handler_info& info() const noexcept { return call_->info(); }

    /// When the chain will stop waiting, on its clock; `time_point::max()` for never, or while the
    /// handler waits for its turn.
    std::chrono::steady_clock::time_point deadline() const noexcept { return call_->deadline(); }

    /// For a handler that cannot begin at once, since it needs what others are using (a free thread,
    /// a free worker): until `begin`, or its answer, neither its timeout nor a deadline runs. Call
    /// it before the handler returns, or after `begin`, when it has to wait once more.
    void await_turn() { call_->await_turn(std::chrono::milliseconds::max(), {}); }

    /// The same, for a wait that may be in vain: when it is over the handler has failed
    /// (`errc::not_started`; `what` is a singular noun, as in "no thread was free within 5000ms"), and
    /// `begin` says false. Call it before the handler returns.
    void await_turn(std::chrono::milliseconds at_most, std::string what)
    {
        call_->await_turn(at_most, std::move(what));
    }

    /// The turn has come, and its time runs. False: nobody waits for the answer any more.
    bool begin() { return call_->begin(); }

    /// The executor of this dispatch, a boost::asio::any_io_executor: start work on it, so that the
    /// cancellation below is serialised with it. Ask before the handler returns.
    auto get_executor() const;

    /// A boost::asio::cancellation_slot that fires when the handler is abandoned or cancelled before
    /// it has answered. If the operation that it was bound to ends before that, clear it.
    auto get_cancellation_slot() const;

private:
    using failed = typename detail::call_base<E>::failed;

    template <class Said>
    void settle(Said&& said)
    {
        settle_with(typename E::answer(std::forward<Said>(said)));
    }

    void settle_with(typename detail::call_base<E>::said what)
    {
        if (const auto call = std::move(call_)) call->settle(std::move(what));
    }

    std::shared_ptr<detail::call_base<E>> call_;
};

}  // namespace belay

#endif
