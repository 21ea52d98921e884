#ifndef BELAY_PROCESS_DETAIL_RUN_OP_HPP
#define BELAY_PROCESS_DETAIL_RUN_OP_HPP

// The operation behind `async_run`: it does what `run_fsm` decides. Only impl/run.ipp includes
// this.

#include <belay/config.hpp>
#include <belay/core/detail/time_after.hpp>
#include <belay/process/detail/child.hpp>
#include <belay/process/detail/file_descriptor.hpp>
#include <belay/process/detail/launch.hpp>
#include <belay/process/detail/run_fsm.hpp>
#include <belay/process/detail/run_handler.hpp>
#include <belay/process/exit_report.hpp>
#include <belay/process/invocation.hpp>

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace belay::process::detail {

/// Kept alive by what it waits for, nothing else. It may outlive its completion: then it ends the
/// group and reaps the child. When its context is destroyed, its destructor does that.
class run_op : public std::enable_shared_from_this<run_op> {
public:
    BELAY_DECL run_op(boost::asio::any_io_executor executor, invocation what, std::string input,
                      run_handler handler, spawner spawn);
    run_op(const run_op&) = delete;
    run_op& operator=(const run_op&) = delete;
    BELAY_DECL ~run_op();

    /// Called once, from any thread.
    BELAY_DECL void begin();

private:
    using clock = std::chrono::steady_clock;
    using stream = boost::asio::posix::stream_descriptor;

    /// One of the child's outputs.
    struct output {
        stream pipe;
        std::string kept;
        std::size_t seen = 0;
        std::size_t limit;

        bool is_over_limit() const noexcept { return seen > limit; }
    };

    BELAY_DECL void obey(run_step step);
    BELAY_DECL error_code refusal();
    BELAY_DECL void launch();
    BELAY_DECL void fail_launch(launch_fault fault);
    BELAY_DECL bool write_input(int number);
    BELAY_DECL void wait_for_input_pipe();
    BELAY_DECL void wait_for_output(output& from);
    BELAY_DECL void read_output(output& from);
    BELAY_DECL bool read_some(output& from, std::size_t at_most);
    BELAY_DECL void drain();
    BELAY_DECL void drain(output& from, short events);
    BELAY_DECL void wait_for_exit();
    BELAY_DECL void wait_for_deadline();
    BELAY_DECL void report(error_code error);
    BELAY_DECL void release();
    BELAY_DECL static void close(stream& pipe) noexcept;

    boost::asio::any_io_executor executor_;
    invocation what_;
    std::string input_;
    run_handler handler_;
    boost::asio::any_completion_executor handler_executor_;  // whose context waits for us
    spawner spawn_;

    clock::time_point started_;
    clock::time_point deadline_;
    run_fsm fsm_;
    exit_report report_;
    bool launched_ = false;
    bool reported_ = false;

    child child_;
    stream exit_;  // waits on the pidfd, which `child_` owns
    stream in_;
    std::size_t written_ = 0;
    output out_;
    output err_;
    boost::asio::steady_timer deadline_timer_;
    boost::asio::steady_timer pause_timer_;
};

}  // namespace belay::process::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/process/impl/run_op.ipp>
#endif

#endif
