#ifndef BELAY_HOOKS_IMPL_EXECUTABLE_IPP
#define BELAY_HOOKS_IMPL_EXECUTABLE_IPP

#include <belay/hooks/executable.hpp>
#include <belay/hooks/protocol/claude.hpp>
#include <belay/hooks/protocol/vera.hpp>
#include <belay/process/run.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <array>

namespace belay::hooks {

BELAY_DECL protocols default_protocols() noexcept
{
    static const std::array<const protocol*, 2> all{&vera(), &claude()};
    return all;
}

namespace detail {

BELAY_DECL checked<const protocol*> find_protocol(std::string_view name, protocols known)
{
    const auto found = std::ranges::find(known, name, &protocol::name);
    if (found != known.end()) return *found;
    if (known.empty()) return diagnosis{errc::invalid_config, "This host has no hook protocol"};
    std::string names;  // "vera, claude or mine"
    for (std::size_t i = 0; i != known.size(); ++i) {
        if (i != 0) names += i + 1 == known.size() ? " or " : ", ";
        names += known[i]->name();
    }
    return diagnosis{errc::invalid_config, "Command hook protocol must be " + names};
}

BELAY_DECL checked<phase> find_phase(const protocol& speaks, std::string_view configured,
                                     protocols known)
{
    if (const auto found = speaks.resolve(configured)) return *found;
    const std::string name(configured);
    if (phase_named(configured)) {
        return diagnosis{errc::invalid_config,
                         "This command hook protocol does not support " + name};
    }
    for (const auto* other : known) {
        if (!other->resolve(configured)) continue;
        return diagnosis{errc::invalid_config, "Command hook phase " + name + " needs the " +
                                                   std::string(other->name()) + " protocol"};
    }
    return diagnosis{errc::invalid_config, "Unknown command hook phase: " + name};
}

BELAY_DECL std::string_view argv_fault(const std::vector<std::string>& argv)
{
    return process::check_argv(argv) ? "" : "Command hook argv must be a bounded non-empty array";
}

BELAY_DECL std::string_view timeout_fault(std::chrono::milliseconds timeout) noexcept
{
    const bool bounded = timeout >= std::chrono::milliseconds(1) && timeout <= timeout_limit;
    return bounded ? "" : "Command hook timeout must be between 1 and 30000ms";
}

BELAY_DECL std::string program_fault(std::string_view program)
{
    if (program.starts_with('/')) return "";
    return "Command hook argv must start with an absolute path, not \"" + std::string(program) +
           '"';
}

BELAY_DECL std::string file_name(std::string_view path)
{
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    return std::string(path.substr(path.rfind('/') + 1));
}

// What an error of a run means for a hook.
inline diagnosis run_failure(error_code ec, const process::exit_report& report,
                             std::chrono::milliseconds timeout)
{
    const auto code =
        ec.category() == error_category() ? static_cast<errc>(ec.value()) : errc::spawn_failed;
    switch (code) {
    case errc::input_too_large: return {code, "Command hook input exceeded its byte bound"};
    case errc::output_too_large: return {code, "Command hook output exceeded its byte bound"};
    case errc::timed_out:
        return {code, "Command hook timed out after " + std::to_string(timeout.count()) + "ms"};
    case errc::cancelled: return {code, "Command hook was cancelled"};
    case errc::status_lost:
        return {code, "Command hook exited with status unknown: it was reaped by something else"};
    default:
        return {code, "Command hook could not be started: " +
                          (report.detail.empty() ? ec.message() : report.detail)};
    }
}

BELAY_DECL void run_executable(const executable& what, const executable_options& how,
                               boost::asio::any_io_executor executor,
                               boost::asio::cancellation_slot slot, std::string input,
                               run_completion done)
{
    if (input.size() > process::input_limit) {
        return done(run_failure(errc::input_too_large, {}, what.timeout));
    }
    process::invocation invocation;
    invocation.argv = what.argv;
    invocation.cwd = how.cwd;
    invocation.environment = how.environment;
    invocation.timeout = what.timeout;
    invocation.limits.out = stdout_limit(what.when);

    auto ended = [done = std::move(done), timeout = what.timeout](
                     error_code ec, process::exit_report report) mutable {
        if (ec) return done(run_failure(ec, report, timeout));
        done(std::move(report));
    };
    boost::asio::any_completion_handler<void(error_code, process::exit_report)> handler(
        boost::asio::bind_cancellation_slot(
            slot, boost::asio::bind_executor(executor, std::move(ended))));
    if (how.run) {
        how.run(std::move(executor), std::move(invocation), std::move(input), std::move(handler));
    } else {
        process::async_run(std::move(executor), std::move(invocation), std::move(input),
                           std::move(handler));
    }
}

}  // namespace detail

BELAY_DECL checked<executable> check(const executable_spec& spec, protocols known)
{
    const auto speaks = detail::find_protocol(spec.protocol, known);
    if (!speaks) return speaks.error();
    const auto when = detail::find_phase(**speaks, spec.phase, known);
    if (!when) return when.error();
    for (const auto why : {detail::argv_fault(spec.argv), detail::timeout_fault(spec.timeout)}) {
        if (!why.empty()) return diagnosis{errc::invalid_config, std::string(why)};
    }
    return executable{.when = *when,
                      .speaks = *speaks,
                      .configured = spec.phase,
                      .argv = spec.argv,
                      .timeout = spec.timeout,
                      .name = spec.name.empty() ? detail::file_name(spec.argv[0]) : spec.name};
}

}  // namespace belay::hooks

#endif
