#ifndef BELAY_HOOKS_DETAIL_REGISTRY_STATE_HPP
#define BELAY_HOOKS_DETAIL_REGISTRY_STATE_HPP

// What a registry and its sessions share. Only bodies include this.

#include <belay/config.hpp>
#include <belay/core/async_chain.hpp>
#include <belay/core/detail/pool_handler.hpp>
#include <belay/core/error.hpp>
#include <belay/core/failure.hpp>
#include <belay/core/observer_group.hpp>
#include <belay/hooks/config.hpp>
#include <belay/hooks/config_file.hpp>
#include <belay/hooks/detail/hook_set.hpp>
#include <belay/hooks/phase.hpp>
#include <belay/hooks/registry_options.hpp>
#include <belay/hooks/session_types.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::hooks {

struct extension;

}  // namespace belay::hooks

namespace belay::hooks::detail {

class activation;
class session_state;

class registry_state : public std::enable_shared_from_this<registry_state> {
public:
    BELAY_DECL registry_state(boost::asio::any_io_executor where, registry_options how);
    registry_state(const registry_state&) = delete;
    registry_state& operator=(const registry_state&) = delete;
    BELAY_DECL ~registry_state();

    BELAY_DECL checked<void> use(std::shared_ptr<const config> configuration);
    BELAY_DECL checked<void> follow(std::shared_ptr<config_file> file);

    // The hooks of the configuration as it is now, in the file too if one is followed.
    BELAY_DECL const std::shared_ptr<hook_set>& current();

    hook_id next_hook() noexcept { return static_cast<hook_id>(++last_id_); }
    BELAY_DECL void add(hook_id id, shared_hook hook);
    BELAY_DECL bool remove(hook_id id);
    BELAY_DECL checked<shared_hook> command_hook(const executable_spec& spec, std::string name);

    BELAY_DECL checked<extension_id> activate(const extension& what, boost::json::value own_config);
    BELAY_DECL bool deactivate(extension_id id);

    // Takes back an activation that has broken the rules after it was over.
    BELAY_DECL void undo(activation& one, const diagnosis& why);

    // The open session of that id: of several, the newest; null if there is none.
    BELAY_DECL void opened(const std::shared_ptr<session_state>& one);
    BELAY_DECL std::shared_ptr<session_state> find(std::string_view id) const;

    // Whether a worker lives on when it has no events; else it is ended as soon as it has none.
    BELAY_DECL void keep_workers(bool kept);

    // No worker is kept any more. While a session is open that does nothing.
    BELAY_DECL void release_workers();

    // The same when no observer runs: those that have just been notified may need them.
    BELAY_DECL void release_workers_after_observers();

    // A record that is not of a hook, if there is a log.
    BELAY_DECL void log_warning(std::string_view type, std::string_view what,
                                std::string_view extension = {}) const;

    // An empty set, which no extension ever gets into.
    BELAY_DECL std::shared_ptr<hook_set> bare_set() const;

    // What a conversation runs: the current set, or one like it with functions of its own.
    BELAY_DECL std::shared_ptr<hook_set> set_for(session_options& who);

    const boost::asio::any_io_executor executor;
    const registry_options options;
    clock& time;
    const belay::detail::pool_place pool;  // of functions that answer at once
    const observer_group observing;        // those of all sets, also of older configurations

    std::optional<diagnosis> fault;  // why the configuration that is in force is not used

private:
    struct registered {
        hook_id id;
        shared_hook hook;
        std::vector<std::pair<std::weak_ptr<hook_set>, handler_id>> places;
    };

    BELAY_DECL void put(registered& one, const std::shared_ptr<hook_set>& set);
    BELAY_DECL void end(activation& one);
    BELAY_DECL checked<void> take(std::shared_ptr<const config> configuration);
    BELAY_DECL std::shared_ptr<hook_set> make_set(const std::vector<shared_hook>& entries);
    BELAY_DECL shared_hook hook_for(executable what, std::string name, origin from);
    BELAY_DECL bool has_open_session() const;
    BELAY_DECL checked<void> take_from_file(std::shared_ptr<const config> now);
    BELAY_DECL void look_at_file();

    std::shared_ptr<hook_set> current_;    // of the last configuration that was within its limits
    std::vector<shared_hook> entries_;     // of that configuration
    std::shared_ptr<config_file> file_;    // that is followed
    std::shared_ptr<const config> taken_;  // from it
    std::vector<std::shared_ptr<activation>> activations_;
    unsigned long long last_extension_ = 0;
    std::vector<std::weak_ptr<session_state>> sessions_;
    std::vector<std::weak_ptr<hook_set>> sets_;
    std::vector<std::weak_ptr<hook_program>> workers_;  // those of all sets
    bool keeps_workers_ = true;
    std::vector<registered> extensions_;
    unsigned long long last_id_ = 0;
};

// Writes a record of a hook's failure, if there is a log. `occasion` comes after type and level.
BELAY_DECL void log_failure(log_sink* log, std::string_view event, const failure& why,
                            boost::json::object occasion, std::string_view consequence = {});

// What the hooks of one event got wrong: what was ignored, then what decided. `occasion` makes the
// object for `log_failure`.
template <class E, class Occasion>
void log_failures(log_sink* log, const outcome_of<E>& said, Occasion occasion,
                  std::string_view consequence)
{
    for (const auto& one : said.ignored) {
        log_failure(log, E::event_name, one, occasion(), "ignored");
    }
    if (said.failed) log_failure(log, E::event_name, *said.failed, occasion(), consequence);
}

}  // namespace belay::hooks::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/detail/session_state.hpp>  // its bodies look into the sessions
#include <belay/hooks/impl/registry_state.ipp>
#endif

#endif
