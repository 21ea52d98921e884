#ifndef BELAY_PROCESS_IMPL_LAUNCH_IPP
#define BELAY_PROCESS_IMPL_LAUNCH_IPP

#include <belay/process/detail/argv.hpp>
#include <belay/process/detail/launch.hpp>
#include <belay/process/detail/spawn.hpp>

#include <boost/asio/detail/config.hpp>
#include <boost/system/system_category.hpp>

#include <cerrno>
#include <cstddef>
#include <unistd.h>

namespace belay::process::detail {

/// What execve wants: pointers to the strings, then a null pointer.
inline std::vector<const char*> pointers_to(const std::vector<std::string>& strings)
{
    std::vector<const char*> pointers;
    pointers.reserve(strings.size() + 1);
    for (const std::string& string : strings) pointers.push_back(string.c_str());
    pointers.push_back(nullptr);
    return pointers;
}

inline launch_fault fault_of(errc code, int system_error, const std::string& tried)
{
    const error_code cause(system_error, boost::system::system_category());
    return {code, cause, tried + ": " + cause.message()};
}

/// What the system's words do not say of a script.
inline std::string advice_about(int system_error, const std::string& program)
{
    if (system_error == ENOENT && ::access(program.c_str(), F_OK) == 0)
        return " (the file is there, but not the interpreter that its first line names)";
    if (system_error == ENOEXEC)
        return " (a script needs a first line that begins with #! and names its interpreter)";
    return {};
}

BELAY_DECL std::string invocation_fault(const std::vector<std::string>& argv,
                                        const std::string& cwd,
                                        const std::optional<std::vector<std::string>>& environment)
{
    const auto has_nul = [](const std::string& text) {
        return text.find('\0') != std::string::npos;
    };
    if (std::string fault = argv_fault(argv); !fault.empty()) return fault;
    if (has_nul(cwd)) return "cwd holds a NUL";
    if (environment)
        for (std::size_t i = 0; i < environment->size(); ++i)
            if (has_nul((*environment)[i]))
                return "environment[" + std::to_string(i) + "] holds a NUL";
    return {};
}

BELAY_DECL std::optional<launch_fault> make_pipes(stdio_pipes& pipes, const std::string& program)
{
    int error = make_pipe(pipes.in);
    if (error == 0) error = make_pipe(pipes.out);
    if (error == 0) error = make_pipe(pipes.err);
    if (error == 0) error = make_nonblocking(pipes.in.write);
#if defined(BOOST_ASIO_HAS_IO_URING_AS_DEFAULT)
    // A reactor makes what it waits for non-blocking; this does not.
    if (error == 0) error = make_nonblocking(pipes.out.read);
    if (error == 0) error = make_nonblocking(pipes.err.read);
#endif
    if (error == 0) return std::nullopt;
    return fault_of(errc::spawn_failed, error, "making the pipes for " + program);
}

BELAY_DECL std::optional<launch_fault> launch_child(
    child& started, const std::vector<std::string>& argv, const std::string& cwd,
    const std::optional<std::vector<std::string>>& environment, const stdio_pipes& pipes,
    spawner spawn)
{
    const std::vector<const char*> arguments = pointers_to(argv);
    const std::vector<const char*> variables =
        environment ? pointers_to(*environment) : std::vector<const char*>();
    spawn_request request;
    request.file = arguments[0];
    request.argv = arguments.data();
    request.environment = environment ? variables.data() : nullptr;
    request.cwd = cwd.empty() ? nullptr : cwd.c_str();
    request.stdio = {pipes.in.read.get(), pipes.out.write.get(), pipes.err.write.get()};
    const spawn_result result = spawn ? spawn(request) : detail::spawn(request);
    if (result.error == 0) {
        started = child(result.pid, result.pidfd);
        return std::nullopt;
    }
    if (result.stage == spawn_stage::cwd)
        return fault_of(errc::bad_cwd, result.error, "entering " + cwd);
    const bool busy = result.error == ETXTBSY && result.stage == spawn_stage::exec;
    auto fault =
        fault_of(busy ? errc::busy : errc::spawn_failed, result.error, "starting " + argv[0]);
    if (result.stage == spawn_stage::exec) fault.detail += advice_about(result.error, argv[0]);
    return fault;
}

}  // namespace belay::process::detail

#endif
