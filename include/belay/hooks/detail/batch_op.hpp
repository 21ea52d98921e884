#ifndef BELAY_HOOKS_DETAIL_BATCH_OP_HPP
#define BELAY_HOOKS_DETAIL_BATCH_OP_HPP

// The operation behind `session::async_run_tools`: it does what `batch_fsm` decides. Only bodies
// include this.

#include <belay/config.hpp>
#include <belay/core/async_chain.hpp>
#include <belay/core/detail/folding.hpp>
#include <belay/core/detail/pool_handler.hpp>
#include <belay/core/error.hpp>
#include <belay/hooks/detail/batch_fsm.hpp>
#include <belay/hooks/detail/session_state.hpp>
#include <belay/hooks/run_tools.hpp>
#include <belay/hooks/tool.hpp>
#include <belay/hooks/tool_events.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <concepts>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belay::hooks::detail {

// A host function at work. It may outlive the batch, which has then closed it.
class pending_host_call {
public:
    virtual ~pending_host_call() = default;
    virtual void close(bool stop) noexcept = 0;  // stop: tell the function, too
};

class batch_op final : public session_operation, public std::enable_shared_from_this<batch_op> {
public:
    using handler_ptr = waiting_ptr<std::vector<call_record>>;

    BELAY_DECL batch_op(std::shared_ptr<session_state> session, std::vector<tool_call> calls,
                        tool_host host, handler_ptr handler);

    BELAY_DECL void start();
    BELAY_DECL void cancel(error_code why) override;

    // The answer of a function of the host that has been waited for, on the executor.
    template <class T>
    void answered(std::size_t call, T said, clock::time_point::duration took)
    {
        if constexpr (std::same_as<T, tool_result>) {
            take(call, std::move(said), took);
        } else {
            take(call, std::move(said));
        }
        advance();
    }

private:
    friend loop_guard<batch_op>;

    // What is running for a call, so that it can be stopped.
    struct at_work {
        boost::asio::cancellation_signal stop;  // of a chain
        std::shared_ptr<const tool_call> call;  // as the host's functions see it
        std::shared_ptr<pending_host_call> host_call;
    };

    BELAY_DECL void advance();
    BELAY_DECL void ask_hooks(std::size_t call);
    BELAY_DECL void hooks_said(std::size_t call, error_code ec, pre_tool_use::outcome said);
    template <class T>
    void call_host(std::size_t call, const host_function<T>& function,
                   const belay::detail::pool_place& place);
    BELAY_DECL void take(std::size_t call, permission said);
    BELAY_DECL void take(std::size_t call, tool_result said, clock::time_point::duration took);
    BELAY_DECL void ask_permission(std::size_t call);
    BELAY_DECL void run_tool(std::size_t call);
    BELAY_DECL void tell_hooks(std::size_t call);
    BELAY_DECL void hooks_told(std::size_t call, error_code ec, post_tool_use::outcome said);
    BELAY_DECL void refuse(std::size_t call, call_fate fate, const std::string& text);
    BELAY_DECL void finish(error_code ec, std::vector<call_record> records);
    BELAY_DECL void drop() noexcept;
    BELAY_DECL void stop_everything(bool tell) noexcept;
    BELAY_DECL boost::json::object occasion(std::size_t call) const;

    const std::shared_ptr<session_state> session_;
    tool_host host_;
    const handler_ptr handler_;
    std::vector<call_record> records_;
    std::map<std::size_t, at_work> at_work_;  // of the calls for which something is
    batch_fsm fsm_;
    std::unique_ptr<clock::timer> timer_;
};

}  // namespace belay::hooks::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/batch_op.ipp>
#endif

#endif
