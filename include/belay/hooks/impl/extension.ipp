#ifndef BELAY_HOOKS_IMPL_EXTENSION_IPP
#define BELAY_HOOKS_IMPL_EXTENSION_IPP

#include <belay/hooks/detail/activation.hpp>
#include <belay/hooks/detail/ask_op.hpp>
#include <belay/hooks/detail/registry_state.hpp>
#include <belay/hooks/extension.hpp>
#include <belay/hooks/text_rules.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace belay::hooks {
namespace detail {

// Whether a declared capability is one that belay knows, or is not belay's to know.
inline bool may_be_declared(std::string_view declared)
{
    constexpr std::string_view ours = "hooks.";
    if (!declared.starts_with(ours)) return true;
    declared.remove_prefix(ours.size());
    return declared == "command" || declared == turn_finished::event_name || phase_named(declared);
}

BELAY_DECL checked<extension_id> registry_state::activate(const extension& what,
                                                          boost::json::value own_config)
{
    const auto one = std::make_shared<activation>(
        weak_from_this(), executor, static_cast<extension_id>(++last_extension_), what.name,
        what.capabilities, std::move(own_config));
    if (one->name.empty() || !is_display_line(one->name)) {
        one->fail(errc::invalid_config, "an extension must have a name of one line");
    }
    if (!what.activate) one->fail(errc::invalid_config, "it has no function to activate it");
    for (const auto& declared : one->capabilities) {
        if (!may_be_declared(declared)) {
            one->fail(errc::invalid_config, "there is no capability " + declared);
        }
    }
    if (!one->fault) {
        try {
            registrar hooks(one);
            what.activate(hooks);
        } catch (...) {
            one->fail(errc::threw, belay::detail::message_of(std::current_exception()));
        }
    }
    const auto pending = std::exchange(one->pending, {});
    one->stage = one->fault ? activation::state::over : activation::state::active;
    if (one->fault) return *one->fault;
    try {
        activations_.push_back(one);
        for (const auto& each : pending) {
            one->hooks.push_back(each.id);
            add(each.id, each.hook);
        }
    } catch (...) {
        deactivate(one->id);
        throw;
    }
    return one->id;
}

BELAY_DECL bool registry_state::deactivate(extension_id id)
{
    const auto found = std::ranges::find(activations_, id, &activation::id);
    if (found == activations_.end()) return false;
    const auto one = *found;
    end(*one);
    return true;
}

BELAY_DECL void registry_state::undo(activation& one, const diagnosis& why)
{
    if (one.stage != activation::state::active) return;
    end(one);
    log_warning("extension_failed", why.message, one.name);
}

BELAY_DECL void registry_state::end(activation& one)
{
    one.stage = activation::state::over;
    std::erase_if(activations_, [&](const auto& each) { return each.get() == &one; });
    for (const auto id : std::exchange(one.hooks, {})) remove(id);
}

// The registry, if the extension may register what needs `capability`, and may do so now.
inline checked<std::shared_ptr<registry_state>> registering(activation& self,
                                                            const std::string& capability)
{
    auto host = self.host.lock();
    if (!host || self.stage != activation::state::activating) {
        auto why = self.fail(errc::closed,
                             "hooks can be registered only while the extension is activated");
        if (host) host->undo(self, why);
        return why;
    }
    if (!self.declares(capability)) return self.fail(errc::undeclared, needed(capability));
    return host;
}

}  // namespace detail

BELAY_DECL checked<hook_id> registrar::on_executable(const executable_spec& spec) const
{
    const auto host = detail::registering(*state_, "hooks.command");
    if (!host) return host.error();
    auto made = (*host)->command_hook(spec, name());
    if (!made) return state_->fail(made.error().code, made.error().message);
    return state_->add_pending((*host)->next_hook(), *std::move(made));
}

BELAY_DECL bool registrar::remove(hook_id id) const
{
    const auto pending =
        std::ranges::find(state_->pending, id, &detail::activation::pending_hook::id);
    if (pending != state_->pending.end()) {
        const auto removed = std::move(*pending);  // destroyed last: it may come back here
        state_->pending.erase(pending);
        return true;
    }
    const auto host = state_->host.lock();
    return host && std::erase(state_->hooks, id) != 0 && host->remove(id);
}

BELAY_DECL void registrar::warn(std::string_view what) const
{
    if (const auto host = state_->host.lock()) {
        host->log_warning("extension_warning", what, state_->name);
    }
}

BELAY_DECL boost::asio::any_io_executor registrar::get_executor() const noexcept
{
    return state_->executor;
}

BELAY_DECL void registrar::refuse(std::string why) const
{
    state_->fail(errc::invalid_config, why);
}

BELAY_DECL const std::string& registrar::name() const noexcept
{
    return state_->name;
}

BELAY_DECL const boost::json::value& registrar::config() const noexcept
{
    return state_->config;
}

BELAY_DECL protocols registrar::known_protocols() const noexcept
{
    const auto host = state_->host.lock();
    return host ? host->options.known : protocols();
}

BELAY_DECL checked<hook_id> registrar::add(const std::string& capability,
                                           std::optional<std::chrono::milliseconds> timeout,
                                           detail::shared_hook hook) const
{
    const auto host = detail::registering(*state_, capability);
    if (!host) return host.error();
    if (!hook.add_to) {
        return state_->fail(errc::invalid_config, "the function for " + capability + " is empty");
    }
    if (timeout && *timeout < std::chrono::milliseconds(1)) {
        return state_->fail(errc::invalid_config, "a timeout must be at least 1 ms, not " +
                                                      std::to_string(timeout->count()));
    }
    return state_->add_pending((*host)->next_hook(), std::move(hook));
}

BELAY_DECL checked<std::vector<configured_extension>> extensions_for(
    const config& configuration, const std::vector<extension>& known)
{
    std::vector<configured_extension> wanted;
    for (const auto& one : known) {
        if (one.included) wanted.push_back({one});
    }
    for (const auto& entry : configuration.extensions()) {
        const auto at_its_path = [&](const extension& one) {
            return !one.path.empty() && detail::plain_path(one.path) == entry.path;
        };
        const auto found = std::ranges::find_if(known, at_its_path);
        if (found == known.end()) {
            return diagnosis{
                errc::invalid_config,
                entry.where + ".path: there is no extension at " + entry.path.string()};
        }
        std::erase_if(wanted, [&](const auto& one) { return at_its_path(one.what); });
        wanted.push_back({*found, entry.config});
    }
    return wanted;
}

}  // namespace belay::hooks

#endif
