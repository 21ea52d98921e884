#ifndef BELAY_CORE_HOST_FUNCTION_HPP
#define BELAY_CORE_HOST_FUNCTION_HPP

// What the engine asks the program that embeds it, as functions that may answer at once or later.
//
//     host.run = [](const tool_call& call) { return text_result(run(call)); };
//     host.run = [](const tool_call& call, host_reply<tool_result> reply) { ... };
//     host.run = [](const tool_call& call) -> boost::asio::awaitable<tool_result> { ... };
//
// The last form needs <belay/core/coroutine.hpp>.

#include <belay/core/handler.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace belay {
namespace detail {

// One call of a host function that answers later.
template <class T>
struct host_call {
    virtual ~host_call() = default;
    virtual void answer(T what) noexcept = 0;  // the first one counts; from any thread
    virtual void fail(std::exception_ptr why) noexcept = 0;
    virtual boost::asio::any_io_executor executor() const noexcept = 0;
    virtual boost::asio::cancellation_slot slot() noexcept = 0;
};

}  // namespace detail

/// How a function of the host answers later. Move-only; use it from any thread, once, while the
/// executor of the one who asks lives. What the function was called with stays valid until the reply
/// has been used or destroyed. Destroying it unused is a failure. What comes after a cancellation is
/// dropped, but for what a model's answer has cost. One that was used or moved from can only be
/// assigned to or destroyed.
template <class T>
class host_reply {
public:
    explicit host_reply(std::shared_ptr<detail::host_call<T>> call) noexcept
        : call_(std::move(call))
    {}

    host_reply(host_reply&&) noexcept = default;
    host_reply& operator=(host_reply&& other) noexcept
    {
        if (this == &other) return *this;
        host_reply(std::move(*this));  // an answer that was still owed is now a failure
        call_ = std::move(other.call_);
        return *this;
    }

    ~host_reply()
    {
        if (call_) fail("it gave no answer");
    }

    void operator()(T what)
    {
        if (auto call = std::move(call_)) call->answer(std::move(what));
    }

    /// As if the function had thrown `why`, which is not null.
    void fail(std::exception_ptr why)
    {
        if (auto call = std::move(call_)) call->fail(std::move(why));
    }

    /// As if it had thrown a `std::runtime_error`.
    void fail(const std::string& message)
    {
        fail(std::make_exception_ptr(std::runtime_error(message)));
    }

    /// The executor of the one who asks.
    boost::asio::any_io_executor get_executor() const { return call_->executor(); }

    /// Fires when the operation that asks is cancelled. Only on the executor.
    boost::asio::cancellation_slot get_cancellation_slot() const { return call_->slot(); }

private:
    std::shared_ptr<detail::host_call<T>> call_;
};

namespace detail {

template <class F, class T, class Asked>
concept returns_at_once = std::invocable<F&, const Asked&> &&
                          std::convertible_to<std::invoke_result_t<F&, const Asked&>, T>;

template <class F, class T, class Asked>
concept takes_reply = std::invocable<F&, const Asked&, host_reply<T>> &&
                      std::is_void_v<std::invoke_result_t<F&, const Asked&, host_reply<T>>>;

template <class F, class Asked>
concept awaits =
    std::invocable<F&, const Asked&> && awaited<std::invoke_result_t<F&, const Asked&>>::known;

// Defined by <belay/core/coroutine.hpp>.
template <class T>
struct await_host_call;

}  // namespace detail

/// A function of the host, erased: one that takes `const Asked&` and returns a T, one that takes a
/// `host_reply<T>` as well and returns nothing, or, with <belay/core/coroutine.hpp>, one that
/// returns a `boost::asio::awaitable<T>`. Copies share one function. It is called on the
/// executor of the one who asks, and must not block for long, unless that one says otherwise.
template <class T, class Asked>
class host_function {
public:
    /// None.
    host_function() noexcept = default;

    template <class F>
        requires(!std::same_as<std::remove_cvref_t<F>, host_function>)
    host_function(F&& function)
        : function_(std::make_shared<erased<std::decay_t<F>>>(std::forward<F>(function)))
    {}

    explicit operator bool() const noexcept { return function_ != nullptr; }

    /// Whether it is there and returns its answer: then it may be called without a reply.
    bool immediate() const noexcept { return function_ && function_->immediate; }

    /// What it throws passes through. Only if it is `immediate`.
    T operator()(const Asked& asked) const { return function_->ask(asked); }

    /// What it throws passes through. If it has answered before it throws, the one who asks says which
    /// of both counts: the exception, but for the answer of a model, which is to be paid for.
    void operator()(const Asked& asked, host_reply<T> reply) const
    {
        function_->start(asked, std::move(reply));
    }

private:
    struct base {
        explicit base(bool answers_at_once) noexcept : immediate(answers_at_once) {}
        virtual ~base() = default;
        virtual T ask(const Asked& asked) = 0;  // if it is immediate
        virtual void start(const Asked& asked, host_reply<T> reply) = 0;

        const bool immediate;
    };

    template <class F>
    struct erased final : base {
        template <class G>
        explicit erased(G&& g)
            : base(detail::returns_at_once<F, T, Asked> && !detail::takes_reply<F, T, Asked>),
              function(std::forward<G>(g))
        {}

        T ask(const Asked& asked) override
        {
            if constexpr (detail::returns_at_once<F, T, Asked>) {
                return function(asked);
            } else {
                throw std::logic_error("belay: this function of the host answers later");
            }
        }

        void start(const Asked& asked, host_reply<T> reply) override
        {
            if constexpr (detail::takes_reply<F, T, Asked>) {
                function(asked, std::move(reply));
            } else if constexpr (detail::returns_at_once<F, T, Asked>) {
                reply(function(asked));
            } else if constexpr (detail::awaits<F, Asked>) {
                detail::await_host_call<T>::start(function(asked), std::move(reply));
            } else {
                static_assert(
                    detail::returns_at_once<F, T, Asked>,
                    "belay: this function of the host does not fit: it takes const Asked& and "
                    "returns a T (of host_function<T, Asked>), or it takes a host_reply<T> as "
                    "well and returns nothing (for a coroutine that returns awaitable<T>, include "
                    "<belay/core/coroutine.hpp>)");
            }
        }

        F function;
    };

    std::shared_ptr<base> function_;
};

}  // namespace belay

#endif
