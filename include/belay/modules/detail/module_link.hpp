#ifndef BELAY_MODULES_DETAIL_MODULE_LINK_HPP
#define BELAY_MODULES_DETAIL_MODULE_LINK_HPP

// What a module reaches through its api and its contexts: the runner's side.

#include <belay/core/clock.hpp>
#include <belay/core/detail/host_call_op.hpp>
#include <belay/core/error.hpp>
#include <belay/core/failure.hpp>
#include <belay/core/matcher.hpp>
#include <belay/modules/agent.hpp>
#include <belay/modules/command.hpp>
#include <belay/modules/exec.hpp>
#include <belay/modules/message.hpp>
#include <belay/modules/render.hpp>
#include <belay/modules/ui.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/json/value.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::modules::detail {

// One for each module. It outlives the runner if the module keeps a handle.
class module_link {
public:
    virtual ~module_link() = default;

    virtual const std::string& name() const noexcept = 0;
    virtual boost::asio::any_io_executor executor() const noexcept = 0;
    virtual clock& time() const noexcept = 0;

    // These throw std::logic_error when the runner is gone.
    virtual std::shared_ptr<agent> host() = 0;
    virtual std::shared_ptr<modules::ui> person() = 0;
    virtual bool has_person() = 0;

    // `handler` is an any_handler<E>, of the event at that place in all_events.
    virtual void add_handler(std::size_t event, std::shared_ptr<void> handler, matcher only_for,
                             std::optional<std::chrono::milliseconds> timeout) = 0;
    virtual void add_command(command_info what, any_handler<command> handler) = 0;
    virtual void add_renderer(std::string custom_type, message_renderer renderer) = 0;

    // Actions: these throw std::logic_error also while the module loads.
    virtual void send_message(custom_message message, const delivery_options& options) = 0;
    virtual void append_entry(std::string custom_type, boost::json::value data) = 0;

    // In the host's code: a library may have an Asio of its own, which cannot wait for descriptors on
    // the host's executor.
    virtual void exec(
        std::string directory, std::string program, std::vector<std::string> arguments,
        exec_options options,
        boost::asio::any_completion_handler<void(error_code, exec_result)> handler) = 0;
};

using link_ptr = std::shared_ptr<module_link>;

inline std::exception_ptr was_cancelled()
{
    return std::make_exception_ptr(boost::system::system_error(make_error_code(errc::cancelled)));
}

// Starts one program for a module.
struct exec_through_link {
    using executor_type = boost::asio::any_io_executor;

    link_ptr link;
    std::string directory;

    executor_type get_executor() const noexcept { return link->executor(); }

    template <class Handler>
    void operator()(Handler&& handler, std::string program, std::vector<std::string> arguments,
                    exec_options options) const
    {
        link->exec(directory, std::move(program), std::move(arguments), std::move(options),
                   std::forward<Handler>(handler));
    }
};

// Starts one call of the host for a module. `begin` is called with the link and a host_reply<T>.
template <class T>
struct host_call_initiation {
    using executor_type = boost::asio::any_io_executor;

    link_ptr link;
    belay::detail::host_call_terms terms;

    executor_type get_executor() const noexcept { return link->executor(); }

    template <class Handler, class Begin>
    void operator()(Handler&& handler, Begin begin) const
    {
        belay::detail::call_host<T>(
            link->executor(), link->time(), terms, std::forward<Handler>(handler),
            [link = link, begin = std::move(begin)](host_reply<T> reply) mutable {
                begin(*link, std::move(reply));
            });
    }
};

template <class T, class Begin, class Token>
auto async_call_host(link_ptr link, belay::detail::host_call_terms terms, Begin begin,
                     Token&& token)
{
    return boost::asio::async_initiate<Token, void(std::exception_ptr, T)>(
        host_call_initiation<T>{std::move(link), std::move(terms)}, token, std::move(begin));
}

}  // namespace belay::modules::detail

#endif
