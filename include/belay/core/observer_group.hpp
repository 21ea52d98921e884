#ifndef BELAY_CORE_OBSERVER_GROUP_HPP
#define BELAY_CORE_OBSERVER_GROUP_HPP

// The observers that are at work, of any number of events, for the one who does want to wait: a host
// that shuts down.
//
//     belay::observer_group group(io.get_executor());
//     belay::observers<session_end> closed(group);
//     belay::observers<turn_finished> finished(group);
//     ...
//     std::size_t cut = co_await group.async_drain(2s, use_awaitable);  // at the end

#include <belay/config.hpp>
#include <belay/core/clock.hpp>
#include <belay/core/error.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

namespace belay {
namespace detail {

class observer_group_state;
using observer_group_ptr = std::shared_ptr<observer_group_state>;

BELAY_DECL void drain_observers(
    observer_group_ptr group, std::chrono::milliseconds budget,
    boost::asio::any_completion_handler<void(error_code, std::size_t)> handler);

}  // namespace detail

/// Counts the observers that run, and can end them. Copies are one group; all members may be called
/// from any thread.
class observer_group {
public:
    using executor_type = boost::asio::any_io_executor;

    /// `time` must outlive what was notified, and the drains.
    BELAY_DECL explicit observer_group(executor_type executor, clock& time = clock::steady());

    BELAY_DECL executor_type get_executor() const noexcept;
    BELAY_DECL clock& get_clock() const noexcept;

    /// The observers that were told of an event, or are about to be, and have not answered.
    BELAY_DECL std::size_t running() const;

    /// Waits until no observer runs, those included that are notified meanwhile. Those that still
    /// run when `budget` has passed (zero or less: at once) are cut off: cancelled and abandoned,
    /// what they answer later is dropped, and each has failed with `errc::cancelled`. One that blocks
    /// its thread cannot be cut off, and is waited for. The group goes on as before, and drains may
    /// overlap.
    ///
    /// @par Completion signature
    /// `void(error_code, std::size_t cut)`, always through a post to the group's executor. `cut` is
    /// how many were cut off since this was started; their failures have been reported.
    ///
    /// @par Errors
    /// `errc::cancelled`.
    ///
    /// @par Per-operation cancellation
    /// Of any type: ends the wait, and no observer. Emit it where the completion handler runs.
    template <boost::asio::completion_token_for<void(error_code, std::size_t)> Token =
                  boost::asio::deferred_t>
    [[nodiscard]] auto async_drain(std::chrono::milliseconds budget, Token&& token = Token())
    {
        return boost::asio::async_initiate<Token, void(error_code, std::size_t)>(
            initiation{get_executor(), state_}, token, budget);
    }

    /// For observers<E>.
    const detail::observer_group_ptr& state() const noexcept { return state_; }

private:
    struct initiation {
        using executor_type = boost::asio::any_io_executor;

        executor_type executor;
        detail::observer_group_ptr group;

        executor_type get_executor() const noexcept { return executor; }

        template <class Handler>
        void operator()(Handler&& handler, std::chrono::milliseconds budget) const
        {
            detail::drain_observers(group, budget, std::forward<Handler>(handler));
        }
    };

    detail::observer_group_ptr state_;
};

}  // namespace belay

#if defined(BELAY_HEADER_ONLY)
#include <belay/core/impl/observer_group.ipp>
#endif

#endif
