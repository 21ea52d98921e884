#ifndef BELAY_MODULES_DETAIL_RUNNER_STATE_HPP
#define BELAY_MODULES_DETAIL_RUNNER_STATE_HPP

// What a runner owns, and what is in flight keeps alive.

#include <belay/config.hpp>
#include <belay/core/any_handler.hpp>
#include <belay/core/async_chain.hpp>
#include <belay/core/detail/event_list.hpp>
#include <belay/core/detail/holding.hpp>
#include <belay/core/detail/waiting_handler.hpp>
#include <belay/core/error.hpp>
#include <belay/core/matcher.hpp>
#include <belay/core/observer_group.hpp>
#include <belay/core/observers.hpp>
#include <belay/core/trace.hpp>
#include <belay/modules/api.hpp>
#include <belay/modules/command.hpp>
#include <belay/modules/events.hpp>
#include <belay/modules/render.hpp>
#include <belay/modules/runner_options.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace belay::modules::detail {

class loaded_module;

// Reports what fails to the listeners, and every span to the host's own sink.
class error_reporter final : public trace_sink {
public:
    explicit error_reporter(trace_sink* next) noexcept : next_(next) {}

    BELAY_DECL unsigned long long add(std::function<void(const handler_error&)> listener);
    BELAY_DECL void remove(unsigned long long id);
    BELAY_DECL void report(const handler_error& why) noexcept;

    BELAY_DECL void on_span(const trace_span& span) noexcept override;

private:
    using listener = std::function<void(const handler_error&)>;

    BELAY_DECL bool has(unsigned long long id) const noexcept;

    trace_sink* next_;
    unsigned long long last_id_ = 0;
    std::vector<std::pair<unsigned long long, std::shared_ptr<const listener>>> listeners_;
};

struct chain_settings {
    boost::asio::any_io_executor executor;
    clock& time;
    trace_sink* trace;
};

// All handlers of one event.
template <class E>
struct event_line {
    explicit event_line(const chain_settings& with) : chain(with.executor, with.time, with.trace) {}

    async_chain<E> chain;
};

// Those run at once.
template <>
struct event_line<session_shutdown> {
    explicit event_line(const chain_settings& with)
        : chain(observer_group(with.executor, with.time), with.trace)
    {}

    observers<session_shutdown> chain;
};

template <class Events>
struct event_lines;
template <class... E>
struct event_lines<std::tuple<E...>> : event_line<E>... {
    explicit event_lines(const chain_settings& with) : event_line<E>(with)... {}
};

// A slash command that a module has registered.
struct registered_command {
    command_info info;
    std::shared_ptr<async_chain<command>> chain;  // of its one handler
};

class runner_state : public std::enable_shared_from_this<runner_state> {
public:
    BELAY_DECL runner_state(boost::asio::any_io_executor where, runner_options how);
    runner_state(const runner_state&) = delete;
    runner_state& operator=(const runner_state&) = delete;
    BELAY_DECL ~runner_state();

    BELAY_DECL checked<void> add(std::string name, const module_factory& factory);

    template <class E>
    auto& chain_of() noexcept
    {
        return static_cast<event_line<E>&>(lines_).chain;
    }

    template <class E, class Handler>
    void emit(E event, Handler&& handler)
    {
        belay::detail::holding<std::decay_t<Handler>> held{std::forward<Handler>(handler),
                                                           shared_from_this()};
        if constexpr (std::is_same_v<E, session_shutdown>) {
            shut_down(std::move(held));
        } else {
            chain_of<E>().async_dispatch(std::move(event), std::move(held));
        }
    }

    BELAY_DECL void run_command(
        std::string text, boost::asio::any_completion_handler<void(error_code, bool)> handler);

    BELAY_DECL const registered_command* find_command(std::string_view name) const noexcept;
    BELAY_DECL command_list list_commands() const;
    BELAY_DECL std::vector<std::string> render(const custom_message& message,
                                               const render_options& how) const;
    BELAY_DECL std::vector<std::string> module_names() const;

    // What a module registers.
    BELAY_DECL void add_handler(const std::string& module, std::size_t event,
                                std::shared_ptr<void> handler, matcher only_for,
                                std::optional<std::chrono::milliseconds> timeout);
    BELAY_DECL void add_command(command_info what, any_handler<command> handler);

    // Tells the operator; what the channel throws is dropped.
    BELAY_DECL void tell_operator(std::string module, std::string message) const noexcept;

    const boost::asio::any_io_executor executor;
    const runner_options options;
    clock& time;
    error_reporter errors;

private:
    BELAY_DECL void shut_down(
        boost::asio::any_completion_handler<void(error_code, notified)> handler);
    BELAY_DECL bool is_builtin(std::string_view name) const;
    BELAY_DECL std::string clash_of(const command_info& what) const;

    event_lines<all_events> lines_;
    std::vector<registered_command> commands_;
    std::set<std::string, std::less<>> reported_;  // names of commands that the operator knows of
    std::vector<std::shared_ptr<loaded_module>> modules_;
};

}  // namespace belay::modules::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/detail/loaded_module.hpp>
#endif

#endif
