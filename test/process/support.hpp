#ifndef BELAY_TEST_PROCESS_SUPPORT_HPP
#define BELAY_TEST_PROCESS_SUPPORT_HPP

// What the tests of this folder share: the probe, a scratch folder, and a look at this process and
// others.

#include <belay/process/exit_report.hpp>
#include <belay/process/invocation.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <set>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace test {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// Within this a machine under load, and under a sanitizer, gets anything done that takes no time
/// of its own.
inline constexpr auto generous = 20s;

/// The length of a sleep that nobody waits for.
inline const std::string forever = "60000";

inline belay::process::invocation probe(std::vector<std::string> modes)
{
    belay::process::invocation what;
    what.argv = {BELAY_TEST_PROBE};
    what.argv.insert(what.argv.end(), std::make_move_iterator(modes.begin()),
                     std::make_move_iterator(modes.end()));
    return what;
}

class scratch_folder {
public:
    scratch_folder()
    {
        std::string name = (std::filesystem::temp_directory_path() / "belay-test-XXXXXX").string();
        BOOST_REQUIRE(::mkdtemp(name.data()));
        path_ = name;
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;
    ~scratch_folder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    std::string operator/(const std::string& name) const { return (path_ / name).string(); }

    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

/// Waits until it holds. A test that fails gets its answer late, no test fails early.
inline bool eventually(const std::function<bool()>& holds)
{
    for (const auto end = clock::now() + generous; clock::now() < end;) {
        if (holds()) return true;
        std::this_thread::sleep_for(2ms);
    }
    return holds();
}

/// Whether the process has ended. A zombie has: who inherits an orphan may not reap it.
inline bool is_gone(pid_t pid)
{
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    if (!std::getline(stat, text)) return true;
    const std::size_t name_end = text.rfind(')');
    return name_end == std::string::npos || text.at(name_end + 2) == 'Z' ||
           text.at(name_end + 2) == 'X';
}

/// The pids in a file that probes have marked.
inline std::vector<pid_t> pids_in(const std::string& file)
{
    std::vector<pid_t> pids;
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) pids.push_back(std::atoi(line.c_str()));
    return pids;
}

/// Never `kill(-1)`, which would be everybody.
inline void kill_hard(pid_t pid)
{
    BOOST_REQUIRE(pid > 1);
    ::kill(pid, SIGKILL);
}

inline bool all_gone(const std::vector<pid_t>& pids)
{
    return eventually([&] {
        for (const pid_t pid : pids)
            if (!is_gone(pid)) return false;
        return true;
    });
}

inline std::set<std::string> entries_of(const char* folder)
{
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        names.insert(entry.path().filename().string());
    return names;
}

/// The iterator's own descriptor is among them, each time with the lowest free number.
inline std::set<std::string> open_descriptors()
{
    return entries_of("/proc/self/fd");
}

inline std::set<std::string> threads()
{
    return entries_of("/proc/self/task");
}

/// Whether this process has a child, dead or alive.
inline bool has_children()
{
    siginfo_t info{};
    return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

inline std::string read_file(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Puts back what a test does to the disposition of a signal.
class changed_disposition {
public:
    changed_disposition(int number, void (*handler)(int)) : number_(number)
    {
        struct sigaction action {};
        action.sa_handler = handler;
        ::sigaction(number, &action, &before_);
    }
    changed_disposition(const changed_disposition&) = delete;
    changed_disposition& operator=(const changed_disposition&) = delete;
    ~changed_disposition() { ::sigaction(number_, &before_, nullptr); }

private:
    int number_;
    struct sigaction before_ {};
};

/// Runs the function in a copy of this process, and returns its value, at most 255.
inline int in_a_copy_of_this_process(const std::function<int()>& function)
{
    std::cout.flush();
    std::fflush(nullptr);  // or the copy writes it, too
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(function());
    int status = 0;
    BOOST_REQUIRE(::waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// From now on this process, and what it starts, is refused a system call, as a sandbox or an old
/// kernel would: when the bits of `mask` in that argument have this value.
inline bool refuse_system_call(long number, unsigned argument, unsigned value, unsigned error,
                               unsigned mask = ~0U)
{
    const auto offset = static_cast<unsigned>(offsetof(seccomp_data, args) +
                                              argument * sizeof(seccomp_data::args[0]));
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset),  // its lower half
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{sizeof program / sizeof *program, program};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace test

#endif
