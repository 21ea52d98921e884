#ifndef BELAY_HOOKS_IMPL_REGISTRY_STATE_IPP
#define BELAY_HOOKS_IMPL_REGISTRY_STATE_IPP

#include <belay/hooks/detail/registry_state.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

namespace belay::hooks::detail {

BELAY_DECL registry_state::registry_state(boost::asio::any_io_executor where, registry_options how)
    : executor(std::move(where)),
      options(std::move(how)),
      time(options.time ? *options.time : clock::steady()),
      pool{options.pool, options.pool_wait_limit,
           options.pool ? belay::detail::home_loop::make(executor) : nullptr},
      observing(executor, time),
      current_(bare_set())
{
    sets_.push_back(current_);
}

// A hook's destructor may come back here, so everything must be in place while the hooks go.
BELAY_DECL registry_state::~registry_state()
{
    const auto last = std::exchange(extensions_, {});
    const auto entries = std::exchange(entries_, {});
    current_.reset();
}

BELAY_DECL std::shared_ptr<hook_set> registry_state::bare_set() const
{
    return std::make_shared<hook_set>(observing, options.trace, pool);
}

BELAY_DECL checked<void> registry_state::use(std::shared_ptr<const config> configuration)
{
    file_.reset();
    return take(std::move(configuration));
}

BELAY_DECL checked<void> registry_state::follow(std::shared_ptr<config_file> file)
{
    file_ = std::move(file);
    taken_.reset();
    if (!file_) return take({});
    const auto loaded = file_->current() ? checked<void>() : file_->load();
    if (auto now = file_->current()) return take_from_file(std::move(now));
    fault = loaded.error();
    return *fault;
}

BELAY_DECL void registry_state::look_at_file()
{
    const auto file = file_;  // the log may put another one in its place
    if (!file) return;
    if (const auto changed = file->refresh(); !changed) {
        log_warning("config_not_used", changed.error().message);
    }
    auto now = file->current();
    if (file != file_ || !now || now == taken_) return;
    if (const auto used = take_from_file(std::move(now)); !used) {
        log_warning("config_not_used", used.error().message);
    }
}

BELAY_DECL checked<void> registry_state::take_from_file(std::shared_ptr<const config> now)
{
    auto used = take(now);
    taken_ = now;
    for (const auto& one : now->warnings()) log_warning("config_warning", one);
    return used;
}

BELAY_DECL void registry_state::log_warning(std::string_view type, std::string_view what,
                                            std::string_view extension) const
{
    if (options.log == nullptr) return;
    boost::json::object record{{"type", type}, {"level", "warn"}};
    if (!extension.empty()) record.emplace("extension", extension);
    record.emplace("error", what);
    options.log->on_record(record);
}

BELAY_DECL const std::shared_ptr<hook_set>& registry_state::current()
{
    look_at_file();
    return current_;
}

BELAY_DECL checked<void> registry_state::take(std::shared_ptr<const config> configuration)
{
    auto entries = configuration ? configuration->executables()
                                 : checked<std::vector<executable>>(std::vector<executable>());
    if (!entries) {
        fault = entries.error();
        return *fault;
    }
    std::vector<shared_hook> hooks;
    for (const auto& entry : *entries) hooks.push_back(hook_for(entry, entry.name, origin::config));
    auto made = make_set(hooks);
    fault.reset();
    // They may come back here when they go.
    const auto entries_before = std::exchange(entries_, std::move(hooks));
    const auto before = std::exchange(current_, std::move(made));
    return {};
}

BELAY_DECL std::shared_ptr<hook_set> registry_state::make_set(
    const std::vector<shared_hook>& entries)
{
    auto made = bare_set();
    for (const auto& entry : entries) entry.add_to(*made);
    for (auto& one : extensions_) put(one, made);
    std::erase_if(sets_, [](const auto& set) { return set.expired(); });
    sets_.push_back(made);
    return made;
}

BELAY_DECL std::shared_ptr<hook_set> registry_state::set_for(session_options& who)
{
    const auto prepare = std::exchange(who.prepare_turn, {});
    const auto before_end = std::exchange(who.before_turn_ends, {});
    if (who.bare) return bare_set();
    if (!prepare && !before_end) return current_;
    auto made = make_set(entries_);
    const auto add = [&]<class E>(const any_handler<E>& own, std::string name) {
        if (!own) return;
        made->add(handler_info{.name = std::move(name), .from = origin::conversation}, own);
    };
    add(prepare, "prepare_turn");
    add(before_end, "before_turn_ends");
    return made;
}

BELAY_DECL void registry_state::add(hook_id id, shared_hook hook)
{
    extensions_.push_back({id, std::move(hook), {}});
    for (const auto& weak : sets_) {
        if (const auto set = weak.lock()) put(extensions_.back(), set);
    }
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

BELAY_DECL checked<shared_hook> registry_state::command_hook(const executable_spec& spec,
                                                             std::string name)
{
    auto what = check(spec, options.known);
    if (!what) return what.error();
    if (auto why = program_fault(what->argv.front()); !why.empty()) {
        return diagnosis{errc::invalid_argv, std::move(why)};
    }
    return hook_for(*std::move(what), std::move(name), origin::extension);
}

BELAY_DECL shared_hook registry_state::hook_for(executable what, std::string name, origin from)
{
    const auto program = std::make_shared<hook_program>(executor, std::move(what), options.run);
    if (program->what.mode == run_mode::worker) {
        program->keep_worker(keeps_workers_);
        std::erase_if(workers_, [](const auto& one) { return one.expired(); });
        workers_.push_back(program);
    }
    shared_hook made;
    with_event(program->what.when, [&]<class E>(std::type_identity<E>) {
        const auto& tools = program->what.tools;
        made = shared_hook::of<E>({.name = std::move(name), .from = from},
                                  tools.empty() ? matcher() : any_of(tools),
                                  executable_handler<E>(program));
    });
    return made;
}

BELAY_DECL void registry_state::keep_workers(bool kept)
{
    if (std::exchange(keeps_workers_, kept) == kept) return;
    for (const auto& weak : workers_) {
        if (const auto one = weak.lock()) one->keep_worker(kept);
    }
}

BELAY_DECL void registry_state::release_workers()
{
    if (!has_open_session()) keep_workers(false);
}

BELAY_DECL void registry_state::release_workers_after_observers()
{
    if (workers_.empty() || !keeps_workers_) return;
    observer_group all = observing;  // a copy is the same group
    all.async_drain(std::chrono::milliseconds::max(),
                    [weak = weak_from_this()](error_code, std::size_t) {
                        if (const auto self = weak.lock()) self->release_workers();
                    });
}

BELAY_DECL void registry_state::put(registered& one, const std::shared_ptr<hook_set>& set)
{
    std::erase_if(one.places, [](const auto& place) { return place.first.expired(); });
    one.places.emplace_back(set, one.hook.add_to(*set));
}

// By what a record names a hook.
constexpr std::string_view key_of(origin from) noexcept
{
    switch (from) {
    case origin::config: return "command";
    case origin::extension: return "extension";
    case origin::conversation: return "function";
    }
    return "";
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
    record.emplace(key_of(why.handler.from), why.handler.name);
    record.emplace("error", why.message);
    if (!consequence.empty()) record.emplace("consequence", consequence);
    log->on_record(record);
}

template <class E>
void notify_and_log(registry_state& host, E event)
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
    host.current()->template hooks_of<E>().notify(std::move(event), std::move(report));
}

BELAY_DECL void notify(registry_state& host, pre_compact event)
{
    notify_and_log(host, std::move(event));
}
BELAY_DECL void notify(registry_state& host, session_end event)
{
    notify_and_log(host, std::move(event));
}
BELAY_DECL void notify(registry_state& host, subagent_finished event)
{
    notify_and_log(host, std::move(event));
}
BELAY_DECL void notify(registry_state& host, turn_finished event)
{
    notify_and_log(host, std::move(event));
}

#if !defined(BELAY_HEADER_ONLY)
template struct hooks_of_event<pre_tool_use>;
template struct hooks_of_event<post_tool_use>;
template struct hooks_of_event<session_start>;
template struct hooks_of_event<pre_turn>;
template struct hooks_of_event<turn_ending>;
template struct hooks_of_event<pre_compact>;
template struct hooks_of_event<session_end>;
template struct hooks_of_event<subagent_finished>;
template struct hooks_of_event<turn_finished>;
#endif

}  // namespace belay::hooks::detail

#endif
