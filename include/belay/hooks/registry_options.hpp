#ifndef BELAY_HOOKS_REGISTRY_OPTIONS_HPP
#define BELAY_HOOKS_REGISTRY_OPTIONS_HPP

// What a host brings along for its hooks.

#include <belay/core/clock.hpp>
#include <belay/core/trace.hpp>
#include <belay/hooks/ask.hpp>
#include <belay/hooks/executable.hpp>
#include <belay/hooks/log.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>

namespace belay::hooks {

/// What the host brings along. Pointers may be null; what they point to must outlive the registry,
/// its sessions and what these have in flight.
struct registry_options {
    clock* time = nullptr;                  ///< null: the steady clock
    trace_sink* trace = nullptr;            ///< told what every hook said
    log_sink* log = nullptr;                ///< told which hooks failed
    model_function ask_model{};             ///< answers side questions; absent: none is
    usage_sink* usage = nullptr;            ///< told what they cost
    executable_options run{};               ///< how executables are run
    protocols known = default_protocols();  ///< for `on_executable`

    /// Where functions may block, such as that of a boost::asio::thread_pool: hooks that answer at
    /// once are called there, and so is `tool_host::run` if it does; by several threads at a time, if
    /// there are several. Such a hook's timeout and its deadline start when a thread begins to call
    /// it; when they are over the chain moves on, while the function keeps its thread until it
    /// returns. These functions may start operations, but not call anything else of the registry
    /// and its sessions. Absent: everything is called on the registry's executor, as whatever
    /// answers later always is, and the sinks.
    ///
    /// What these functions captured is destroyed on the registry's executor all the same, so a
    /// destructor may call the registry: a function that is removed while it runs goes back there
    /// when it has returned. If that executor's context has been destroyed by then, it is destroyed
    /// on the pool's thread.
    boost::asio::any_io_executor pool{};

    /// How long a hook may wait for a thread of the pool. Then it has failed, without having been
    /// called (`errc::not_started`, "no thread was free within Nms"), and, since it is an
    /// extension's, is ignored: the call goes on without it. It is what ends the wait when all
    /// threads are taken for good, or the pool was joined or stopped; nothing else of the wait is
    /// charged to a hook. A tool has no such limit: it waits until its batch is cancelled. Zero or
    /// less: a hook does not wait at all, and most will fail.
    std::chrono::milliseconds pool_wait_limit = std::chrono::minutes(10);
};

/// Names a hook that an extension registered. Never used twice by the same registry.
enum class hook_id : unsigned long long {};

/// Names an extension that is active. Never used twice by the same registry.
enum class extension_id : unsigned long long {};

}  // namespace belay::hooks

#endif
