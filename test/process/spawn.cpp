#include <belay/process/detail/child.hpp>
#include <belay/process/detail/file_descriptor.hpp>
#include <belay/process/detail/spawn.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "support.hpp"
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <poll.h>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace detail = belay::process::detail;

using belay::process::exit_status;
using detail::child;
using detail::child_state;
using detail::file_descriptor;
using detail::pipe_ends;
using detail::spawn_request;
using detail::spawn_result;
using detail::spawn_stage;
using detail::spawn_way;
using test::eventually;
using test::forever;
using test::in_a_copy_of_this_process;
using test::refuse_system_call;
using namespace std::chrono_literals;

namespace belay::process::detail {

std::ostream& operator<<(std::ostream& to, spawn_way way)
{
    return to << (way == spawn_way::clone         ? "clone"
                  : way == spawn_way::posix_spawn ? "posix_spawn"
                                                  : "automatic");
}

std::ostream& operator<<(std::ostream& to, spawn_stage stage)
{
    return to << "stage " << static_cast<int>(stage);
}

}  // namespace belay::process::detail

namespace {

/// Both ways where the machine has both.
const std::array ways = {
#if defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))
    spawn_way::clone,
#endif
    spawn_way::posix_spawn, spawn_way::automatic};

/// A request for the probe, with the pointers that it needs.
struct probe_request : spawn_request {
    explicit probe_request(spawn_way how, std::vector<std::string> modes = {"exit", "0"})
        : strings(std::move(modes))
    {
        pointers.push_back(BELAY_TEST_PROBE);
        for (const std::string& string : strings) pointers.push_back(string.c_str());
        pointers.push_back(nullptr);
        file = BELAY_TEST_PROBE;
        argv = pointers.data();
        way = how;
    }
    probe_request(const probe_request&) = delete;
    probe_request& operator=(const probe_request&) = delete;

    std::vector<std::string> strings;
    std::vector<const char*> pointers;
};

exit_status wait_for(child& running)
{
    pollfd end{running.pidfd(), POLLIN, 0};
    ::poll(&end, 1, -1);
    return running.reap();
}

/// Spawns with stdout in a pipe; returns what was written.
std::string output_of(spawn_request& request)
{
    pipe_ends out;
    BOOST_REQUIRE(detail::make_pipe(out) == 0);
    request.stdio[1] = out.write.get();
    const spawn_result started = detail::spawn(request);
    BOOST_TEST_REQUIRE(started.error == 0);
    out.write.reset();
    std::string text;
    char buffer[4096];
    for (ssize_t n; (n = ::read(out.read.get(), buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(n));
    child running(started.pid, started.pidfd);
    BOOST_TEST(wait_for(running).is_success());
    return text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(spawn)

BOOST_DATA_TEST_CASE(a_child_runs_and_its_status_is_taken_once, boost::unit_test::data::make(ways),
                     way)
{
    const spawn_result started = detail::spawn(probe_request(way, {"exit", "7"}));
    BOOST_TEST_REQUIRE(started.error == 0);
    BOOST_TEST((::fcntl(started.pidfd, F_GETFD) & FD_CLOEXEC) != 0);
    child running(started.pid, started.pidfd);
    pollfd end{started.pidfd, POLLIN, 0};
    BOOST_TEST(::poll(&end, 1, -1) == 1);
    BOOST_TEST((running.peek() == child_state::ended));
    BOOST_TEST((running.peek() == child_state::ended));  // a look takes nothing
    BOOST_TEST((running.reap() == exit_status::exited(7)));
    BOOST_TEST((running.reap() == exit_status()));
    BOOST_TEST(!test::has_children());
}

BOOST_AUTO_TEST_CASE(a_thread_that_has_ended_leaves_no_stack_of_its_children_behind)
{
    const auto start_one = [] {
        const spawn_result started = detail::spawn(probe_request(spawn_way::clone));
        child running(started.pid, started.pidfd);
        wait_for(running);
    };
    // Below each there are 64 KiB that cannot be accessed, and nobody else has such.
    const auto stacks = [] {
        int count = 0;
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);) {
            unsigned long begin = 0;
            unsigned long end = 0;
            char access[5] = {};
            if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) == 3)
                count += end - begin == 64 * 1024 && std::string(access) == "---p";
        }
        return count;
    };
    start_one();
    BOOST_TEST(stacks() == 1);  // this thread's
    for (int i = 0; i < 20; ++i) std::thread(start_one).join();
    BOOST_TEST(stacks() == 1);
}

BOOST_AUTO_TEST_CASE(what_runs_at_the_end_of_a_thread_can_still_spawn)
{
    static exit_status last;
    struct at_the_end {
        ~at_the_end()
        {
            const spawn_result started =
                detail::spawn(probe_request(spawn_way::automatic, {"exit", "7"}));
            child running(started.pid, started.pidfd);
            last = wait_for(running);
        }
    };
    std::thread([] {
        thread_local const at_the_end late;  // goes after what the first spawn makes
        const spawn_result started = detail::spawn(probe_request(spawn_way::automatic));
        child running(started.pid, started.pidfd);
        wait_for(running);
    }).join();
    BOOST_TEST((last == exit_status::exited(7)));
}

BOOST_DATA_TEST_CASE(a_look_at_a_running_child_does_not_wait, boost::unit_test::data::make(ways),
                     way)
{
    const spawn_result started = detail::spawn(probe_request(way, {"sleep", forever}));
    child running(started.pid, started.pidfd);
    BOOST_TEST((running.peek() == child_state::running));
    BOOST_TEST((running.reap() == exit_status()));
    test::kill_hard(started.pid);  // `reap` has forgotten it
    BOOST_TEST(::waitpid(started.pid, nullptr, 0) == started.pid);
}

BOOST_DATA_TEST_CASE(a_failure_says_where_and_why_and_leaves_no_child,
                     boost::unit_test::data::make(ways), way)
{
    const test::scratch_folder folder;
    std::ofstream(folder / "plain") << "no program";
    const auto descriptors = test::open_descriptors();

    probe_request missing(way);
    const std::string missing_file = folder / "missing";
    missing.file = missing_file.c_str();
    probe_request not_executable(way);
    const std::string plain_file = folder / "plain";
    not_executable.file = plain_file.c_str();
    probe_request nowhere(way);
    nowhere.cwd = missing_file.c_str();
    probe_request no_folder(way);
    no_folder.cwd = plain_file.c_str();
    const struct {
        const spawn_request& request;
        int error;
        spawn_stage stage;
    } cases[] = {{missing, ENOENT, spawn_stage::exec},
                 {not_executable, EACCES, spawn_stage::exec},
                 {nowhere, ENOENT, spawn_stage::cwd},
                 {no_folder, ENOTDIR, spawn_stage::cwd}};
    for (int i = 0; i < 5; ++i)
        for (const auto& one : cases) {
            const spawn_result failed = detail::spawn(one.request);
            BOOST_TEST(failed.error == one.error);
            BOOST_TEST(failed.stage == one.stage);
            BOOST_TEST(failed.pid == -1);
            BOOST_TEST(failed.pidfd == -1);
        }
    BOOST_TEST(!test::has_children());
    BOOST_TEST((test::open_descriptors() == descriptors));
}

BOOST_DATA_TEST_CASE(a_program_that_is_open_for_writing_is_told_apart,
                     boost::unit_test::data::make(ways), way)
{
    const test::scratch_folder folder;
    const std::string copy = folder / "probe";
    std::filesystem::copy_file(BELAY_TEST_PROBE, copy);
    const file_descriptor writer(::open(copy.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    probe_request request(way);
    request.file = copy.c_str();
    const spawn_result failed = detail::spawn(request);
    BOOST_TEST(failed.error == ETXTBSY);
    BOOST_TEST(failed.stage == spawn_stage::exec);
}

BOOST_DATA_TEST_CASE(the_child_has_three_descriptors, boost::unit_test::data::make(ways), way)
{
    std::vector<file_descriptor> open;
    for (int i = 0; i < 4; ++i) open.emplace_back(::open("/dev/null", O_RDONLY));
    open.emplace_back(::fcntl(open[0].get(), F_DUPFD, 100));
    probe_request request(way, {"fds"});
    BOOST_TEST(output_of(request) == "[0,1,2]");
}

BOOST_DATA_TEST_CASE(the_childs_signals_are_as_if_the_host_had_none,
                     boost::unit_test::data::make(ways), way)
{
    const test::changed_disposition ignored(SIGPIPE, SIG_IGN);
    const test::changed_disposition also_ignored(SIGHUP, SIG_IGN);
    probe_request request(way, {"signals"});
    const std::string masks = output_of(request);
    // The C library has its posix_spawn ignore 32 and 33, which are its own and no program's.
    BOOST_TEST((masks.find(R"("SigIgn":"0000000000000000")") != std::string::npos ||
                masks.find(R"("SigIgn":"0000000180000000")") != std::string::npos));
    BOOST_TEST(masks.find(R"("SigBlk":"0000000000000000")") != std::string::npos);
}

BOOST_DATA_TEST_CASE(the_child_leads_a_group_only_when_asked_to, boost::unit_test::data::make(ways),
                     way)
{
    for (const bool own_group : {true, false}) {
        probe_request request(way, {"sleep", forever});
        request.own_group = own_group;
        const spawn_result started = detail::spawn(request);
        BOOST_TEST(::getpgid(started.pid) == (own_group ? started.pid : ::getpgrp()));
        test::kill_hard(started.pid);
        child running(started.pid, started.pidfd);
        BOOST_TEST((wait_for(running) == exit_status::signalled(SIGKILL)));
    }
}

BOOST_DATA_TEST_CASE(descriptors_that_are_given_crosswise_end_where_they_belong,
                     boost::unit_test::data::make(ways), way)
{
    // In a copy of this process, whose descriptors 0, 1 and 2 are at the test's disposal.
    const int wrong = in_a_copy_of_this_process([&] {
        pipe_ends in;
        pipe_ends out;
        if (detail::make_pipe(in) != 0 || detail::make_pipe(out) != 0) return 1;
        ::dup2(in.read.get(), 1);    // stdin's pipe stands at 1,
        ::dup2(out.write.get(), 0);  // stdout's at 0
        if (::write(in.write.get(), "crosswise", 9) != 9) return 2;
        in.write.reset();
        probe_request request(way, {"echo", "fds"});
        request.stdio = {1, 0, -1};
        const spawn_result started = detail::spawn(request);
        if (started.error != 0) return 3;
        ::close(0);
        ::close(1);
        out.write.reset();
        std::string text;
        char buffer[256];
        for (ssize_t n; (n = ::read(out.read.get(), buffer, sizeof buffer)) > 0;)
            text.append(buffer, static_cast<std::size_t>(n));
        child running(started.pid, started.pidfd);
        wait_for(running);
        return text == "crosswise[0,1,2]" ? 0 : 4;
    });
    BOOST_TEST(wrong == 0);
}

BOOST_DATA_TEST_CASE(a_descriptor_that_is_in_its_place_already_is_inherited,
                     boost::unit_test::data::make(ways), way)
{
    const int wrong = in_a_copy_of_this_process([&] {
        pipe_ends out;
        if (detail::make_pipe(out) != 0 || ::dup3(out.write.get(), 1, O_CLOEXEC) != 1) return 1;
        probe_request request(way, {"json", "here"});
        request.stdio = {-1, 1, -1};
        const spawn_result started = detail::spawn(request);
        ::close(1);
        out.write.reset();
        char buffer[16];
        const ssize_t n = ::read(out.read.get(), buffer, sizeof buffer);
        child running(started.pid, started.pidfd);
        wait_for(running);
        return std::string(buffer, n > 0 ? static_cast<std::size_t>(n) : 0) == "here" ? 0 : 2;
    });
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(pipes_of_a_host_without_stdio_stay_out_of_its_place)
{
    const int wrong = in_a_copy_of_this_process([] {
        for (int number = 0; number < 3; ++number) ::close(number);
        pipe_ends ends;
        if (detail::make_pipe(ends) != 0) return 1;
        if (ends.read.get() < 3 || ends.write.get() < 3) return 2;
        for (int number = 0; number < 3; ++number)
            if (::fcntl(number, F_GETFD) != -1) return 3;
        return (::fcntl(ends.read.get(), F_GETFD) & FD_CLOEXEC) != 0 ? 0 : 4;
    });
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(without_a_descriptor_for_the_pidfd_no_child_runs_on)
{
    std::vector<file_descriptor>
        low_ones;  // the C library takes no number over the limit into its orders
    for (int i = 0; i < 8; ++i) low_ones.emplace_back(::fcntl(0, F_DUPFD_CLOEXEC, 3));
    for (const spawn_way way : ways) {
        probe_request request(way, {"sleep", forever});
        rlimit before{};
        ::getrlimit(RLIMIT_NOFILE, &before);
        const int next = ::dup(0);
        ::close(next);
        rlimit none = before;
        none.rlim_cur = static_cast<rlim_t>(next);
        ::setrlimit(RLIMIT_NOFILE, &none);
        const spawn_result failed = detail::spawn(request);
        ::setrlimit(RLIMIT_NOFILE, &before);
        BOOST_TEST(failed.error == EMFILE);
        BOOST_TEST(failed.pid == -1);
        BOOST_TEST(!test::has_children());
    }
}

// --- Where clone or a newer system call is not to be had

BOOST_AUTO_TEST_CASE(where_clone_is_refused_posix_spawn_does_it)
{
    const int wrong = in_a_copy_of_this_process([] {
        if (!refuse_system_call(SYS_clone, 0, CLONE_PIDFD, EPERM, CLONE_PIDFD)) return 1;
#if defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))
        if (detail::spawn(probe_request(spawn_way::clone)).error != EPERM) return 2;
#endif
        const spawn_result started =
            detail::spawn(probe_request(spawn_way::automatic, {"exit", "5"}));
        if (started.error != 0) return 3;
        child running(started.pid, started.pidfd);
        return wait_for(running) == exit_status::exited(5) ? 0 : 4;
    });
    BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(without_close_range_every_listed_descriptor_is_closed)
{
    for (const spawn_way way : ways) {
        const int wrong = in_a_copy_of_this_process([&] {
            std::vector<int> open;
            for (int i = 0; i < 90; ++i)  // more than one reading of the list holds
                open.push_back(::dup(0));
            open.push_back(::fcntl(0, F_DUPFD, 500));
            pipe_ends out;
            if (detail::make_pipe(out) != 0 || !refuse_system_call(436, 0, 0, ENOSYS, 0)) return 1;
            probe_request request(way, {"fds"});
            request.stdio[1] = out.write.get();
            const spawn_result started = detail::spawn(request);
            if (started.error != 0) return 2;
            out.write.reset();
            char buffer[4096];
            const ssize_t n = ::read(out.read.get(), buffer, sizeof buffer);
            child running(started.pid, started.pidfd);
            wait_for(running);
            return std::string(buffer, n > 0 ? static_cast<std::size_t>(n) : 0) == "[0,1,2]" ? 0
                                                                                             : 3;
        });
        BOOST_TEST(wrong == 0);
    }
}

BOOST_AUTO_TEST_CASE(a_group_is_reached_also_where_the_pidfd_cannot_reach_it)
{
    // An older kernel, one without the call, and a filter.
    for (const int refusal : {EINVAL, ENOSYS, EPERM}) {
        const test::scratch_folder folder;
        const int wrong = in_a_copy_of_this_process([&] {
            if (!refuse_system_call(SYS_pidfd_send_signal, 0, 0, static_cast<unsigned>(refusal), 0))
                return 1;
            const std::string marks = folder / "marks";
            const spawn_result started = detail::spawn(
                probe_request(spawn_way::automatic,
                              {"mark-orphan", marks, forever, "mark", marks, "sleep", forever}));
            if (started.error != 0) return 2;
            child running(started.pid, started.pidfd);
            if (!eventually([&] { return test::pids_in(marks).size() == 2; })) return 3;
            running.signal_group(SIGTERM);
            if (wait_for(running) != exit_status::signalled(SIGTERM)) return 4;
            return test::all_gone(test::pids_in(marks)) ? 0 : 5;
        });
        BOOST_TEST(wrong == 0, "refused with " << refusal << ": " << wrong);
    }
}

// --- The caller's own function in the child

#if defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))

BOOST_AUTO_TEST_CASE(what_the_caller_keeps_is_kept)
{
    std::vector<file_descriptor> open;
    for (int i = 0; i < 3; ++i) open.emplace_back(::fcntl(0, F_DUPFD, 50 + 10 * i));
    const std::array keep = {0, 1, 2, open[0].get(), open[2].get()};
    probe_request request(spawn_way::clone, {"fds"});
    request.keep = keep;
    BOOST_TEST(output_of(request) == "[0,1,2," + std::to_string(open[0].get()) + ',' +
                                         std::to_string(open[2].get()) + ']');
}

BOOST_AUTO_TEST_CASE(the_callers_function_runs_in_the_child_and_may_refuse)
{
    pid_t ran_in = -1;
    probe_request request(spawn_way::clone);
    request.context = &ran_in;
    request.setup = [](void* context) {
        *static_cast<pid_t*>(context) = static_cast<pid_t>(::syscall(SYS_getpid));
        return 0;
    };
    const spawn_result started = detail::spawn(request);
    child running(started.pid, started.pidfd);
    BOOST_TEST(wait_for(running).is_success());
    BOOST_TEST(ran_in == started.pid);

    request.setup = [](void*) { return EDOM; };
    const spawn_result refused = detail::spawn(request);
    BOOST_TEST(refused.error == EDOM);
    BOOST_TEST(refused.stage == spawn_stage::setup);
    BOOST_TEST(!test::has_children());
}

#endif

BOOST_AUTO_TEST_CASE(posix_spawn_refuses_what_it_cannot_do)
{
    probe_request request(spawn_way::posix_spawn);
    request.setup = [](void*) { return 0; };
    BOOST_TEST(detail::spawn(request).error == ENOTSUP);
    const std::array keep = {7};
    request.setup = nullptr;
    request.keep = keep;
    BOOST_TEST(detail::spawn(request).error == ENOTSUP);
}

// --- The child, once it runs

BOOST_AUTO_TEST_CASE(nothing_is_signalled_by_a_number_that_may_be_used_again)
{
    // The number belongs to the second process by now, the pidfd to the first.
    const spawn_result first = detail::spawn(probe_request(spawn_way::automatic));
    const spawn_result second =
        detail::spawn(probe_request(spawn_way::automatic, {"sleep", forever}));
    child bystander(second.pid, second.pidfd);
    {
        child reaped(second.pid, first.pidfd);
        BOOST_TEST((wait_for(reaped) == exit_status::exited(0)));
        reaped.signal_group(SIGKILL);
    }
    std::this_thread::sleep_for(20ms);  // a signal that had been sent would be there by now
    BOOST_TEST((bystander.peek() == child_state::running));
}

BOOST_AUTO_TEST_CASE(a_child_that_is_dropped_is_killed_with_its_group_and_reaped)
{
    const test::scratch_folder folder;
    const std::string marks = folder / "marks";
    {
        const spawn_result started = detail::spawn(probe_request(
            spawn_way::automatic,
            {"ignore-term", "mark-orphan", marks, forever, "mark", marks, "sleep", forever}));
        const child dropped(started.pid, started.pidfd);
        BOOST_TEST(eventually([&] { return test::pids_in(marks).size() == 2; }));
    }
    BOOST_TEST(!test::has_children());
    BOOST_TEST(test::all_gone(test::pids_in(marks)));
}

BOOST_AUTO_TEST_CASE(a_status_that_somebody_else_took_is_lost)
{
    const spawn_result started = detail::spawn(probe_request(spawn_way::automatic));
    child running(started.pid, started.pidfd);
    BOOST_TEST(::waitpid(started.pid, nullptr, 0) == started.pid);
    BOOST_TEST((running.peek() == child_state::lost));
    BOOST_TEST((running.reap() == exit_status()));
}

using write_way = ssize_t (*)(int, const char*, std::size_t) noexcept;

/// Each way that there is on this machine.
std::vector<write_way> write_ways()
{
    std::vector<write_way> ways{detail::write_without_sigpipe, detail::write_with_sigpipe_masked};
    pipe_ends ends;
    BOOST_REQUIRE(detail::make_pipe(ends) == 0);
    if (detail::write_with_no_signal_flag(ends.write.get(), "x", 1) == 1)
        ways.push_back(detail::write_with_no_signal_flag);
    else
        BOOST_TEST(errno == EOPNOTSUPP);
    return ways;
}

BOOST_AUTO_TEST_CASE(a_write_without_a_signal_is_a_write)
{
    for (const write_way write : write_ways()) {
        pipe_ends ends;
        BOOST_REQUIRE(detail::make_pipe(ends) == 0);
        BOOST_TEST(write(ends.write.get(), "bytes", 3) == 3);
        char read[8] = {};
        BOOST_TEST(::read(ends.read.get(), read, sizeof read) == 3);
        BOOST_TEST(std::string(read) == "byt");

        BOOST_REQUIRE(detail::make_nonblocking(ends.write) == 0);
        const std::string much(1024 * 1024, 'x');
        const ssize_t taken = write(ends.write.get(), much.data(), much.size());
        BOOST_TEST(0 < taken);
        BOOST_TEST(static_cast<std::size_t>(taken) < much.size());
        BOOST_TEST(write(ends.write.get(), "x", 1) == -1);
        BOOST_TEST(errno == EAGAIN);
    }
}

BOOST_AUTO_TEST_CASE(a_write_into_a_broken_pipe_is_an_error_and_no_signal)
{
    pipe_ends ends;
    BOOST_REQUIRE(detail::make_pipe(ends) == 0);
    ends.read.reset();
    struct sigaction disposition{};
    ::sigaction(SIGPIPE, nullptr, &disposition);
    BOOST_TEST((disposition.sa_handler == SIG_DFL));  // it would end this process
    sigset_t before;
    ::pthread_sigmask(SIG_BLOCK, nullptr, &before);

    for (const write_way write : write_ways()) {
        BOOST_TEST(write(ends.write.get(), "x", 1) == -1);
        BOOST_TEST(errno == EPIPE);
        sigset_t after;
        ::pthread_sigmask(SIG_BLOCK, nullptr, &after);
        BOOST_TEST(::sigismember(&after, SIGPIPE) == ::sigismember(&before, SIGPIPE));
        sigset_t pending;
        ::sigpending(&pending);
        BOOST_TEST(::sigismember(&pending, SIGPIPE) == 0);
    }
}

BOOST_AUTO_TEST_CASE(where_a_sandbox_refuses_the_flag_a_write_is_a_write)
{
    const int failed = in_a_copy_of_this_process([] {
        if (!refuse_system_call(SYS_pwritev2, 1, 0, EPERM, 0)) return 1;
        pipe_ends ends;
        if (detail::make_pipe(ends) != 0) return 2;
        return detail::write_without_sigpipe(ends.write.get(), "x", 1) == 1 ? 0 : 3;
    });
    BOOST_TEST(failed == 0);
}

BOOST_AUTO_TEST_CASE(a_broken_pipe_signal_that_was_pending_stays_pending)
{
    sigset_t broken_pipe;
    sigset_t before;
    ::sigemptyset(&broken_pipe);
    ::sigaddset(&broken_pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
    ::pthread_kill(::pthread_self(), SIGPIPE);

    pipe_ends ends;
    BOOST_REQUIRE(detail::make_pipe(ends) == 0);
    ends.read.reset();
    for (const write_way write : write_ways()) {
        BOOST_TEST(write(ends.write.get(), "x", 1) == -1);
        BOOST_TEST(errno == EPIPE);
        sigset_t pending;
        ::sigpending(&pending);
        BOOST_TEST(::sigismember(&pending, SIGPIPE) == 1);
    }

    int taken = 0;
    ::sigwait(&broken_pipe, &taken);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    BOOST_TEST(taken == SIGPIPE);
}

BOOST_AUTO_TEST_CASE(a_broken_pipe_signal_that_is_held_back_by_the_host_is_not_left_pending)
{
    sigset_t broken_pipe;
    sigset_t before;
    ::sigemptyset(&broken_pipe);
    ::sigaddset(&broken_pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &broken_pipe, &before);
    pipe_ends ends;
    BOOST_REQUIRE(detail::make_pipe(ends) == 0);
    ends.read.reset();
    for (const write_way write : write_ways()) {
        BOOST_TEST(write(ends.write.get(), "x", 1) == -1);
        sigset_t pending;
        ::sigpending(&pending);
        BOOST_TEST(::sigismember(&pending, SIGPIPE) == 0);
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
