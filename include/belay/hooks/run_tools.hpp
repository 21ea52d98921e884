#ifndef BELAY_HOOKS_RUN_TOOLS_HPP
#define BELAY_HOOKS_RUN_TOOLS_HPP

// All tool calls of one reply of the model, taken through their hooks, the host's permission check
// and the host's tools. `session::async_run_tools` does it; here is what goes in and what comes
// out.
//
//     belay::hooks::tool_host host;
//     host.permit = [](const tool_call& call) {
//         return may_run(call) ? permission::grant() : permission::deny("not in this folder");
//     };
//     host.run = [](const tool_call& call) { return text_result(run(call)); };
//     model_reply reply{.calls = calls};  // named: g++ 12 destroys a braced argument of a co_await twice
//     auto records = co_await session.async_run_tools(reply, host, use_awaitable);

#include <belay/config.hpp>
#include <belay/core/handler.hpp>
#include <belay/hooks/tool.hpp>
#include <belay/hooks/tool_events.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace belay::hooks {

/// What the host's permission check says of a call. A default-constructed one is a denial.
struct permission {
    bool granted = false;
    std::string reason{};  ///< of a denial: the text of the error result that the model gets

    /// The call may run.
    static permission grant() { return {true, {}}; }

    /// It may not; `why` is told to the model.
    static permission deny(std::string why) { return {false, std::move(why)}; }
};

namespace detail {

// One call of a host function that answers later.
template <class T>
struct host_call {
    virtual ~host_call() = default;
    virtual void answer(T what) noexcept = 0;  // the first one counts; from any thread
    virtual void fail(std::string message) noexcept = 0;
    virtual boost::asio::any_io_executor executor() const noexcept = 0;
    virtual boost::asio::cancellation_slot slot() noexcept = 0;
};

}  // namespace detail

/// How a permission check or a tool answers later. Move-only; use it from any thread, once, while
/// the session's executor lives. The call that the function was given stays valid until the reply
/// has been used or destroyed. Destroying it unused is a failure. What comes after a cancellation
/// is dropped.
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

    /// As if the function had thrown.
    void fail(std::string message)
    {
        if (auto call = std::move(call_)) call->fail(std::move(message));
    }

    /// The session's executor.
    boost::asio::any_io_executor get_executor() const { return call_->executor(); }

    /// Fires when the batch is cancelled.
    boost::asio::cancellation_slot get_cancellation_slot() const { return call_->slot(); }

private:
    std::shared_ptr<detail::host_call<T>> call_;
};

namespace detail {

template <class F, class T>
concept returns_at_once = std::invocable<F&, const tool_call&> &&
                          std::convertible_to<std::invoke_result_t<F&, const tool_call&>, T>;

template <class F, class T>
concept takes_reply = std::invocable<F&, const tool_call&, host_reply<T>> &&
                      std::is_void_v<std::invoke_result_t<F&, const tool_call&, host_reply<T>>>;

template <class F, class T>
concept awaits = std::invocable<F&, const tool_call&> &&
                 belay::detail::awaited<std::invoke_result_t<F&, const tool_call&>>::known;

// Defined by <belay/hooks/coroutine.hpp>.
template <class T>
struct await_host_call;

}  // namespace detail

/// A function of the host that is asked about a call, erased: one that returns a T, one that takes
/// a `host_reply<T>` after the call and returns nothing, or, with <belay/hooks/coroutine.hpp>, one
/// that returns a `boost::asio::awaitable<T>`. Copies share one function. It is called on the
/// session's executor, and must not block for long.
template <class T>
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

    /// What it throws before it has answered passes through.
    void operator()(const tool_call& call, host_reply<T> reply) const
    {
        function_->start(call, std::move(reply));
    }

private:
    struct base {
        virtual ~base() = default;
        virtual void start(const tool_call& call, host_reply<T> reply) = 0;
    };

    template <class F>
    struct erased final : base {
        template <class G>
        explicit erased(G&& g) : function(std::forward<G>(g))
        {}

        void start(const tool_call& call, host_reply<T> reply) override
        {
            if constexpr (detail::takes_reply<F, T>) {
                function(call, std::move(reply));
            } else if constexpr (detail::returns_at_once<F, T>) {
                reply(function(call));
            } else if constexpr (detail::awaits<F, T>) {
                detail::await_host_call<T>::start(function(call), std::move(reply));
            } else {
                static_assert(detail::returns_at_once<F, T>,
                              "belay: a permission check takes const tool_call& and returns a "
                              "permission, and a tool a tool_result; or it takes a host_reply as "
                              "well and returns nothing (for a coroutine, include "
                              "<belay/hooks/coroutine.hpp>)");
            }
        }

        F function;
    };

    std::shared_ptr<base> function_;
};

using permission_reply = host_reply<permission>;
using tool_reply = host_reply<tool_result>;

/// The host's part in a batch of calls.
struct tool_host {
    /// Asked about each call that the hooks let through, with its effective input. Absent, or
    /// failing: the call is denied.
    host_function<permission> permit{};

    /// Runs a call that is permitted, with its effective input. Absent, or failing: the result is
    /// an error that says so.
    host_function<tool_result> run{};

    std::size_t chains_at_once =
        8;  ///< calls whose pre_tool_use hooks run at the same time, at least 1
    std::size_t tools_at_once = 1;  ///< calls whose tools run at the same time, at least 1
};

/// What became of a call.
enum class call_fate : unsigned char {
    not_offered,  ///< the turn does not offer its tool: no hook has seen it
    blocked,      ///< by a pre_tool_use hook
    hook_failed,  ///< a pre_tool_use hook of the configuration failed
    denied,       ///< by the permission check, or because that failed
    replaced,     ///< its result is a hook's
    ran,          ///< its tool ran, whatever came of it
};

/// One call of a batch.
struct call_record {
    call_fate fate = call_fate::not_offered;
    tool_call call{};      ///< with its effective input
    tool_result result{};  ///< what the model gets; an error unless the call ran or was replaced

    std::chrono::duration<double, std::milli> duration{};  ///< of its tool

    std::optional<pre_tool_use::outcome>
        before{};  ///< what the hooks before it said; none if not offered
    std::optional<post_tool_use::outcome>
        after{};  ///< what the hooks after it said, if it ran or was replaced
};

}  // namespace belay::hooks

#endif
