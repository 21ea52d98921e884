#ifndef BELAY_HOOKS_IMPL_REGISTRY_STATE_IPP
#define BELAY_HOOKS_IMPL_REGISTRY_STATE_IPP

#include <belay/hooks/detail/registry_state.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

namespace belay::hooks::detail {

BELAY_DECL registry_state::registry_state(boost::asio::any_io_executor where, registry_options how)
    : executor(std::move(where)),
      options(std::move(how)),
      time(options.time ? *options.time : clock::steady()),
      current(bare_set())
{
    sets_.push_back(current);
}

// A hook's destructor may come back here, so everything must be in place while the hooks go.
BELAY_DECL registry_state::~registry_state()
{
    const auto last = std::exchange(extensions_, {});
    current.reset();
}

BELAY_DECL std::shared_ptr<hook_set> registry_state::bare_set() const
{
    return std::make_shared<hook_set>(executor, time, options.trace);
}

BELAY_DECL checked<void> registry_state::use(std::shared_ptr<const config> configuration)
{
    auto entries = configuration ? configuration->executables()
                                 : checked<std::vector<executable>>(std::vector<executable>());
    if (!entries) {
        fault = entries.error();
        return *fault;
    }
    fault.reset();

    auto made = bare_set();
    for (auto& entry : *entries) {
        with_event(entry.when, [&]<class E>(std::type_identity<E>) {
            handler_info info{.name = entry.name, .from = origin::config};
            made->hooks_of<E>().add(std::move(info),
                                    executable_handler<E>(std::move(entry), options.run));
        });
    }
    for (auto& one : extensions_) put(one, made);
    std::erase_if(sets_, [](const auto& set) { return set.expired(); });
    sets_.push_back(made);
    const auto before = std::exchange(current, std::move(made));  // may come back when it goes
    return {};
}

BELAY_DECL hook_id registry_state::add(extension_hook hook)
{
    const auto id = static_cast<hook_id>(++last_id_);
    extensions_.push_back({id, std::move(hook), {}});
    for (const auto& weak : sets_) {
        if (const auto set = weak.lock()) put(extensions_.back(), set);
    }
    return id;
}

BELAY_DECL bool registry_state::remove(hook_id id)
{
    const auto one = std::ranges::find(extensions_, id, &registered::id);
    if (one == extensions_.end()) return false;
    const auto removed = std::move(*one);  // destroyed last: its destructor may come back here
    extensions_.erase(one);
    for (const auto& [weak, where] : removed.places) {
        if (const auto set = weak.lock()) removed.hook.remove_from(*set, where);
    }
    return true;
}

BELAY_DECL void registry_state::put(registered& one, const std::shared_ptr<hook_set>& set)
{
    std::erase_if(one.places, [](const auto& place) { return place.first.expired(); });
    one.places.emplace_back(set, one.hook.add_to(*set));
}

BELAY_DECL void log_failure(log_sink* log, std::string_view event, const failure& why,
                            boost::json::object occasion, std::string_view consequence)
{
    if (log == nullptr) return;
    boost::json::object record;
    record.emplace("type", std::string(event) + "_hook_failed");
    record.emplace("level", "warn");
    for (auto& [key, value] : occasion) record.emplace(key, std::move(value));
    record.emplace("index", why.handler.position);
    record.emplace(why.handler.from == origin::config ? "command" : "extension", why.handler.name);
    record.emplace("error", why.message);
    if (!consequence.empty()) record.emplace("consequence", consequence);
    log->on_record(record);
}

template <class E>
void notify_and_log(const registry_state& host, E event)
{
    boost::json::object occasion;
    if constexpr (std::is_same_v<E, subagent_finished>) {
        occasion.emplace("sessionId", event.parent_session_id);
        occasion.emplace("subagentId", event.subagent_id);
    } else {
        occasion.emplace("sessionId", event.session_id);
    }
    auto report = [log = host.options.log, occasion = std::move(occasion)](const failure& why) {
        log_failure(log, E::event_name, why, occasion);
    };
    host.current->template hooks_of<E>().notify(std::move(event), std::move(report));
}

BELAY_DECL void notify(const registry_state& host, pre_compact event)
{
    notify_and_log(host, std::move(event));
}
BELAY_DECL void notify(const registry_state& host, session_end event)
{
    notify_and_log(host, std::move(event));
}
BELAY_DECL void notify(const registry_state& host, subagent_finished event)
{
    notify_and_log(host, std::move(event));
}
BELAY_DECL void notify(const registry_state& host, turn_finished event)
{
    notify_and_log(host, std::move(event));
}

}  // namespace belay::hooks::detail

#endif
