#ifndef BELAY_PROCESS_BOOST_LAUNCHER_HPP
#define BELAY_PROCESS_BOOST_LAUNCHER_HPP

// A launcher for applications that use Boost.Process v2: its protocol, our spawn. It never forks,
// passes no descriptor on that was not asked for, and leaves no zombie when a program cannot be
// started.
//
//   boost::process::v2::process p = belay::process::boost_launcher{}(
//       context, "/usr/bin/sort", std::vector<std::string>{"--reverse"},
//       boost::process::v2::process_stdio{input, output, {}});

#include <belay/process/detail/boost_process.hpp>
#include <belay/process/detail/spawn.hpp>

#include <boost/asio/execution/executor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/is_executor.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_category.hpp>
#include <boost/system/system_error.hpp>
#include <boost/throw_exception.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <concepts>
#include <csignal>
#include <string>
#include <sys/wait.h>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

namespace belay::process {
namespace detail {

template <class Context>
concept execution_context_like = std::convertible_to<Context&, boost::asio::execution_context&>;

template <class Executor>
concept executor_like = boost::asio::execution::is_executor<Executor>::value ||
    boost::asio::is_executor<Executor>::value;

}  // namespace detail

/// Callable like `boost::process::v2::posix::default_launcher`, which it derives from so that
/// initialisers accept it; `env` and `fd_whitelist` mean the same.
///
/// Of an initialiser it calls `on_setup`, then in the child `on_exec_setup`, then `on_success` or
/// `on_error`. `process_stdio` and `process_start_dir` are obeyed before any other `on_exec_setup`.
/// That one runs in the host's memory, while the calling thread stands still and every signal is
/// blocked: it may only make calls that are async-signal-safe. Where the kernel refuses `clone`, it
/// and descriptors of `fd_whitelist` over 2 fail with `ENOTSUP`.
///
/// Unlike `async_run`, the process that is returned is Boost's: how it waits, kills and is
/// destroyed is its.
struct boost_launcher : boost::process::v2::posix::default_launcher {
    using path = boost::process::v2::filesystem::path;
    using error_code = boost::system::error_code;
    template <class Executor>
    using basic_process = boost::process::v2::basic_process<Executor>;

    /// Whether the child leads a process group of its own. Boost's launchers leave it in the
    /// host's.
    bool own_group = false;

    /// Throws `boost::system::system_error`.
    template <detail::execution_context_like Context, class Args, class... Inits>
    auto operator()(Context& context, const path& executable, Args&& args, Inits&&... inits)
        -> basic_process<typename Context::executor_type>
    {
        return (*this)(context.get_executor(), executable, std::forward<Args>(args),
                       std::forward<Inits>(inits)...);
    }

    /// `error`: the system's, or an initialiser's own. The process is then empty.
    template <detail::execution_context_like Context, class Args, class... Inits>
    auto operator()(Context& context, error_code& error, const path& executable, Args&& args,
                    Inits&&... inits) -> basic_process<typename Context::executor_type>
    {
        return (*this)(context.get_executor(), error, executable, std::forward<Args>(args),
                       std::forward<Inits>(inits)...);
    }

    /// Throws `boost::system::system_error`.
    template <detail::executor_like Executor, class Args, class... Inits>
    auto operator()(Executor executor, const path& executable, Args&& args, Inits&&... inits)
        -> basic_process<Executor>
    {
        error_code error;
        basic_process<Executor> process =
            (*this)(std::move(executor), error, executable, std::forward<Args>(args),
                    std::forward<Inits>(inits)...);
        if (error) boost::throw_exception(boost::system::system_error(error, "boost_launcher"));
        return process;
    }

    /// `error`: the system's, or an initialiser's own. The process is then empty.
    template <detail::executor_like Executor, class Args, class... Inits>
    auto operator()(Executor executor, error_code& error, const path& executable, Args&& args,
                    Inits&&... inits) -> basic_process<Executor>
    {
        error.clear();
        pid = -1;
        argv_buffer_.clear();  // what an earlier call has left
        argv_.clear();
        const char* const* argv = build_argv_(executable, std::forward<Args>(args));

        (prepare(error, executable, argv, inits), ...);
        if (!error) {
            basic_process<Executor> process = launch(executor, error, executable, argv, inits...);
            if (!error) {
                (tell_success(executable, argv, inits), ...);
                return process;
            }
        }
        (tell_error(executable, argv, error, inits), ...);
        return basic_process<Executor>(executor);
    }

private:
    template <class Init>
    static constexpr bool is_stdio =
        std::is_same_v<std::remove_cvref_t<Init>, boost::process::v2::process_stdio>;

    template <class Init>
    static constexpr bool is_start_dir =
        std::is_same_v<std::remove_cvref_t<Init>, boost::process::v2::process_start_dir>;

    template <class Init>
    static constexpr bool runs_in_child =
        !is_stdio<Init> && !is_start_dir<Init> &&
        requires(boost_launcher & launcher, const path& executable, const char* const*& argv,
                 Init& init)
    {
        init.on_exec_setup(launcher, executable, argv);
    };

    static error_code from_system(int error) { return {error, boost::system::system_category()}; }

    template <class Executor, class... Inits>
    basic_process<Executor> launch(const Executor& executor, error_code& error,
                                   const path& executable, const char* const*& argv,
                                   Inits&... inits)
    {
        std::vector<int> keep = fd_whitelist;
        std::sort(keep.begin(), keep.end());
        detail::spawn_request request;
        request.file = executable.c_str();
        request.argv = argv;
        request.environment = env;
        request.keep = keep;
        request.own_group = own_group;
        (place(request, error, inits), ...);
        if (error) return basic_process<Executor>(executor);

        error_code refusal;  // an initialiser's, written by the child into this memory
        auto in_child = [&]() -> int {
            (run_in_child(refusal, executable, argv, inits), ...);
            return refusal ? ECANCELED : 0;
        };
        if constexpr ((runs_in_child<Inits> || ...)) {
            request.setup = [](void* context) {
                return (*static_cast<decltype(in_child)*>(context))();
            };
            request.context = &in_child;
        }

        const detail::spawn_result started = detail::spawn(request);
        if (started.error != 0) {
            error = refusal ? refusal : from_system(started.error);
            return basic_process<Executor>(executor);
        }
        pid = started.pid;
        try {
#if defined(BOOST_PROCESS_V2_PIDFD_OPEN)
            return basic_process<Executor>(executor, started.pid, started.pidfd);
#else
            ::close(started.pidfd);
            return basic_process<Executor>(executor, started.pid);
#endif
        } catch (const boost::system::system_error& failure) {
            // The reactor has no room for it. A child that nobody watches must not run on.
            error = failure.code();
            ::kill(started.pid, SIGKILL);
            while (::waitpid(started.pid, nullptr, 0) < 0 && errno == EINTR) {
            }
            pid = -1;
#if defined(BOOST_PROCESS_V2_PIDFD_OPEN)
            ::close(started.pidfd);
#endif
        }
        return basic_process<Executor>(executor);
    }

    template <class Init>
    void prepare(error_code& error, const path& executable, const char* const*& argv, Init& init)
    {
        if constexpr (requires { init.on_setup(*this, executable, argv); })
            if (!error) error = init.on_setup(*this, executable, argv);
    }

    template <class Init>
    static void place(detail::spawn_request& request, error_code& error, Init& init)
    {
        if constexpr (is_stdio<Init>) {
            place_one(request.stdio[0], error, init.in);
            place_one(request.stdio[1], error, init.out);
            place_one(request.stdio[2], error, init.err);
        } else if constexpr (is_start_dir<Init>)
            request.cwd = init.start_dir.c_str();
    }

    template <class Binding>
    static void place_one(int& to, error_code& error, const Binding& binding)
    {
        if constexpr (requires { error = binding.ec; })  // a pipe that could not be made
            if (binding.ec && !error) error = binding.ec;
        if (binding.fd < 0 && !error)
            error = from_system(EBADF);  // a file that could not be opened
        to = binding.fd;
    }

    template <class Init>
    void run_in_child(error_code& refusal, const path& executable, const char* const*& argv,
                      Init& init)
    {
        if constexpr (runs_in_child<Init>)
            if (!refusal) refusal = init.on_exec_setup(*this, executable, argv);
    }

    template <class Init>
    void tell_success(const path& executable, const char* const*& argv, Init& init)
    {
        if constexpr (requires { init.on_success(*this, executable, argv); })
            init.on_success(*this, executable, argv);
    }

    template <class Init>
    void tell_error(const path& executable, const char* const*& argv, const error_code& error,
                    Init& init)
    {
        if constexpr (requires { init.on_error(*this, executable, argv, error); })
            init.on_error(*this, executable, argv, error);
    }
};

}  // namespace belay::process

#endif
