#ifndef BELAY_HOOKS_DETAIL_ASK_OP_HPP
#define BELAY_HOOKS_DETAIL_ASK_OP_HPP

// The operation behind `session::async_ask`. Only bodies include this.

#include <belay/config.hpp>
#include <belay/core/detail/folding.hpp>
#include <belay/core/error.hpp>
#include <belay/hooks/ask.hpp>
#include <belay/hooks/detail/session_state.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

namespace belay::hooks::detail {

// One side question. Who asked may be gone long before the model answers; the operation lives until
// it has, since the answer is to be paid for.
class ask_op final : public session_operation,
                     public host_call<model_answer>,
                     public std::enable_shared_from_this<ask_op> {
public:
    using handler_ptr = waiting_ptr<side_answer>;

    BELAY_DECL ask_op(const session_state& session, std::string question, handler_ptr handler);

    BELAY_DECL void start();
    BELAY_DECL void cancel(error_code why) override;

    BELAY_DECL void answer(model_answer what) noexcept override;
    BELAY_DECL void fail(std::exception_ptr why) noexcept override;
    boost::asio::any_io_executor executor() const noexcept override { return executor_; }
    boost::asio::cancellation_slot slot() noexcept override { return stop_.slot(); }

private:
    using said = std::variant<model_answer, std::string>;  // or why there is no answer

    BELAY_DECL void settle(said what) noexcept;
    BELAY_DECL void send() noexcept;
    BELAY_DECL void conclude(said what);
    BELAY_DECL void drop() noexcept;

    friend loop_guard<ask_op>;

    const boost::asio::any_io_executor executor_;
    const model_function model_;  // what it was may be in use until it has answered
    usage_sink* const books_;
    const side_question asked_;
    const handler_ptr handler_;
    std::unique_ptr<clock::timer> timer_;
    boost::asio::cancellation_signal stop_;

    std::mutex mutex_;
    bool starting_ = true;
    bool over_ = false;  // the answer is on its way, or the event loop has gone
    std::optional<said> said_;
};

}  // namespace belay::hooks::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/ask_op.ipp>
#endif

#endif
