#ifndef BELAY_HOOKS_IMPL_EXTENSION_IPP
#define BELAY_HOOKS_IMPL_EXTENSION_IPP

#include <belay/hooks/detail/activation.hpp>
#include <belay/hooks/detail/ask_op.hpp>
#include <belay/hooks/detail/registry_state.hpp>
#include <belay/hooks/extension.hpp>

#include <algorithm>
#include <type_traits>

namespace belay::hooks {
namespace detail {

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
    if (std::ranges::find(self.capabilities, capability) == self.capabilities.end()) {
        return self.fail(errc::undeclared,
                         "the capability " + capability + " is needed and was not declared");
    }
    return host;
}

BELAY_DECL boost::asio::any_io_executor executor_of(const activation& extension) noexcept
{
    return extension.executor;
}

// Why an extension may not ask a session now.
inline std::optional<diagnosis> why_it_may_not_ask(const activation& self)
{
    const std::string capability = "sessions.ask";
    if (self.stage == activation::state::over || self.host.expired()) {
        return self.blame(errc::closed, "it is not active any more");
    }
    if (std::ranges::find(self.capabilities, capability) == self.capabilities.end()) {
        return self.blame(errc::undeclared,
                          "the capability " + capability + " is needed and was not declared");
    }
    return std::nullopt;
}

BELAY_DECL void ask_for_extension(
    const activation_ptr& extension, std::string session_id, std::string question,
    boost::asio::any_completion_handler<void(error_code, side_answer)> handler)
{
    auto find = [extension,
                 id = std::move(session_id)]() -> checked<std::shared_ptr<session_state>> {
        if (auto why = why_it_may_not_ask(*extension)) return *std::move(why);
        if (auto found = extension->host.lock()->find(id)) return found;
        return diagnosis{errc::closed, "no session " + id + " is open"};
    };
    launch_ask(extension->executor, std::move(find), std::move(question), std::move(handler));
}

}  // namespace detail

BELAY_DECL checked<hook_id> registrar::on_executable(const executable_spec& spec) const
{
    const auto host = detail::registering(*state_, "hooks.command");
    if (!host) return host.error();
    auto made = (*host)->command_hook(spec, name());
    if (!made) return state_->fail(made.error().code, made.error().message);
    return state_->stage_hook((*host)->next_hook(), *std::move(made));
}

BELAY_DECL bool registrar::remove(hook_id id) const
{
    const auto staged = std::ranges::find(state_->staged, id, &detail::activation::staged_hook::id);
    if (staged != state_->staged.end()) {
        const auto removed = std::move(*staged);  // destroyed last: it may come back here
        state_->staged.erase(staged);
        return true;
    }
    const auto host = state_->host.lock();
    return host && std::erase(state_->hooks, id) != 0 && host->remove(id);
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
                                           detail::extension_hook hook) const
{
    const auto host = detail::registering(*state_, capability);
    if (!host) return host.error();
    if (timeout && *timeout < std::chrono::milliseconds(1)) {
        return state_->fail(errc::invalid_config, "a timeout must be at least 1 ms, not " +
                                                      std::to_string(timeout->count()));
    }
    return state_->stage_hook((*host)->next_hook(), std::move(hook));
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
