#ifndef BELAY_HOOKS_DETAIL_ACTIVATION_HPP
#define BELAY_HOOKS_DETAIL_ACTIVATION_HPP

// What an extension's registrar and its registry share. Only bodies include this.

#include <belay/core/error.hpp>
#include <belay/hooks/detail/shared_hook.hpp>
#include <belay/hooks/registry_options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::hooks::detail {

class registry_state;

// What is said of a capability that was not declared.
inline std::string needed(std::string_view capability)
{
    return "the capability " + std::string(capability) + " is needed and was not declared";
}

class activation {
public:
    activation(std::weak_ptr<registry_state> owner, boost::asio::any_io_executor where,
               extension_id number, std::string who, std::vector<std::string> declared,
               boost::json::value own_config)
        : host(std::move(owner)),
          executor(std::move(where)),
          id(number),
          name(std::move(who)),
          capabilities(std::move(declared)),
          config(std::move(own_config))
    {}

    diagnosis blame(errc code, const std::string& why) const
    {
        return {code, "extension \"" + name + "\": " + why};
    }

    // The first thing that goes wrong is what the host is told.
    diagnosis fail(errc code, const std::string& why)
    {
        if (!fault) fault = blame(code, why);
        return blame(code, why);
    }

    bool declares(std::string_view capability) const noexcept
    {
        return std::ranges::find(capabilities, capability) != capabilities.end();
    }

    hook_id add_pending(hook_id number, shared_hook hook)
    {
        pending.push_back({number, std::move(hook)});
        return number;
    }

    enum class state : unsigned char { activating, active, over };

    struct pending_hook {
        hook_id id;
        shared_hook hook;
    };

    const std::weak_ptr<registry_state> host;
    const boost::asio::any_io_executor executor;
    const extension_id id;
    const std::string name;
    const std::vector<std::string> capabilities;
    const boost::json::value config;

    state stage = state::activating;
    std::optional<diagnosis> fault{};
    std::vector<pending_hook> pending{};  // until the activation succeeds
    std::vector<hook_id> hooks{};         // from then on
};

}  // namespace belay::hooks::detail

#endif
