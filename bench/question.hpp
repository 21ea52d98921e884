#ifndef BELAY_BENCH_QUESTION_HPP
#define BELAY_BENCH_QUESTION_HPP

// How a question is written: one file, bench/NAME.cpp, a program on Google Benchmark, which CMake and
// bench/run find by its place. In it: what is measured, the limit written by hand, the peers, the goals.
//
//     int main(int argc, char** argv)
//     {
//         bench::program program(argc, argv);
//         bench::script node("node", "chain.mjs");  // a peer in another language, beside this file
//         for (long n : {1, 4}) {
//             const auto handlers = "handlers:" + std::to_string(n);
//             program.add("by hand", handlers, [n](benchmark::State& state) {
//                 for (auto _ : state) ...;         // one iteration: 1000 events
//                 state.counters["events"] = 1000;  // absent: 1
//             });
//             program.add("chain", handlers, ...)->Repetitions(program.quick() ? 5 : 30);
//             program.add_peer("Node", handlers, node, 50'000);
//         }
//         return program.run({
//             .asks = "What does a chain cost beside the loop that one would write by hand?",
//             .limit = "by hand",
//             .peers = {"Node"},
//             .goals = {{.variant = "chain", .against = "by hand", .where = "handlers:4,16", .at_most = 1.25},
//                       {.variant = "chain", .against = "Node", .worst = true, .at_most = 1.0 / 6}},
//         });
//     }
//
// A figure is a median over repetitions (include: the least of them) that are shuffled with those of all
// others in the program. It is wall time per event, unless a goal names another statistic: "cpu", the
// CPU time of this process per event (a child's is its own), or any counter that the benchmark sets.
// Less is better, so a goal is always the most that a ratio (or, without `against`, the figure itself)
// may be.
//
// Names: a variant has no '/', parameters are "name:value/name:value". A peer that is not there is
// added all the same, by `program.missing`, and its row says so. Anything that goes wrong is
// state.SkipWithError(...), which makes bench/run fail. A program that a question starts is
// bench/programs/NAME.cpp; its path is bench::path_of("NAME").

#include <benchmark/benchmark.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <optional>
#include <sched.h>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace bench {

/// What a figure should be.
struct goal {
    std::string variant;
    std::string against{};           ///< another variant; empty: the figure itself is judged
    std::string statistic = "wall";  ///< "wall", "cpu", or the name of a counter
    std::string where{};          ///< only these parameters: "handlers:4,16/input:200"; empty: all
    std::string against_where{};  ///< the other has these parameters, and else the same
    std::string added_per{};      ///< judges what one more of this parameter adds
    bool worst = false;           ///< one row, for the worst of all parameters
    double at_most = 1;
};

struct question {
    std::string asks;
    std::string limit{};
    std::vector<std::string> peers{};
    std::vector<goal> goals{};
};

/// The path of bench/programs/NAME.cpp, built.
inline std::string path_of(std::string_view program)
{
    return BELAY_BENCH_PROGRAMS "/" + std::string(program);
}

/// While it lives, the thread that made it is on one core, and what that starts meanwhile, threads and
/// processes, stays there. For questions about processes that wake each other all the time: else the scheduler
/// puts them on one core or on two, for as long as they live, and the way from core to core can cost ten times
/// as much as all that is asked for.
///
/// Whom it favours: nobody of a limit and us with one request at a time; with 64 in flight it takes from us the
/// overlap of two cores; beside one run per event it favours us where cores are far apart; and Node's helper
/// threads share the core, too (worker.mjs takes 17.4 us on one core, 16.2 on two, with 1 in flight; with 64,
/// 3.7 and 4.4).
class on_one_core {
public:
    on_one_core()
    {
        cpu_set_t one;
        bool done = ::sched_getaffinity(0, sizeof before_, &before_) == 0;
        CPU_ZERO(&one);
        for (std::size_t core = 0; done && CPU_COUNT(&one) == 0; ++core)
            if (CPU_ISSET(core, &before_)) CPU_SET(core, &one);
        done = done && ::sched_setaffinity(0, sizeof one, &one) == 0;
        if (!done) throw std::runtime_error("cannot stay on one core");
    }
    on_one_core(const on_one_core&) = delete;
    on_one_core& operator=(const on_one_core&) = delete;
    ~on_one_core() { ::sched_setaffinity(0, sizeof before_, &before_); }

private:
    cpu_set_t before_;
};

/// A peer in another language: a script in bench/, started once, and asked through a pipe. For the line
/// "run EVENTS PARAMETERS" it answers a line with the nanoseconds that these events took, after
/// which it may say more: "81234 cpu=1500 ..." are counters, each of them for all EVENTS together. Its
/// stdin ends when it shall.
class script {
public:
    struct answer {
        double nanoseconds = 0;
        std::vector<std::pair<std::string, double>> counters;
    };

    enum class cores { all, one };

    script(std::string interpreter, std::string file, cores has = cores::all)
        : interpreter_(std::move(interpreter)), file_(std::move(file)), has_(has)
    {}
    script(const script&) = delete;
    script& operator=(const script&) = delete;
    ~script()
    {
        if (to_) std::fclose(to_);
        if (from_) std::fclose(from_);
        if (child_ > 0) ::waitpid(child_, nullptr, 0);
    }

    /// Empty if it can be run, else why not.
    std::string missing() const
    {
        return found().empty() ? interpreter_ + " is not installed" : std::string();
    }

    answer run(std::int64_t events, const std::string& parameters)
    {
        if (child_ < 0) start();
        std::fprintf(to_, "run %lld %s\n", static_cast<long long>(events), parameters.c_str());
        std::fflush(to_);
        char* text = nullptr;
        std::size_t size = 0;
        const auto got = ::getline(&text, &size, from_);
        const std::unique_ptr<char, decltype(&std::free)> owned(text, &std::free);
        if (got <= 0) throw std::runtime_error(file_ + " ended without an answer");
        std::istringstream line(std::string(text, static_cast<std::size_t>(got)));
        answer said;
        if (!(line >> said.nanoseconds))
            throw std::runtime_error(file_ + " answered no number: " + text);
        for (std::string word; line >> word;) {
            const auto equals = word.find('=');
            if (equals == std::string::npos)
                throw std::runtime_error(file_ + " answered what is no counter: " + word);
            said.counters.emplace_back(word.substr(0, equals), std::stod(word.substr(equals + 1)));
        }
        return said;
    }

private:
    std::string found() const
    {
        const char* path = std::getenv("PATH");
        std::istringstream folders(path ? path : "");
        for (std::string folder; std::getline(folders, folder, ':');) {
            const auto candidate = folder + "/" + interpreter_;
            if (::access(candidate.c_str(), X_OK) == 0) return candidate;
        }
        return {};
    }

    void start()
    {
        std::optional<on_one_core> here;
        if (has_ == cores::one) here.emplace();
        int in[2], out[2];
        if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
            throw std::runtime_error("no pipe for " + file_);
        posix_spawn_file_actions_t actions;
        ::posix_spawn_file_actions_init(&actions);
        ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
        ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
        auto program = found();
        std::string path = BELAY_BENCH_SOURCE_DIR "/" + file_;
        std::string programs = BELAY_BENCH_PROGRAMS;
        char* argv[] = {program.data(), path.data(), programs.data(), nullptr};
        const int failed =
            ::posix_spawn(&child_, program.c_str(), &actions, nullptr, argv, ::environ);
        ::posix_spawn_file_actions_destroy(&actions);
        ::close(in[0]);
        ::close(out[1]);
        to_ = ::fdopen(in[1], "w");
        from_ = ::fdopen(out[0], "r");
        if (failed != 0) {
            child_ = -1;
            throw std::runtime_error(file_ + " was not started: " + std::strerror(failed));
        }
    }

    std::string interpreter_;
    std::string file_;
    cores has_;
    pid_t child_ = -1;
    std::FILE* to_ = nullptr;
    std::FILE* from_ = nullptr;
};

/// The program of one question. Takes Google Benchmark's arguments, and `--quick`.
class program {
public:
    program(int argc, char** argv)
    {
        int kept = 1;
        for (int i = 1; i < argc; ++i) {
            if (std::string_view(argv[i]) == "--quick") {
                quick_ = true;
            } else {
                argv[kept++] = argv[i];
            }
        }
        // Defaults, which the arguments may overrule.
        words_ = {argv[0], "--benchmark_enable_random_interleaving=true",
                  quick_ ? "--benchmark_repetitions=5" : "--benchmark_repetitions=15",
                  quick_ ? "--benchmark_min_time=0.01" : "--benchmark_min_time=0.02"};
        words_.insert(words_.end(), argv + 1, argv + kept);
        std::vector<char*> pointers;
        for (auto& word : words_) pointers.push_back(word.data());
        int count = static_cast<int>(pointers.size());
        benchmark::Initialize(&count, pointers.data());
        if (benchmark::ReportUnrecognizedArguments(count, pointers.data())) std::exit(2);
    }

    /// Whether little time is to be spent: fewer parameters, fewer repetitions.
    bool quick() const noexcept { return quick_; }

    /// Wall and process CPU time are measured of what `body` does in its loop.
    benchmark::internal::Benchmark* add(const std::string& variant, const std::string& parameters,
                                        std::function<void(benchmark::State&)> body)
    {
        return registered(variant, parameters, std::move(body))->UseRealTime();
    }

    /// As add, but `body` says how long each iteration took: state.SetIterationTime(seconds).
    benchmark::internal::Benchmark* add_timed(const std::string& variant,
                                              const std::string& parameters,
                                              std::function<void(benchmark::State&)> body)
    {
        return registered(variant, parameters, std::move(body))->UseManualTime();
    }

    /// One repetition is one request for `events` events; a first one, for each variant and parameters,
    /// warms up.
    benchmark::internal::Benchmark* add_peer(const std::string& variant,
                                             const std::string& parameters, script& peer,
                                             std::int64_t events)
    {
        if (const auto why = peer.missing(); !why.empty()) return missing(variant, parameters, why);
        auto body = [&peer, parameters, events,
                     warm = std::make_shared<bool>(false)](benchmark::State& state) {
            try {
                if (!std::exchange(*warm, true)) peer.run(events, parameters);
                for (auto _ : state) {
                    const auto said = peer.run(events, parameters);
                    state.SetIterationTime(said.nanoseconds * 1e-9);
                    for (const auto& [name, value] : said.counters) {
                        state.counters[name] = value / static_cast<double>(events);
                    }
                }
                state.counters["events"] = static_cast<double>(events);
            } catch (const std::exception& why) {
                state.SkipWithError(why.what());
            }
        };
        return add_timed(variant, parameters, std::move(body))->Iterations(1);
    }

    /// A peer that is not there: its row says why.
    benchmark::internal::Benchmark* missing(const std::string& variant,
                                            const std::string& parameters, const std::string& why)
    {
        return add(variant, parameters,
                   [why](benchmark::State& state) {
                       state.SkipWithError(("missing: " + why).c_str());
                   })
            ->Repetitions(1);
    }

    /// Runs what was added.
    int run(const question& asked)
    {
        benchmark::AddCustomContext("question", json(asked));
        if (benchmark::RunSpecifiedBenchmarks() == 0) {
            std::fprintf(stderr, "nothing was run\n");
            return 1;
        }
        benchmark::Shutdown();
        return 0;
    }

private:
    static benchmark::internal::Benchmark* registered(const std::string& variant,
                                                      const std::string& parameters,
                                                      std::function<void(benchmark::State&)> body)
    {
        if (variant.empty() || variant.find('/') != std::string::npos)
            throw std::logic_error("no name for a variant: " + variant);
        const auto name = parameters.empty() ? variant : variant + "/" + parameters;
        return benchmark::RegisterBenchmark(name.c_str(), std::move(body))->MeasureProcessCPUTime();
    }

    static std::string quoted(std::string_view text)
    {
        std::string made = "\"";
        for (const char c : text) {
            if (c == '"' || c == '\\') made += '\\';
            made += c;
        }
        return made + '"';
    }

    static std::string json(const question& asked)
    {
        std::ostringstream out;
        out << "{\"asks\":" << quoted(asked.asks) << ",\"limit\":" << quoted(asked.limit)
            << ",\"peers\":[";
        const char* comma = "";
        for (const auto& peer : asked.peers) {
            out << comma << quoted(peer);
            comma = ",";
        }
        out << "],\"goals\":[";
        comma = "";
        for (const auto& one : asked.goals) {
            out << comma << "{\"variant\":" << quoted(one.variant)
                << ",\"against\":" << quoted(one.against)
                << ",\"statistic\":" << quoted(one.statistic) << ",\"where\":" << quoted(one.where)
                << ",\"against_where\":" << quoted(one.against_where)
                << ",\"added_per\":" << quoted(one.added_per)
                << ",\"worst\":" << (one.worst ? "true" : "false") << ",\"at_most\":" << one.at_most
                << '}';
            comma = ",";
        }
        out << "]}";
        return out.str();
    }

    bool quick_ = false;
    std::vector<std::string> words_;  // Google Benchmark keeps pointers to them
};

}  // namespace bench

#endif
