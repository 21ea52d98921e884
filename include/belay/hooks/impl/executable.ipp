#ifndef BELAY_HOOKS_IMPL_EXECUTABLE_IPP
#define BELAY_HOOKS_IMPL_EXECUTABLE_IPP

#include <belay/hooks/executable.hpp>
#include <belay/hooks/protocol/claude.hpp>
#include <belay/hooks/protocol/vera.hpp>
#include <belay/process/detail/envelope.hpp>
#include <belay/process/detail/text.hpp>
#include <belay/process/run.hpp>
#include <belay/process/worker.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <array>
#include <type_traits>

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

BELAY_DECL std::string in_flight_fault(run_mode mode, std::size_t in_flight)
{
    const auto given = std::to_string(in_flight);
    if (mode == run_mode::once && in_flight != 1)
        return "Command hook in_flight " + given + " needs the mode worker";
    if (in_flight >= 1 && in_flight <= in_flight_limit) return "";
    return "Command hook in_flight must be between 1 and " + std::to_string(in_flight_limit) +
           ", not " + given;
}

BELAY_DECL bool is_about_a_tool(phase when) noexcept
{
    bool has_subject = false;
    with_event(
        when, [&]<class E>(std::type_identity<E>) { has_subject = belay::detail::has_subject<E>; });
    return has_subject;
}

BELAY_DECL std::string tools_fault(phase when, const executable_spec& spec)
{
    if (spec.tools.empty()) return "";
    if (!is_about_a_tool(when)) {
        return "Command hook tools mean nothing in the phase " + spec.phase;
    }
    const auto faulty = belay::detail::find_faulty_name(spec.tools);
    if (!faulty) return "";
    if (!faulty->twice) return "Command hook tools must be non-empty names";
    return "Command hook tools name \"" + spec.tools[faulty->index] + "\" twice";
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

inline errc code_of(const error_code& error) noexcept
{
    return error.category() == error_category() ? static_cast<errc>(error.value())
                                                : errc::spawn_failed;
}

// What an error of a run means for a hook. `detail`: why it could not be started.
inline diagnosis run_failure(const error_code& error, const std::string& detail,
                             std::chrono::milliseconds timeout)
{
    const auto code = code_of(error);
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
                          (detail.empty() ? error.message() : detail)};
    }
}

// The end of what a worker complained of, which is where the reason mostly is.
inline std::string complaint(const process::worker_reply& reply)
{
    constexpr std::size_t longest = 1000;
    std::string_view text = process::detail::trim(reply.err);
    if (text.empty()) return "";
    if (text.size() > longest) {
        text.remove_prefix(text.size() - longest);
        text.remove_prefix(text.find('\n') + 1);  // the rest of a line, if others follow
    }
    return "; stderr: " + process::detail::quotation(text, longest);
}

// What an error of a worker means for a hook: the sentence of a hook that runs once, then what is known.
inline diagnosis worker_failure(const error_code& error, const process::worker_reply& reply,
                                std::chrono::milliseconds timeout)
{
    const auto code = code_of(error);
    const auto said = [&](const std::string& sentence, const std::string& more) {
        return diagnosis{code, sentence + more + complaint(reply)};
    };
    const auto details = reply.detail.empty() ? "" : ": " + reply.detail;
    switch (code) {
    case errc::exited:
        return said(
            "Command hook exited with status " + std::to_string(reply.status.code().value_or(0)),
            " before it had answered");
    case errc::signalled: return said("Command hook exited with status unknown", details);
    case errc::not_json: return said("Command hook returned invalid JSON", details);
    case errc::not_utf8: return said("Command hook output is not valid UTF-8", details);
    case errc::invalid_answer: return said("Command hook returned an invalid answer", details);
    case errc::unavailable: return said("Command hook is unavailable", details);
    case errc::output_too_large:
    case errc::timed_out: return said(run_failure(error, {}, timeout).message, details);
    default: return said(run_failure(error, reply.detail, timeout).message, "");
    }
}

BELAY_DECL hook_program::hook_program(boost::asio::any_io_executor executor, executable program,
                                      executable_options how)
    : what(std::move(program)), executor_(std::move(executor)), how_(std::move(how))
{}

BELAY_DECL void hook_program::run(boost::asio::any_io_executor executor,
                                  boost::asio::cancellation_slot slot, std::string input,
                                  process::turn_listener turn, run_completion done)
{
    if (input.size() > process::input_limit) {
        const auto why = run_failure(errc::input_too_large, {}, what.timeout);
        return done(&why, {});
    }
    if (what.mode == run_mode::worker) {
        return ask_worker(slot, std::move(input), std::move(turn), std::move(done));
    }
    run_once(std::move(executor), slot, std::move(input), std::move(done));
}

BELAY_DECL void hook_program::run_once(boost::asio::any_io_executor executor,
                                       boost::asio::cancellation_slot slot, std::string input,
                                       run_completion done) const
{
    process::invocation invocation;
    invocation.argv = what.argv;
    invocation.cwd = how_.cwd;
    invocation.environment = how_.environment;
    invocation.timeout = what.timeout;
    invocation.limits.out = stdout_limit(what.when);

    auto ended = [done = std::move(done), timeout = what.timeout](
                     error_code ec, const process::exit_report& report) mutable {
        if (!ec) return done(nullptr, report);
        const auto why = run_failure(ec, report.detail, timeout);
        done(&why, report);
    };
    boost::asio::any_completion_handler<void(error_code, process::exit_report)> handler(
        boost::asio::bind_cancellation_slot(
            slot, boost::asio::bind_executor(executor, std::move(ended))));
    if (how_.run) {
        how_.run(std::move(executor), std::move(invocation), std::move(input), std::move(handler));
    } else {
        process::async_run(std::move(executor), std::move(invocation), std::move(input),
                           std::move(handler));
    }
}

inline worker_function make_worker(boost::asio::any_io_executor executor,
                                   process::worker_options options)
{
    return [worker = std::make_shared<process::worker>(std::move(executor), std::move(options))](
               std::string event, std::chrono::milliseconds timeout, process::turn_listener turn,
               auto handler) {
        // Its executor is the worker's. Said so that it can be seen, which saves a post.
        worker->async_request(
            std::move(event), timeout, std::move(turn),
            boost::asio::bind_executor(worker->get_executor(), std::move(handler)));
    };
}

BELAY_DECL void hook_program::ask_worker(boost::asio::cancellation_slot slot, std::string input,
                                         process::turn_listener turn, run_completion done)
{
    if (!worker_) {
        process::worker_options options;
        options.argv = what.argv;
        options.cwd = how_.cwd;
        options.environment = how_.environment;
        options.limits.out = stdout_limit(what.when);
        options.in_flight = what.in_flight;
        options.recycle_after = how_.recycle_after;
        options.idle_timeout = how_.idle_timeout;
        worker_ = how_.make_worker ? how_.make_worker(executor_, std::move(options))
                                   : make_worker(executor_, std::move(options));
    }
    auto ended = [this, done = std::move(done), timeout = what.timeout](
                     error_code ec, process::worker_reply reply) mutable {
        --asked_;
        end_worker_if_unused();
        process::exit_report report;
        if (ec) {
            const auto why = worker_failure(ec, reply, timeout);
            return done(&why, report);
        }
        report.started = true;
        report.status = process::exit_status::exited(0);
        report.out = std::move(reply.result);
        report.out_bytes = report.out.size();
        report.duration = reply.duration;
        done(nullptr, report);
    };
    turn(false);
    ++asked_;
    worker_(std::move(input), what.timeout, std::move(turn),
            boost::asio::bind_cancellation_slot(
                slot, boost::asio::bind_executor(executor_, std::move(ended))));
}

BELAY_DECL diagnosis hook_program::explained(diagnosis why,
                                             const process::exit_report& report) const
{
    if (what.mode == run_mode::worker && report.out.empty()) {
        why.message += ": the worker's answer has no \"result\"";
    }
    return why;
}

BELAY_DECL void hook_program::keep_worker(bool kept)
{
    kept_ = kept;
    end_worker_if_unused();
}

BELAY_DECL void hook_program::end_worker_if_unused()
{
    if (!kept_ && asked_ == 0) worker_ = {};
}

}  // namespace detail

BELAY_DECL checked<executable> check(const executable_spec& spec, protocols known)
{
    const auto speaks = detail::find_protocol(spec.protocol, known);
    if (!speaks) return speaks.error();
    const auto when = detail::find_phase(**speaks, spec.phase, known);
    if (!when) return when.error();
    for (auto why :
         {std::string(detail::argv_fault(spec.argv)),
          std::string(detail::timeout_fault(spec.timeout)),
          detail::in_flight_fault(spec.mode, spec.in_flight), detail::tools_fault(*when, spec)}) {
        if (!why.empty()) return diagnosis{errc::invalid_config, std::move(why)};
    }
    return executable{.when = *when,
                      .speaks = *speaks,
                      .configured = spec.phase,
                      .argv = spec.argv,
                      .timeout = spec.timeout,
                      .name = spec.name.empty() ? detail::file_name(spec.argv[0]) : spec.name,
                      .mode = spec.mode,
                      .in_flight = spec.in_flight,
                      .tools = spec.tools};
}

}  // namespace belay::hooks

#endif
