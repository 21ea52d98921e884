#ifndef BELAY_PROCESS_DETAIL_WORKER_CHILD_HPP
#define BELAY_PROCESS_DETAIL_WORKER_CHILD_HPP

// One child of a worker, from its start to its end: lines in, lines out. Only impl/worker_op.ipp includes
// this.

#include <belay/config.hpp>
#include <belay/core/detail/time_after.hpp>
#include <belay/core/error.hpp>
#include <belay/process/detail/child.hpp>
#include <belay/process/detail/ending_fsm.hpp>
#include <belay/process/detail/envelope.hpp>
#include <belay/process/detail/launch.hpp>
#include <belay/process/exit_report.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace belay::process::detail {

class worker_op;

/// Kept alive by what it waits for, nothing else. It tells its worker what happens until it is let go;
/// then it brings itself to its end. When its context is destroyed, its destructor does that.
class worker_child : public std::enable_shared_from_this<worker_child> {
public:
    struct bounds {
        std::size_t line;
        std::size_t err;
        std::chrono::milliseconds grace;
    };

    BELAY_DECL worker_child(boost::asio::any_io_executor executor, const bounds& within);
    worker_child(const worker_child&) = delete;
    worker_child& operator=(const worker_child&) = delete;
    BELAY_DECL ~worker_child();

    /// Takes over a child that was started, and its pipes. After an error it ends at its destruction.
    BELAY_DECL error_code adopt(child started, stdio_pipes& pipes,
                                std::shared_ptr<worker_op> owner);

    BELAY_DECL void watch();

    /// Takes a request to be written, which is done at the next `flush`.
    void queue(std::uint64_t id, std::string_view event)
    {
        append_envelope(unwritten_, id, "event", event);
    }

    bool wants_flush() const noexcept { return has_unwritten() && !waits_for_in_; }
    bool has_unwritten() const noexcept { return !unwritten_.empty(); }

    /// Writes what the pipe takes, the rest when it takes more. Returns false when nobody reads it any more.
    BELAY_DECL bool flush();

    /// Closes its stdin.
    BELAY_DECL void hang_up();

    /// From here on it goes its way alone: it is asked to leave, or made to.
    BELAY_DECL void let_go(bool politely);

    /// The beginning of a line that it has written, and no more yet.
    std::string_view unfinished_line() const noexcept { return line_; }

    bool has_closed_out() const noexcept { return !out_.is_open(); }

    /// What it has written to stderr since it was last forgotten.
    BELAY_DECL const std::string& err();
    void forget_err() noexcept { err_.clear(); }

private:
    using stream = boost::asio::posix::stream_descriptor;

    static constexpr std::size_t out_share = 64 * 1024;  // of the executor's time

    BELAY_DECL void obey(ending_step step);
    BELAY_DECL void wait_for_in();
    BELAY_DECL void read_out();
    BELAY_DECL void wait_for_err();
    BELAY_DECL void wait_for_exit();
    BELAY_DECL void take_lines(std::string_view bytes);
    BELAY_DECL void drain_out(std::size_t at_most);
    BELAY_DECL void read_err(std::size_t at_most);
    BELAY_DECL void check_pipes();
    BELAY_DECL void on_exit();
    BELAY_DECL static std::size_t bytes_in(stream& pipe) noexcept;
    BELAY_DECL static void close(stream& pipe) noexcept;

    boost::asio::any_io_executor executor_;
    std::shared_ptr<worker_op> owner_;  // null: none yet, or it was let go
    bounds within_;
    ending_fsm fsm_;

    child child_;
    stream exit_;  // waits on the pidfd, which `child_` owns
    stream in_;
    stream out_;
    stream error_;
    boost::asio::steady_timer grace_;

    bool has_exited_ = false;  // nobody reads its last words any more: `on_exit` does
    std::string unwritten_;
    bool waits_for_in_ = false;
    std::unique_ptr<char[]> bytes_;  // of its stdout
    std::string line_;               // the beginning of one
    std::string err_;
};

}  // namespace belay::process::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/process/impl/worker_child.ipp>
#endif

#endif
