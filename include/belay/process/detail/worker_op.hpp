#ifndef BELAY_PROCESS_DETAIL_WORKER_OP_HPP
#define BELAY_PROCESS_DETAIL_WORKER_OP_HPP

// The requests of a worker and the child that it has at the time: it does what `worker_fsm` decides. Only
// impl/worker.ipp includes this.

#include <belay/config.hpp>
#include <belay/core/clock.hpp>
#include <belay/core/error.hpp>
#include <belay/process/detail/launch.hpp>
#include <belay/process/detail/run_handler.hpp>
#include <belay/process/detail/worker_fsm.hpp>
#include <belay/process/detail/worker_handler.hpp>
#include <belay/process/exit_report.hpp>
#include <belay/process/worker_types.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::process::detail {

class worker_child;
class worker_alarm;

/// Owns no I/O object, so it may outlive its context. Whatever does own one, the child and the alarm, is
/// kept alive by its own waits, and says here when its context has been destroyed under it.
class worker_op : public std::enable_shared_from_this<worker_op> {
public:
    BELAY_DECL worker_op(boost::asio::any_io_executor executor, worker_options options, clock& time,
                         spawner spawn = nullptr);
    worker_op(const worker_op&) = delete;
    worker_op& operator=(const worker_op&) = delete;

    BELAY_DECL void request(std::string&& event, std::optional<std::chrono::milliseconds> timeout,
                            turn_listener&& turn, worker_handler&& handler);
    BELAY_DECL void shut_down();

    // What the child tells, and the alarm.
    BELAY_DECL void on_line(std::string_view line);
    BELAY_DECL void on_long_line(std::string_view beginning);
    BELAY_DECL void on_hang_up();
    BELAY_DECL void on_exit(exit_status status, bool was_made_to);
    BELAY_DECL void on_alarm();

    /// Lines that come at once: the requests that they answer are completed at their end, one after the
    /// other, and what was sent meanwhile, by those who heard of that, too, is written together.
    void begin_lines() noexcept
    {
        in_lines_ = true;
        lines_began_ = time_.now();
    }

    /// Last in a handler of the executor, since a completion may throw.
    BELAY_DECL void end_lines();

    /// Nothing will ever happen again. The handlers are destroyed while what they hold may be.
    BELAY_DECL void on_context_destroyed() noexcept;

private:
    using ticket = worker_fsm::ticket;

    struct pending_request {
        worker_handler handler;
        std::string event;
        std::optional<std::chrono::milliseconds> timeout;
        turn_listener turn;
        clock::time_point started;
        bool pays_for_start = false;
    };
    struct completion {
        worker_handler::function call;
        error_code error;
        worker_reply reply;

        void operator()() { std::move(call)(error, std::move(reply)); }
    };

    BELAY_DECL ticket keep(pending_request&& request);
    BELAY_DECL void forget(ticket which);
    BELAY_DECL void tell_turn(ticket which, bool has_turn);
    pending_request& at(ticket which) { return *pending_[static_cast<std::uint32_t>(which)]; }
    std::size_t pending() const noexcept { return pending_.size() - free_.size(); }

    BELAY_DECL void obey(const worker_step& first, clock::time_point now);
    BELAY_DECL const worker_step& launch();
    BELAY_DECL std::shared_ptr<worker_child> make_child();
    BELAY_DECL void go_on();
    BELAY_DECL void forget_lines() noexcept;
    BELAY_DECL void write();
    BELAY_DECL void hung_up();
    BELAY_DECL void forget_evidence() noexcept;
    BELAY_DECL std::string why_late() const;
    BELAY_DECL std::string why_unavailable(clock::time_point now) const;
    BELAY_DECL void misbehaved(errc why, std::string detail);
    BELAY_DECL void complete(const worker_step::completion& what, clock::time_point now);
    BELAY_DECL void post(completion what);
    BELAY_DECL void set_alarm();

    boost::asio::any_io_executor executor_;
    worker_options options_;
    clock& time_;
    spawner spawn_;
    worker_fsm fsm_;
    std::vector<std::optional<pending_request>> pending_;  // at the lower half of its ticket
    std::vector<std::uint32_t> free_;                      // the places in it that are
    ticket count_ = 0;                                     // of all requests
    worker_child* child_ = nullptr;
    std::weak_ptr<worker_alarm> alarm_;
    bool is_dead_ = false;
    bool in_lines_ = false;
    clock::time_point lines_began_{};
    bool write_is_posted_ = false;
    std::vector<completion> ready_;  // at the end of the lines
    std::vector<completion> spare_;  // empty: room for the next ones

    std::string_view result_;    // of the line that is told, for the request that it answers
    worker_reply evidence_;      // for those that fail
    worker_reply last_failure_;  // of a child
    std::uint64_t answers_ = 0;  // of this child
    std::string hung_up_;        // how it did, if it did
};

}  // namespace belay::process::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/process/impl/worker_op.ipp>
#endif

#endif
