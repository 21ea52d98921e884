#ifndef BELAY_MODULES_DETAIL_LOADED_MODULE_HPP
#define BELAY_MODULES_DETAIL_LOADED_MODULE_HPP

// One module of a runner. Only bodies include this.

#include <belay/config.hpp>
#include <belay/core/detail/folding.hpp>
#include <belay/core/matcher.hpp>
#include <belay/modules/detail/module_link.hpp>
#include <belay/modules/detail/runner_state.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::modules::detail {

class loaded_module final : public module_link {
public:
    BELAY_DECL loaded_module(const std::shared_ptr<runner_state>& owner, std::string name);

    const std::string& name() const noexcept override { return name_; }
    boost::asio::any_io_executor executor() const noexcept override { return executor_; }
    clock& time() const noexcept override { return time_; }

    BELAY_DECL std::shared_ptr<agent> host() override;
    BELAY_DECL std::shared_ptr<modules::ui> person() override;
    BELAY_DECL bool has_person() override;

    BELAY_DECL void add_handler(std::size_t event, std::shared_ptr<void> handler, matcher only_for,
                                std::optional<std::chrono::milliseconds> timeout) override;
    BELAY_DECL void add_command(command_info what, any_handler<command> handler) override;
    BELAY_DECL void add_renderer(std::string custom_type, message_renderer renderer) override;

    BELAY_DECL void send_message(custom_message message, const delivery_options& options) override;
    BELAY_DECL void append_entry(std::string custom_type, boost::json::value data) override;
    BELAY_DECL void exec(
        std::string directory, std::string program, std::vector<std::string> arguments,
        exec_options options,
        boost::asio::any_completion_handler<void(error_code, exec_result)> handler) override;

    // Its factory has returned: what it has registered is added now.
    BELAY_DECL void loaded(runner_state& owner);

    // Its factory has thrown: it is not there, whatever it has kept.
    BELAY_DECL void failed() noexcept;

    // Its runner is going. A renderer may own a handle of this, and so this would own itself.
    BELAY_DECL void forget_renderers() noexcept;

    // The renderer of that type, of several the last; null if there is none. Owned, since one that is
    // called may register others.
    BELAY_DECL std::shared_ptr<const message_renderer> renderer_of(
        std::string_view custom_type) const noexcept;

private:
    enum class stage : unsigned char { loading, loaded, failed };

    // Throws std::logic_error if there is no runner any more.
    BELAY_DECL std::shared_ptr<runner_state> runner() const;
    BELAY_DECL std::shared_ptr<runner_state> runner_for_action() const;

    // Now, or once the module is loaded.
    BELAY_DECL void add(std::function<void(runner_state&)> what);

    template <class Action>
    void act(const char* what, Action action);

    const std::weak_ptr<runner_state> owner_;
    const std::string name_;
    const boost::asio::any_io_executor executor_;
    clock& time_;
    stage stage_ = stage::loading;
    std::vector<std::function<void(runner_state&)>> registered_;  // while it loads
    std::vector<std::pair<std::string, std::shared_ptr<const message_renderer>>> renderers_;
};

}  // namespace belay::modules::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/impl/loaded_module.ipp>
#include <belay/modules/impl/runner_state.ipp>
#endif

#endif
