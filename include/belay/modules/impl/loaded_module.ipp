#ifndef BELAY_MODULES_IMPL_LOADED_MODULE_IPP
#define BELAY_MODULES_IMPL_LOADED_MODULE_IPP

#include <belay/modules/detail/loaded_module.hpp>
#include <belay/process/detail/text.hpp>
#include <belay/process/utf8.hpp>

#include <algorithm>
#include <exception>
#include <stdexcept>

namespace belay::modules::detail {

BELAY_DECL loaded_module::loaded_module(const std::shared_ptr<runner_state>& owner,
                                        std::string name)
    : owner_(owner), name_(std::move(name)), executor_(owner->executor), time_(owner->time)
{}

BELAY_DECL std::shared_ptr<runner_state> loaded_module::runner() const
{
    if (stage_ == stage::failed) throw std::logic_error("extension " + name_ + " was not loaded");
    if (auto owner = owner_.lock()) return owner;
    throw std::logic_error("the runner of extension " + name_ + " is gone");
}

BELAY_DECL std::shared_ptr<runner_state> loaded_module::runner_for_action() const
{
    if (stage_ == stage::loading) {
        throw std::logic_error(
            "Extension runtime not initialized. Action methods cannot be called during extension "
            "loading.");
    }
    return runner();
}

BELAY_DECL std::shared_ptr<agent> loaded_module::host()
{
    return runner()->options.agent;
}

BELAY_DECL std::shared_ptr<modules::ui> loaded_module::person()
{
    const auto& given = runner()->options.ui;
    return given ? given : std::make_shared<modules::ui>();
}

BELAY_DECL bool loaded_module::has_person()
{
    return runner()->options.ui != nullptr;
}

BELAY_DECL void loaded_module::add(std::function<void(runner_state&)> what)
{
    const auto owner = runner();
    if (stage_ == stage::loading) {
        registered_.push_back(std::move(what));
    } else {
        what(*owner);
    }
}

BELAY_DECL void loaded_module::add_handler(std::size_t event, std::shared_ptr<void> handler,
                                           matcher only_for,
                                           std::optional<std::chrono::milliseconds> timeout)
{
    add([name = name_, event, handler = std::move(handler), only_for = std::move(only_for),
         timeout](runner_state& to) { to.add_handler(name, event, handler, only_for, timeout); });
}

// Whether a person can type it as one word, and see it as such.
inline bool is_command_name(std::string_view name) noexcept
{
    if (name.empty() || process::utf8_error_offset(name)) return false;
    while (!name.empty()) {
        const auto point = process::detail::first_code_point(name);
        const bool control = point.value < 0x20 || (0x7F <= point.value && point.value < 0xA0);
        if (control || point.value == '/' || process::detail::is_blank(point.value)) return false;
        name.remove_prefix(point.size);
    }
    return true;
}

BELAY_DECL void loaded_module::add_command(command_info what, any_handler<command> handler)
{
    if (!is_command_name(what.name)) {
        throw std::invalid_argument("\"" + what.name +
                                    "\" is no name of a command: it is empty, or has a slash, a "
                                    "space or a control character, or is no UTF-8");
    }
    if (!handler) throw std::invalid_argument("command " + what.name + " has an empty function");
    what.module = name_;
    add([what = std::move(what), handler = std::move(handler)](runner_state& to) {
        to.add_command(what, handler);
    });
}

BELAY_DECL void loaded_module::add_renderer(std::string custom_type, message_renderer renderer)
{
    (void)runner();
    if (!renderer) throw std::invalid_argument("the renderer of " + custom_type + " is empty");
    renderers_.emplace_back(std::move(custom_type),
                            std::make_shared<const message_renderer>(std::move(renderer)));
}

// What the host throws is not the module's fault.
template <class Action>
void loaded_module::act(const char* what, Action action)
{
    const auto owner = runner_for_action();
    try {
        action(*owner->options.agent);
    } catch (...) {
        owner->errors.report(
            {name_, what, belay::detail::message_of(std::current_exception()), errc::threw});
    }
}

BELAY_DECL void loaded_module::send_message(custom_message message, const delivery_options& options)
{
    if (message.custom_type.empty()) message.custom_type = custom_message().custom_type;
    if (!message.content.is_string() && !message.content.is_array()) message.content = "";
    if (message.attribution != "user") message.attribution = "agent";
    act("send_message", [&](agent& host) { host.send_message(std::move(message), options); });
}

BELAY_DECL void loaded_module::append_entry(std::string custom_type, boost::json::value data)
{
    act("append_entry",
        [&](agent& host) { host.append_entry(std::move(custom_type), std::move(data)); });
}

BELAY_DECL void loaded_module::exec(
    std::string directory, std::string program, std::vector<std::string> arguments,
    exec_options options,
    boost::asio::any_completion_handler<void(error_code, exec_result)> handler)
{
    detail::exec(executor_, std::move(directory), std::move(program), std::move(arguments),
                 std::move(options), std::move(handler));
}

BELAY_DECL void loaded_module::loaded(runner_state& owner)
{
    stage_ = stage::loaded;
    for (const auto& one : std::exchange(registered_, {})) one(owner);
}

BELAY_DECL void loaded_module::failed() noexcept
{
    stage_ = stage::failed;
    registered_.clear();
    forget_renderers();
}

BELAY_DECL void loaded_module::forget_renderers() noexcept
{
    renderers_.clear();
}

BELAY_DECL std::shared_ptr<const message_renderer> loaded_module::renderer_of(
    std::string_view custom_type) const noexcept
{
    const auto last = std::find_if(renderers_.rbegin(), renderers_.rend(),
                                   [&](const auto& one) { return one.first == custom_type; });
    return last != renderers_.rend() ? last->second : nullptr;
}

}  // namespace belay::modules::detail

#endif
