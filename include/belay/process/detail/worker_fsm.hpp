#ifndef BELAY_PROCESS_DETAIL_WORKER_FSM_HPP
#define BELAY_PROCESS_DETAIL_WORKER_FSM_HPP

// Which request a worker gets next, and what happens to the requests when it fails. Events in, steps
// out: no descriptor, no child, no clock of its own.

#include <belay/config.hpp>
#include <belay/core/detail/time_after.hpp>
#include <belay/core/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace belay::process::detail {

/// What is to be done with the child. All but `hang_up` are the last that the machine has to do with it.
enum class worker_end : unsigned char {
    none,
    hang_up,    ///< no more input; its exit will be told
    retire,     ///< no more input; it has done its work
    terminate,  ///< it has failed
};

/// What the operation has to do now, in this order. Nothing set: nothing to do but wait.
struct worker_step {
    using ticket = std::uint64_t;

    struct completion {
        ticket which;
        error_code error;
    };
    struct line {
        ticket which;
        std::uint64_t id;
    };

    worker_end end = worker_end::none;
    std::vector<completion> complete = {};
    std::vector<ticket> wait_again = {};  // sent to a child that is gone, and to be sent once more
    bool launch = false;          ///< start a child, then call `launched` or `launch_failed`
    std::vector<line> send = {};  ///< give the child these requests under these ids

    void clear() noexcept
    {
        end = worker_end::none;
        complete.clear();
        wait_again.clear();
        launch = false;
        send.clear();
    }
};

/// The requests to one worker. The facts that it keeps in order: a request completes exactly once; it is
/// sent at most twice; what is sent a second time is sent alone, so that what fails then has failed by
/// itself; an answer is taken only from the child that was asked; a pause after failures is waited for
/// only by those that have as much time.
///
/// A step lasts until the next event: it is the machine's, so that none costs an allocation.
class worker_fsm {
public:
    using time_point = std::chrono::steady_clock::time_point;
    using milliseconds = std::chrono::milliseconds;
    using ticket = worker_step::ticket;

    struct rules {
        std::size_t in_flight;
        std::size_t recycle_after;
        std::optional<milliseconds> idle_timeout;
        milliseconds first_pause;
        milliseconds longest_pause;
        milliseconds grace;
    };

    /// How long, and how often, a program that is open for writing is tried again.
    static constexpr milliseconds busy_window{100};
    static constexpr milliseconds busy_pause{5};

    /// Who has a timeout does not wait longer than this for a child that has failed to be started again.
    static constexpr milliseconds longest_wait{1000};

    /// `in_flight` and `recycle_after` are 1 or more; a 0 is 1.
    BELAY_DECL explicit worker_fsm(const rules& by);

    /// Tickets are the caller's, no two the same.
    BELAY_DECL const worker_step& request(ticket which, std::optional<milliseconds> timeout,
                                          time_point now);
    BELAY_DECL const worker_step& cancel(ticket which, time_point now);
    BELAY_DECL const worker_step& shut_down();

    BELAY_DECL const worker_step& launched(time_point now);
    BELAY_DECL const worker_step& launch_failed(errc why, time_point now);

    /// The child has answered a request that it has in flight.
    BELAY_DECL const worker_step& answered(std::uint64_t id, time_point now);

    /// The child has written what is no answer.
    BELAY_DECL const worker_step& misbehaved(errc why, time_point now);

    /// The child has closed its stdin or its stdout.
    BELAY_DECL const worker_step& hung_up(time_point now);

    /// The child has ended, and what it had written was read.
    BELAY_DECL const worker_step& exited(error_code how, time_point now);

    BELAY_DECL const worker_step& time_passed(time_point now);

    /// When `time_passed` has to be called.
    BELAY_DECL std::optional<time_point> next_wake() const;

    /// Of children, since the last answer.
    unsigned failures() const noexcept { return failures_; }

    /// After them no child is started before this.
    time_point not_before() const noexcept { return not_before_; }

    /// Whether the child has this request and has not answered it.
    BELAY_DECL bool is_in_flight(std::uint64_t id) const noexcept;

    /// Whether the child was ever given this request.
    bool was_sent(std::uint64_t id) const noexcept { return 0 < id && id <= sent_; }

private:
    enum class state : unsigned char { none, launching, running, leaving };

    struct request_state {
        ticket which;
        std::optional<milliseconds> timeout;
        bool again = false;      // sent before, to a child that is gone
        bool abandoned = false;  // completed; its answer will be dropped
        std::uint64_t id = 0;
        time_point deadline = time_point::max();
    };

    BELAY_DECL void go_on(time_point now, time_point turn);
    BELAY_DECL void fail_in_flight(error_code why);
    template <class HasFailed>
    void take_back(error_code why, HasFailed has_failed);
    BELAY_DECL void count_failure(time_point now);
    BELAY_DECL bool has_time_for_pause(std::optional<milliseconds> timeout,
                                       time_point now) const noexcept;
    BELAY_DECL bool has_room_for(const request_state& one) const noexcept;
    bool is_spent() const noexcept { return sent_ >= rules_.recycle_after; }

    rules rules_;
    worker_step step_;
    state state_ = state::none;
    bool closed_ = false;
    std::deque<request_state> waiting_;
    std::deque<request_state> in_flight_;  // in the order of their ids
    std::uint64_t sent_ = 0;               // to this child; the last id
    unsigned failures_ = 0;                // of children since the last answer
    time_point not_before_ = time_point::min();
    std::optional<time_point> busy_since_;
    std::optional<time_point> idle_since_;
    time_point launch_started_{};
};

}  // namespace belay::process::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/process/impl/worker_fsm.ipp>
#endif

#endif
