#ifndef BELAY_MODULES_DETAIL_EXEC_OP_HPP
#define BELAY_MODULES_DETAIL_EXEC_OP_HPP

// The operation behind `async_exec`. Only bodies include this.

#include <belay/config.hpp>
#include <belay/core/detail/waiting_handler.hpp>
#include <belay/modules/exec.hpp>
#include <belay/process/exit_report.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <memory>
#include <string>
#include <vector>

namespace belay::modules::detail {

// One run. When we end it, its report comes before it has ended: then it is kept until it has.
class exec_op final : public std::enable_shared_from_this<exec_op> {
public:
    using handler_ptr = belay::detail::waiting_ptr<exec_result>;

    BELAY_DECL exec_op(boost::asio::any_io_executor executor, handler_ptr handler);

    BELAY_DECL void start(const std::string& directory, const std::string& program,
                          std::vector<std::string> arguments, exec_options options);

private:
    BELAY_DECL void reported(error_code ec, process::exit_report report);
    BELAY_DECL void reaped(process::exit_status status);
    BELAY_DECL void finish(error_code ec, process::exit_status status);

    const boost::asio::any_io_executor executor_;
    const handler_ptr handler_;
    boost::asio::cancellation_signal stop_;
    exec_result result_;
};

}  // namespace belay::modules::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/impl/exec.ipp>
#endif

#endif
