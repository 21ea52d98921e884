// What a batch of tool calls costs: four functions and a worker before each call, the permission check
// and the tool; what it needs of memory beyond its results; and whether chains overlap up to their limit.
// With a worker, `run_tools` and Node share one core with it (`bench::on_one_core`).

#include <belay/hooks/executable.hpp>
#include <belay/hooks/registry.hpp>
#include <belay/hooks/registry_options.hpp>
#include <belay/hooks/run_tools.hpp>
#include <belay/hooks/session.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "question.hpp"
#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <malloc.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace asio = boost::asio;
namespace hooks = belay::hooks;
using hooks::pre_tool_use;
using hooks::tool_call;
using std::chrono::steady_clock;

constexpr std::size_t at_once = 64;  // chains, and requests to the worker
constexpr std::chrono::milliseconds hook_time{50};

// 60 bytes.
std::string command(std::size_t i)
{
    auto made = "grep -rn 'error' src/server --include='*.cpp' # " + std::to_string(i);
    made.resize(60, '_');
    return made;
}

hooks::model_reply reply_with(std::size_t count)
{
    hooks::model_reply made;
    made.calls.reserve(count);
    for (std::size_t i = 0; i != count; ++i) {
        tool_call call{"call_" + std::to_string(i), "bash", {}};
        call.input.emplace("command", command(i));
        made.calls.push_back(std::move(call));
    }
    return made;
}

// A host with one session, which is in a turn.
class agent {
public:
    explicit agent(asio::any_io_executor pool = {})
        : registry_(io_.get_executor(), {.pool = std::move(pool)})
    {}

    hooks::registry& registry() { return registry_; }
    asio::io_context& io() { return io_; }

    void add_executable(hooks::executable_spec spec)
    {
        spec.phase = "pre_tool_use";
        spec.timeout = hooks::timeout_limit;
        const auto added = registry_.on_executable(spec, "executable");
        if (!added) throw std::runtime_error(added.error().message);
    }

    void add_worker()
    {
        add_executable({.argv = {bench::path_of("worker")},
                        .mode = hooks::run_mode::worker,
                        .in_flight = at_once});
    }

    // Guards against commands that no call has.
    void add_functions(int count)
    {
        for (int i = 0; i != count; ++i) {
            registry_.on<pre_tool_use>(
                [needle = "rm -rf /home/" + std::to_string(i)](
                    const pre_tool_use& event) -> std::optional<belay::block> {
                    if (event.call.name != "bash") return std::nullopt;
                    const auto& command = event.call.input.at("command").get_string();
                    if (command.find(needle) == command.npos) return std::nullopt;
                    return belay::block{"no"};
                },
                "guard");
        }
    }

    // How long it took.
    std::chrono::duration<double> run(hooks::model_reply reply, hooks::tool_host host)
    {
        if (!session_) begin();
        const auto count = reply.calls.size();
        const auto began = steady_clock::now();
        std::optional<belay::error_code> ended;
        session_->async_run_tools(
            std::move(reply), std::move(host),
            [&](belay::error_code ec, std::vector<hooks::call_record> records) {
                ended = ec;
                records_ = std::move(records);
            });
        while (!ended) io_.run_one();  // a worker keeps the loop at work for as long as it lives
        const auto took = steady_clock::now() - began;
        if (*ended) throw std::runtime_error(ended->message());
        if (records_.size() != count) throw std::runtime_error("not all calls have a record");
        for (const auto& one : records_) {
            if (one.fate != hooks::call_fate::ran || one.result.is_error)
                throw std::runtime_error("a call did not run: " +
                                         hooks::text_of(one.result.content));
            if (!one.before->ignored.empty())
                throw std::runtime_error(one.before->ignored[0].message);
        }
        return took;
    }

    void forget_results() { std::exchange(records_, {}); }

private:
    void begin()
    {
        session_.emplace(registry_.create_session({.id = "bench", .workspace = "/nest"}).value());
        session_->async_start(hooks::session_start::cause::start,
                              [](belay::error_code, hooks::session_start::outcome) {});
        io_.run();
        session_->async_begin_turn("go", {"model", {}, {"bash"}},
                                   [](belay::error_code, hooks::pre_turn::outcome) {});
        io_.restart();
        io_.run();
        io_.restart();
    }

    asio::io_context io_{1};
    hooks::registry registry_;
    std::optional<hooks::session> session_;
    std::vector<hooks::call_record> records_;
};

hooks::tool_host obliging(std::size_t chains_at_once)
{
    hooks::tool_host made;
    made.permit = [](const tool_call&) { return hooks::permission::grant(); };
    made.run = [](const tool_call& call) { return hooks::text_result("ran " + call.id); };
    made.chains_at_once = chains_at_once;
    return made;
}

// --- Calls per second --------------------------------------------------------------------------

void run_batches(benchmark::State& state, std::size_t calls, bool with_worker)
{
    try {
        std::optional<bench::on_one_core> here;
        if (with_worker) here.emplace();
        agent one;
        one.add_functions(4);
        if (with_worker) one.add_worker();
        one.run(reply_with(calls), obliging(at_once));
        for (auto _ : state) {
            one.forget_results();
            const auto took = one.run(reply_with(calls), obliging(at_once));
            state.SetIterationTime(took.count());
        }
        state.counters["events"] = static_cast<double>(calls);
    } catch (const std::exception& why) {
        state.SkipWithError(why.what());
    }
}

// --- Memory ------------------------------------------------------------------------------------

double live_bytes()
{
    const auto now = ::mallinfo2();
    return static_cast<double>(now.uordblks + now.hblkhd);
}

// What the heap held at most while a batch ran, beyond what its results hold.
void measure_memory(benchmark::State& state, std::size_t calls)
{
    try {
        double most = 0;
        for (auto _ : state) {
            agent one;
            one.add_functions(4);
            one.add_worker();
            one.run(reply_with(at_once), obliging(at_once));
            one.forget_results();
            auto host = obliging(at_once);
            // Looking takes long, so not at each call, but at all of the last ones.
            std::size_t seen = 0;
            const auto look = [&] {
                const auto every = std::max<std::size_t>(1, calls / 500);
                if (++seen % every == 0 || calls - seen % calls < 100)
                    most = std::max(most, live_bytes());
            };
            one.registry().on<pre_tool_use>([look](const pre_tool_use&) { look(); }, "look");
            host.run = [look](const tool_call& call) {
                look();
                return hooks::text_result("ran " + call.id);
            };
            one.run(reply_with(calls), host);
            most -= live_bytes();  // the results
        }
        state.counters["bytes_beyond_the_results"] = std::max(most, 0.0);
        state.counters["events"] = static_cast<double>(calls);
    } catch (const std::exception& why) {
        state.SkipWithError(why.what());
    }
}

// --- 64 calls with one hook of 50 ms -----------------------------------------------------------

enum class kind { executable, function_that_answers_later, function_that_blocks };

void run_slow_hook(benchmark::State& state, kind what, std::size_t limit)
{
    try {
        constexpr std::size_t calls = 64;
        asio::thread_pool pool(what == kind::function_that_blocks ? limit : 1);
        agent one(what == kind::function_that_blocks ? asio::any_io_executor(pool.get_executor())
                                                     : asio::any_io_executor());
        switch (what) {
        case kind::executable: one.add_executable({.argv = {bench::path_of("slow_hook")}}); break;
        case kind::function_that_answers_later:
            one.registry().on<pre_tool_use>(
                [](const pre_tool_use&, belay::reply<pre_tool_use> reply) {
                    auto timer =
                        std::make_shared<asio::steady_timer>(reply.get_executor(), hook_time);
                    timer->async_wait([timer, reply = std::move(reply)](
                                          boost::system::error_code) mutable { reply(); });
                },
                "slow");
            break;
        case kind::function_that_blocks:
            one.registry().on<pre_tool_use>(
                [](const pre_tool_use&) { std::this_thread::sleep_for(hook_time); }, "slow");
            break;
        }
        const std::chrono::duration<double> ideal = hook_time * (calls / limit);
        double ratio = 0;
        for (auto _ : state) {
            const auto took = one.run(reply_with(calls), obliging(limit));
            state.SetIterationTime(took.count());
            ratio = took / ideal;
        }
        state.counters["of_64/limit_x_50_ms"] = ratio;
        state.counters["events"] = static_cast<double>(calls);
    } catch (const std::exception& why) {
        state.SkipWithError(why.what());
    }
}

}  // namespace

int main(int argc, char** argv)
{
    bench::program program(argc, argv);
    // Without a worker, and with one.
    using bench::script;
    script node[] = {{"node", "batch.mjs"}, {"node", "batch.mjs", script::cores::one}};
    script overlapping[] = {{"node", "batch_overlapping.mjs"},
                            {"node", "batch_overlapping.mjs", script::cores::one}};

    std::vector<std::size_t> sizes{1'000, 10'000};
    if (!program.quick()) sizes.push_back(100'000);
    for (const auto calls : sizes) {
        const auto parameters = "calls:" + std::to_string(calls);
        program
            .add_timed("memory", parameters,
                       [calls](benchmark::State& state) { measure_memory(state, calls); })
            ->Iterations(1)
            ->Repetitions(3);
        if (calls > 10'000) continue;
        for (const bool with_worker : {false, true}) {
            const auto both =
                parameters + "/hooks:" + (with_worker ? "functions+worker" : "functions");
            program
                .add_timed("run_tools", both,
                           [calls, with_worker](benchmark::State& state) {
                               run_batches(state, calls, with_worker);
                           })
                ->Iterations(3)
                ->Repetitions(program.quick() ? 5 : 11);
            program.add_peer("Node", both, node[with_worker], static_cast<std::int64_t>(calls))
                ->Repetitions(program.quick() ? 5 : 11);
            program
                .add_peer("Node, 64 at once", both, overlapping[with_worker],
                          static_cast<std::int64_t>(calls))
                ->Repetitions(program.quick() ? 5 : 11);
        }
    }

    for (const auto& [name, what] :
         {std::pair("executable", kind::executable),
          std::pair("function that answers later", kind::function_that_answers_later),
          std::pair("function that blocks on a pool", kind::function_that_blocks)}) {
        for (const std::size_t limit : {1U, 8U, 64U}) {
            if (limit == 1 && program.quick()) continue;
            program
                .add_timed(
                    std::string("64 calls, 50 ms ") + name, "limit:" + std::to_string(limit),
                    [what, limit](benchmark::State& state) { run_slow_hook(state, what, limit); })
                ->Iterations(1)
                ->Repetitions(limit == 1 ? 1 : 5);
        }
    }

    const std::string of_ideal = "of_64/limit_x_50_ms";
    const auto overlaps = [&](const char* what, const char* where, double at_most) {
        return bench::goal{.variant = std::string("64 calls, 50 ms ") + what,
                           .statistic = of_ideal,
                           .where = where,
                           .at_most = at_most};
    };
    return program.run(
        {.asks = "What does a batch of tool calls cost, in time and in memory, and do the hooks of "
                 "different calls overlap?",
         .peers = {"Node", "Node, 64 at once"},
         .goals = {
             {.variant = "run_tools",
              .against = "Node",
              .where = "calls:10000/hooks:functions+worker",
              .at_most = 0.1},
             {.variant = "run_tools",
              .against = "Node, 64 at once",
              .where = "calls:10000/hooks:functions+worker",
              .at_most = 0.1},
             {.variant = "memory",
              .statistic = "bytes_beyond_the_results",
              .added_per = "calls",
              .at_most = 2},
             overlaps("executable", "limit:1,8", 1.15),
             overlaps("executable", "limit:64", 1.5),
             overlaps("function that answers later", "", 1.15),
             overlaps("function that blocks on a pool", "", 1.15),
         }});
}
