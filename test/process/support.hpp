#ifndef BELAY_TEST_PROCESS_SUPPORT_HPP
#define BELAY_TEST_PROCESS_SUPPORT_HPP

// What the tests of this folder share: the probe, a scratch folder, and a look at this process and others.

#include <belay/process/exit_report.hpp>
#include <belay/process/invocation.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace test {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// Within this a machine under load, and under a sanitizer, gets anything done that takes no time of its own.
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

}  // namespace test

#endif
