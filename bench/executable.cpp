// What one run of an executable hook costs beside the system calls that it cannot do without: its stdin
// written, its stdout and stderr read to their ends, its status taken. So many at once; from a host that
// holds so much memory; with so much input. The hook links no C library, so little of the time is its own.
//
// A quick run leaves out the host of 8 GiB and most of the large inputs.

#include <belay/process/detail/boost_process.hpp>
#include <belay/process/run.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/readable_pipe.hpp>
#include <boost/asio/writable_pipe.hpp>
#include <boost/asio/write.hpp>
#include <boost/process/v2/stdio.hpp>

#include "question.hpp"
#include <algorithm>
#include <array>
#include <benchmark/benchmark.h>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <deque>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;

const std::string hook = bench::path_of("bare_hook");
const std::string expected = "{\"power\":\"observe\"}";

/// What the runs get, each its own, which was made before and is given away.
using inputs = std::vector<std::string>;

/// Does a run for each input, `at_once` of them at a time. Throws when an answer does not arrive.
using variant = std::function<void(int at_once, inputs&)>;

[[noreturn]] void fail(const std::string& what)
{
    throw std::runtime_error(what);
}

// --- posix_spawn, pipes, poll and waitpid, in one loop

class hand_written {
public:
    void operator()(int at_once, inputs& given)
    {
        std::size_t next = 0;
        std::vector<child> running(static_cast<std::size_t>(at_once));
        for (child& one : running) start(one, std::move(given[next++]));
        std::vector<pollfd> watched;
        std::vector<child*> owner;
        for (std::size_t open = running.size(); open > 0;) {
            watched.clear();
            owner.clear();
            for (child& one : running)
                for (const int number : {one.out, one.err})
                    if (number >= 0) {
                        watched.push_back({number, POLLIN, 0});
                        owner.push_back(&one);
                    }
            if (::poll(watched.data(), watched.size(), 30'000) <= 0) fail("no hook answers");
            for (std::size_t i = 0; i < watched.size(); ++i) {
                if (watched[i].revents == 0) continue;
                child& one = *owner[i];
                read(one, watched[i].fd);
                if (one.out >= 0 || one.err >= 0) continue;
                finish(one);
                if (next == given.size())
                    --open;
                else
                    start(one, std::move(given[next++]));
            }
        }
    }

private:
    struct child {
        pid_t pid = -1;
        int out = -1;
        int err = -1;
        std::string text;
    };

    static void start(child& one, const std::string input)
    {
        int in[2], out[2], err[2];
        if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 ||
            ::pipe2(err, O_CLOEXEC) != 0)
            fail("no pipe");
        // A child that finds its input ready, and its end, runs through without a pause.
        if (input.size() > 65'536) ::fcntl(in[1], F_SETPIPE_SZ, static_cast<int>(input.size()));
        if (::write(in[1], input.data(), input.size()) != static_cast<ssize_t>(input.size()))
            fail("the pipe does not take the input");
        ::close(in[1]);
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
        ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
        ::posix_spawn_file_actions_adddup2(&actions, err[1], 2);
        posix_spawnattr_t attributes;
        ::posix_spawnattr_init(&attributes);
        ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        std::string program = hook;
        char* argv[] = {program.data(), nullptr};
        const int failed =
            ::posix_spawn(&one.pid, program.c_str(), &actions, &attributes, argv, ::environ);
        ::posix_spawn_file_actions_destroy(&actions);
        ::posix_spawnattr_destroy(&attributes);
        ::close(in[0]);
        ::close(out[1]);
        ::close(err[1]);
        if (failed != 0) fail(std::string("posix_spawn: ") + std::strerror(failed));
        one.out = out[0];
        one.err = err[0];
    }

    static void read(child& one, int from)
    {
        char buffer[16 * 1024];
        const ssize_t got = ::read(from, buffer, sizeof buffer);
        if (got > 0) {
            if (from == one.out) one.text.append(buffer, static_cast<std::size_t>(got));
            return;
        }
        ::close(from);
        (from == one.out ? one.out : one.err) = -1;
    }

    static void finish(child& one)
    {
        int status = 0;
        if (::waitpid(one.pid, &status, 0) != one.pid || status != 0 || one.text != expected)
            fail("the hook's answer did not arrive");
        one.text.clear();
    }
};

// --- What runs on an event loop: so many at a time, the next one when one has ended.

class on_a_loop {
public:
    void operator()(int at_once, inputs& given)
    {
        given_ = &given;
        started_ = good_ = 0;
        for (int i = 0; i < at_once; ++i) next();
        loop_.run();
        loop_.restart();
        if (good_ != given.size()) fail("the hook's answer did not arrive");
    }

protected:
    ~on_a_loop() = default;

    virtual void start(std::string& input) = 0;

    void ended(bool well)
    {
        good_ += well;
        next();
    }

    asio::io_context loop_{1};

private:
    void next()
    {
        if (started_ != given_->size()) start((*given_)[started_++]);
    }

    inputs* given_ = nullptr;
    std::size_t started_ = 0;
    std::size_t good_ = 0;
};

// --- belay

class belay_run final : public on_a_loop {
    void start(std::string& input) override
    {
        belay::process::invocation what;
        what.argv = {hook};
        what.timeout = std::chrono::seconds(30);
        belay::process::async_run(
            loop_.get_executor(), std::move(what), std::move(input),
            [this](belay::error_code error, const belay::process::exit_report& report) {
                ended(!error && report.status.is_success() && report.out == expected);
            });
    }
};

// --- Boost.Process v2, with its default launcher

class boost_process final : public on_a_loop {
    struct run {
        explicit run(asio::io_context& loop)
            : in(loop),
              out(loop),
              err(loop),
              child(loop, hook, {}, boost::process::v2::process_stdio{in, out, err})
        {}

        asio::writable_pipe in;
        asio::readable_pipe out;
        asio::readable_pipe err;
        std::string text;
        std::string errors;
        boost::process::v2::process child;
        int status = -1;
        int open = 4;
    };

    void start(std::string& input) override
    {
        const auto one = std::make_shared<run>(loop_);
        const auto closed = [this, one] {
            if (--one->open == 0) ended(one->status == 0 && one->text == expected);
        };
        asio::async_write(one->in, asio::buffer(input),
                          [one, closed](boost::system::error_code, std::size_t) {
                              one->in.close();
                              closed();
                          });
        asio::async_read(one->out, asio::dynamic_buffer(one->text),
                         [closed](boost::system::error_code, std::size_t) { closed(); });
        asio::async_read(one->err, asio::dynamic_buffer(one->errors),
                         [closed](boost::system::error_code, std::size_t) { closed(); });
        one->child.async_wait([one, closed](boost::system::error_code, int status) {
            one->status = status;
            closed();
        });
    }
};

template <class Run>
variant made()
{
    return [run = std::make_shared<Run>()](int at_once, inputs& given) { (*run)(at_once, given); };
}

constexpr std::size_t forking = 2;
const std::array<std::pair<const char*, variant (*)()>, 3> variants{
    {{"by hand", made<hand_written>},
     {"async_run", made<belay_run>},
     {"Boost.Process v2", made<boost_process>}}};

// --- The host

/// A process of its own that holds so much memory, every page of which it has touched. It is forked from
/// this one, which holds none, and does what it is told.
class host {
public:
    struct order {
        int which;
        int events;
        int at_once;
        int input;
    };
    struct report {
        double wall = 0;
        double cpu = 0;
        char failure[200] = {};
    };

    explicit host(long gib)
    {
        int to[2], from[2];
        if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) fail("no pipe");
        pid_ = ::fork();
        if (pid_ < 0) fail("no process");
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            obey(gib, to[0], from[1]);
            ::_exit(0);
        }
        ::close(to[0]);
        ::close(from[1]);
        to_ = to[1];
        from_ = from[0];
    }
    host(const host&) = delete;
    host& operator=(const host&) = delete;
    ~host()
    {
        const order end{-1, 0, 0, 0};
        (void)!::write(to_, &end, sizeof end);
        ::waitpid(pid_, nullptr, 0);
        ::close(to_);
        ::close(from_);
    }

    report run(const order& what)
    {
        report said;
        if (::write(to_, &what, sizeof what) != sizeof what ||
            ::read(from_, &said, sizeof said) != sizeof said)
            fail("the host has ended");
        return said;
    }

private:
    static void obey(long gib, int in, int out)
    {
        hold(gib);
        std::map<int, variant> known;
        for (order next; ::read(in, &next, sizeof next) == sizeof next && next.which >= 0;) {
            report said;
            try {
                variant& run = known[next.which];
                const auto given = [&next](int count) {
                    return inputs(static_cast<std::size_t>(count),
                                  std::string(static_cast<std::size_t>(next.input), 'x'));
                };
                if (!run) {
                    run = variants.at(static_cast<std::size_t>(next.which)).second();
                    auto first = given(next.at_once);
                    run(next.at_once, first);  // warms up
                }
                auto all = given(next.events);
                const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
                const double wall = seconds(CLOCK_MONOTONIC);
                run(next.at_once, all);
                said.wall = seconds(CLOCK_MONOTONIC) - wall;
                said.cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
            } catch (const std::exception& why) {
                std::strncpy(said.failure, why.what(), sizeof said.failure - 1);
            }
            (void)!::write(out, &said, sizeof said);
        }
    }

    static void hold(long gib)
    {
        const std::size_t size = static_cast<std::size_t>(gib) << 30;
        if (size == 0) return;
        void* const memory =
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) fail("no memory");
        ::madvise(memory, size, MADV_NOHUGEPAGE);  // as a heap that has grown
        std::memset(memory, 1, size);
    }

    static double seconds(clockid_t which)
    {
        timespec now{};
        ::clock_gettime(which, &now);
        return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
    }

    pid_t pid_ = -1;
    int to_ = -1;
    int from_ = -1;
};

long available_gib()
{
    std::ifstream info("/proc/meminfo");
    for (std::string word; info >> word;) {
        long kib = 0;
        if (word == "MemAvailable:" && info >> kib) return kib >> 20;
    }
    return 0;
}

/// What is measured at one place: so many at once, from such a host, with such an input.
struct place {
    int at_once;
    long host_gib;
    int input;
    bool also_quick = false;

    std::string parameters() const
    {
        return "at_once:" + std::to_string(at_once) + "/host_gib:" + std::to_string(host_gib) +
               "/input:" + std::to_string(input);
    }
};

constexpr place places[] = {
    {1, 0, 200, true},     {8, 0, 200, true}, {32, 0, 200, true}, {1, 0, 262'144},
    {8, 0, 262'144, true}, {32, 0, 262'144},  {1, 1, 200, true},  {8, 1, 200, true},
    {32, 1, 200},          {1, 8, 200},       {8, 8, 200},        {32, 8, 200},
};

}  // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv);
    std::deque<bench::script> scripts;
    std::map<std::pair<std::string, long>, bench::script*> peers;
    // Destroyed before the scripts, of whose pipes they have copies.
    std::map<long, std::unique_ptr<host>> hosts;
    const auto peer = [&](const char* interpreter, const char* file, long gib) -> bench::script& {
        bench::script*& found = peers[{interpreter, gib}];
        if (!found) found = &scripts.emplace_back(interpreter, file);
        return *found;
    };
    // Each that holds memory holds it to the end: a host, a Node, a Python.
    long room = available_gib();
    std::map<std::pair<std::string, long>, bool> known;
    const auto has_room = [&](const char* holder, long gib) {
        const auto [found, is_new] = known.try_emplace({holder, gib}, room > gib);
        if (is_new && found->second) room -= gib;
        return found->second;
    };
    constexpr auto no_room = "not enough free memory";
    // Seen to hang: on a stale readiness it calls a waitpid that blocks its event loop, while the
    // process waits for what only that loop can do.
    constexpr auto hangs = "stops for good when several run at a time";

    for (const place& at : places) {
        if (program.quick() && !at.also_quick) continue;
        const std::string parameters = at.parameters();
        const bool forking_is_slow = at.host_gib > 0;
        // Those that fork are slow enough there as it is.
        const bool with_peers = !forking_is_slow || at.at_once <= 8;

        for (std::size_t i = 0; i < variants.size(); ++i) {
            const bool forks = i == forking;
            if (forks && !with_peers) continue;
            if (forks && at.at_once > 1) {
                program.missing(variants[i].first, parameters, hangs);
                continue;
            }
            if (!has_room("host", at.host_gib)) {
                program.missing(variants[i].first, parameters, no_room);
                continue;
            }
            const int events =
                forks && forking_is_slow ? std::max(2, at.at_once) : std::max(64, 2 * at.at_once);
            auto body = [&hosts, at, i, events](benchmark::State& state) {
                try {
                    auto& one = hosts[at.host_gib];
                    if (!one) one = std::make_unique<host>(at.host_gib);
                    double cpu = 0;
                    for (auto _ : state) {
                        const auto said =
                            one->run({static_cast<int>(i), events, at.at_once, at.input});
                        if (said.failure[0] != '\0') fail(said.failure);
                        state.SetIterationTime(said.wall);
                        cpu += said.cpu;
                    }
                    state.counters["events"] = events;
                    state.counters["cpu"] = cpu * 1e9 / events;
                } catch (const std::exception& why) {
                    state.SkipWithError(why.what());
                }
            };
            auto* const added =
                program.add_timed(variants[i].first, parameters, std::move(body))->Iterations(1);
            if (forks && forking_is_slow) added->Repetitions(3);
        }

        if (!with_peers) continue;
        const int events = forking_is_slow ? std::max(2, at.at_once) : std::max(16, at.at_once);
        if (!has_room("Node", at.host_gib)) {
            program.missing("Node", parameters, no_room);
        } else {
            auto* const added = program.add_peer(
                "Node", parameters, peer("node", "executable.mjs", at.host_gib), events);
            if (forking_is_slow) added->Repetitions(3);
        }
        // It does not fork, so it is spared the memory that would not fit beside that of the others.
        if (at.host_gib <= 1)
            program
                .add_peer("Python", parameters, peer("python3", "executable.py", at.host_gib),
                          events)
                ->Repetitions(5);
    }

    std::vector<bench::goal> goals{
        {.variant = "async_run", .against = "by hand", .where = "at_once:1", .at_most = 1.1},
        {.variant = "async_run", .against = "by hand", .where = "at_once:8", .at_most = 1.2},
        {.variant = "async_run", .against = "by hand", .where = "at_once:32", .at_most = 1.3},
        {.variant = "async_run", .against = "by hand", .statistic = "cpu", .at_most = 1.4},
        {.variant = "async_run",
         .against = "async_run",
         .where = "host_gib:1,8",
         .against_where = "host_gib:0",
         .at_most = 1.3},
        {.variant = "async_run",
         .against = "Node",
         .where = "at_once:8/host_gib:0",
         .at_most = 1.0 / 4},
        {.variant = "async_run",
         .against = "Node",
         .where = "at_once:1,8/host_gib:8",
         .at_most = 1.0 / 200},
        {.variant = "async_run",
         .against = "Boost.Process v2",
         .where = "at_once:1",
         .worst = true,
         .at_most = 1},
        {.variant = "async_run",
         .against = "Python",
         .where = "at_once:1,8/host_gib:0,1",
         .worst = true,
         .at_most = 1},
    };
    return program.run({
        .asks =
            "What does one run of an executable hook cost beside the system calls that it needs?",
        .limit = "by hand",
        .peers = {"Boost.Process v2", "Node", "Python"},
        .goals = std::move(goals),
    });
}
