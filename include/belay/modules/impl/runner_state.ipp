#ifndef BELAY_MODULES_IMPL_RUNNER_STATE_IPP
#define BELAY_MODULES_IMPL_RUNNER_STATE_IPP

#include <belay/modules/detail/loaded_module.hpp>
#include <belay/modules/detail/runner_state.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <exception>

namespace belay::modules::detail {

BELAY_DECL unsigned long long error_reporter::add(listener one)
{
    listeners_.emplace_back(++last_id_, std::make_shared<const listener>(std::move(one)));
    return last_id_;
}

BELAY_DECL void error_reporter::remove(unsigned long long id)
{
    std::erase_if(listeners_, [&](const auto& one) { return one.first == id; });
}

BELAY_DECL bool error_reporter::has(unsigned long long id) const noexcept
{
    return std::ranges::any_of(listeners_, [&](const auto& one) { return one.first == id; });
}

BELAY_DECL void error_reporter::report(const handler_error& why) noexcept
{
    const auto now = listeners_;  // a listener may add and remove
    for (const auto& [id, one] : now) {
        if (!has(id)) continue;
        try {
            (*one)(why);
        } catch (...) {
            // It has heard of it.
        }
    }
}

BELAY_DECL void error_reporter::on_span(const trace_span& span) noexcept
{
    if (span.failed != nullptr && span.failed->code != errc::cancelled) {
        report(
            {span.handler.name, std::string(span.event), span.failed->message, span.failed->code});
    }
    if (next_ != nullptr) next_->on_span(span);
}

inline runner_options with_defaults(runner_options how)
{
    if (!how.agent) how.agent = std::make_shared<agent>();
    return how;
}

BELAY_DECL runner_state::runner_state(boost::asio::any_io_executor where, runner_options how)
    : executor(std::move(where)),
      options(with_defaults(std::move(how))),
      time(*options.time),
      errors(options.trace),
      lines_({executor, time, &errors})
{}

BELAY_DECL runner_state::~runner_state()
{
    for (const auto& one : modules_) one->forget_renderers();
}

BELAY_DECL checked<void> runner_state::add(std::string name, const module_factory& factory)
{
    const auto self = shared_from_this();  // whoever is told may destroy the runner
    const auto refuse = [&](errc code, std::string message) {
        tell_operator(name, message);
        return diagnosis{code, std::move(message)};
    };
    if (!factory) {
        return refuse(errc::invalid_config,
                      "Extension does not export a valid factory function: " + name);
    }
    const auto module = std::make_shared<loaded_module>(shared_from_this(), name);
    try {
        api its_side(module);
        factory(its_side);
    } catch (...) {
        module->failed();
        return refuse(errc::threw, "Failed to load extension: " +
                                       belay::detail::message_of(std::current_exception()));
    }
    modules_.push_back(module);
    module->loaded(*this);
    return {};
}

BELAY_DECL std::vector<std::string> runner_state::module_names() const
{
    std::vector<std::string> names;
    for (const auto& one : modules_) names.push_back(one->name());
    return names;
}

BELAY_DECL void runner_state::add_handler(const std::string& module, std::size_t event,
                                          std::shared_ptr<void> handler, matcher only_for,
                                          std::optional<std::chrono::milliseconds> timeout)
{
    belay::detail::with_event<all_events>(event, [&]<class E>(std::type_identity<E>) {
        auto limit = timeout.value_or(options.handler_timeout);
        if constexpr (std::is_same_v<E, session_shutdown>) limit = options.shutdown_timeout;
        handler_info info{.name = module, .from = origin::extension, .timeout = limit};
        const auto& erased = *std::static_pointer_cast<any_handler<E>>(handler);
        if constexpr (belay::detail::has_subject<E>) {
            chain_of<E>().add(std::move(info), std::move(only_for), erased);
        } else {
            chain_of<E>().add(std::move(info), erased);
        }
    });
}

BELAY_DECL void runner_state::shut_down(
    boost::asio::any_completion_handler<void(error_code, notified)> handler)
{
    auto& chain = chain_of<session_shutdown>();
    const auto failures = std::make_shared<notified>();
    chain.notify({}, [failures, self = shared_from_this()](const failure& why) {
        failures->failures.push_back(why);
    });
    const auto slot = boost::asio::get_associated_cancellation_slot(handler);
    const auto where = boost::asio::get_associated_executor(handler, executor);
    auto done = [failures, handler = std::move(handler)](error_code ec, std::size_t) mutable {
        std::move(handler)(ec, ec ? notified() : std::move(*failures));
    };
    // Each handler has its own time.
    constexpr auto for_ever = std::chrono::milliseconds::max();
    auto group = chain.group();
    group.async_drain(for_ever, boost::asio::bind_cancellation_slot(
                                    slot, boost::asio::bind_executor(where, std::move(done))));
}

BELAY_DECL bool runner_state::is_builtin(std::string_view name) const
{
    return std::ranges::find(options.builtin_commands, name) != options.builtin_commands.end();
}

BELAY_DECL std::string runner_state::clash_of(const command_info& what) const
{
    if (is_builtin(what.name)) {
        return "extension " + what.module + " registers the command /" + what.name +
               ", which is built in";
    }
    const auto* before = find_command(what.name);
    if (before == nullptr || before->info.module == what.module) return {};
    return "extension " + what.module + " registers the command /" + what.name + ", as extension " +
           before->info.module + " does: the later one counts";
}

BELAY_DECL void runner_state::add_command(command_info what, any_handler<command> handler)
{
    if (auto clash = clash_of(what); !clash.empty() && reported_.insert(what.name).second) {
        tell_operator(what.module, std::move(clash));
    }
    auto chain = std::make_shared<async_chain<command>>(executor, time, &errors);
    chain->add({.name = "command:" + what.name, .from = origin::extension}, std::move(handler));
    commands_.push_back({std::move(what), std::move(chain)});
}

BELAY_DECL const registered_command* runner_state::find_command(
    std::string_view name) const noexcept
{
    const auto last = std::find_if(commands_.rbegin(), commands_.rend(),
                                   [&](const auto& one) { return one.info.name == name; });
    return last != commands_.rend() ? &*last : nullptr;
}

BELAY_DECL command_list runner_state::list_commands() const
{
    command_list list;
    for (const auto& one : commands_) {
        const auto& info = one.info;
        const auto same = [&](const command_info& other) { return other.name == info.name; };
        if (is_builtin(info.name)) {
            list.diagnostics.push_back({info.module, clash_of(info)});
        } else if (const auto found = std::ranges::find_if(list.commands, same);
                   found != list.commands.end()) {
            *found = info;
        } else {
            list.commands.push_back(info);
        }
    }
    return list;
}

BELAY_DECL void runner_state::run_command(
    std::string text, boost::asio::any_completion_handler<void(error_code, bool)> handler)
{
    command given;
    if (text.starts_with('/')) {
        const auto end = text.find(' ');
        given.name = text.substr(1, end == text.npos ? end : end - 1);
        if (end != text.npos) given.arguments = text.substr(end + 1);
    }
    const auto* found = find_command(given.name);
    if (found == nullptr) {
        using belay::detail::waiting_handler;
        return waiting_handler<bool>::make(executor, std::move(handler))->complete({}, false);
    }
    const auto slot = boost::asio::get_associated_cancellation_slot(handler);
    const auto where = boost::asio::get_associated_executor(handler, executor);
    auto done = [handler = std::move(handler), self = shared_from_this()](
                    error_code ec, const notified&) mutable { std::move(handler)(ec, true); };
    found->chain->async_dispatch(std::move(given),
                                 boost::asio::bind_cancellation_slot(
                                     slot, boost::asio::bind_executor(where, std::move(done))));
}

BELAY_DECL std::vector<std::string> runner_state::render(const custom_message& message,
                                                         const render_options& how) const
{
    for (const auto& one : modules_) {
        const auto renderer = one->renderer_of(message.custom_type);
        if (!renderer) continue;
        try {
            if (auto lines = (*renderer)(message, how)) {
                const auto count = lines->size();
                if (count > rendered_lines_limit) {
                    lines->resize(rendered_lines_limit);
                    lines->push_back("(" + std::to_string(count - rendered_lines_limit) +
                                     " more lines)");
                }
                return *std::move(lines);
            }
        } catch (...) {
            // The default card shows the message all the same.
        }
        break;
    }
    return default_card(message);
}

BELAY_DECL void runner_state::tell_operator(std::string module, std::string message) const noexcept
{
    if (!options.operator_channel) return;
    try {
        options.operator_channel({std::move(module), std::move(message)});
    } catch (...) {
        // It has heard of it.
    }
}

}  // namespace belay::modules::detail

#endif
