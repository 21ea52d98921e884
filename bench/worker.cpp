// What does one request to a worker cost beside the least that two processes can do for each other: a byte
// there and a byte back, through pipes, each blocking in read? One at a time, and 64 in flight, where what
// comes together is written together. The event is a pre_tool_use event of some 200 bytes.
// All processes, Node and its worker, too, share one core (`bench::on_one_core`).

#include <belay/hooks/protocol/vera.hpp>
#include <belay/hooks/tool_events.hpp>
#include <belay/process/run.hpp>
#include <belay/process/worker.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "question.hpp"
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <variant>

namespace {

namespace asio = boost::asio;
namespace hooks = belay::hooks;
namespace json = boost::json;
namespace process = belay::process;

const std::string program_of_the_worker = bench::path_of("worker");
constexpr std::chrono::seconds timeout{30};

/// A process that sends each byte back.
class echo {
public:
    echo()
    {
        int to[2], from[2];
        if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0)
            throw std::runtime_error("no pipe");
        child_ = ::fork();
        if (child_ < 0) throw std::runtime_error("no process");
        if (child_ == 0) {
            ::close(to[1]);
            ::close(from[0]);
            for (char byte; ::read(to[0], &byte, 1) == 1 && ::write(from[1], &byte, 1) == 1;) {
            }
            ::_exit(0);
        }
        ::close(to[0]);
        ::close(from[1]);
        to_ = to[1];
        from_ = from[0];
    }
    echo(const echo&) = delete;
    echo& operator=(const echo&) = delete;
    ~echo()
    {
        ::close(to_);
        ::close(from_);
        ::waitpid(child_, nullptr, 0);
    }

    bool there_and_back() const
    {
        char byte = '\n';
        return ::write(to_, &byte, 1) == 1 && ::read(from_, &byte, 1) == 1;
    }

private:
    pid_t child_ = -1;
    int to_ = -1;
    int from_ = -1;
};

hooks::pre_tool_use an_event()
{
    hooks::pre_tool_use event;
    event.call.id = "call_7Hq2";
    event.call.name = "bash";
    event.call.input = {
        {"command", "grep -rn 'cache' src/server --include='*.cpp' | sort -u | head -n 20"}};
    event.session_id = "b1946ac9";
    event.workspace = "/home/someone/project";
    return event;
}

const hooks::pre_tool_use event = an_event();
const std::string phase = "pre_tool_use";
const std::string text = *hooks::vera().payload(event, phase);

/// What the host does with an event and a result.
enum class handling {
    bytes,  ///< nothing: it has the bytes, and compares bytes
    json,   ///< Boost.JSON alone: it serialises a value that it has, and parses the result
    hook,   ///< what `hooks::vera` does for an executable hook: a payload, and a checked answer
};

std::string given(handling how)
{
    static const json::value value = json::parse(text);
    if (how == handling::json) return json::serialize(value);
    return how == handling::hook ? *hooks::vera().payload(event, phase) : text;
}

/// Whether the result is the one that is expected.
bool is_right(std::string result, handling how)
{
    if (how == handling::bytes) return result == "{\"power\":\"observe\"}";
    if (how == handling::json) {
        unsigned char room[1024];
        json::monotonic_resource memory(room);
        json::error_code error;
        const json::value parsed = json::parse(result, error, &memory);
        return !error && parsed.as_object().at("power").as_string() == "observe";
    }
    process::exit_report report;
    report.status = process::exit_status::exited(0);
    report.out = std::move(result);
    const auto said = hooks::vera().answer(event, phase, report);
    return said && std::holds_alternative<belay::observe>(*said);
}

/// A worker, and a host that keeps so many requests in flight.
class host {
public:
    host(std::size_t in_flight, handling how)
        : in_flight_(in_flight),
          how_(how),
          worker_(loop_.get_executor(), {.argv = {program_of_the_worker}, .in_flight = in_flight})
    {}

    bool ask(std::int64_t events)
    {
        left_ = events;
        good_ = 0;
        running_ = 0;
        for (std::size_t i = 0; i < in_flight_ && left_ > 0; ++i) next();
        loop_.restart();
        loop_.run();  // until it is stopped: the worker lives on
        return good_ == events;
    }

private:
    void next()
    {
        --left_;
        ++running_;
        worker_.async_request(given(how_), timeout,
                              [this](belay::error_code error, process::worker_reply reply) {
                                  good_ += !error && is_right(std::move(reply.result), how_);
                                  --running_;
                                  if (left_ > 0)
                                      next();
                                  else if (running_ == 0)
                                      loop_.stop();
                              });
    }

    std::size_t in_flight_;
    handling how_;
    asio::io_context loop_{1};
    process::worker worker_;
    std::int64_t left_ = 0;
    std::int64_t good_ = 0;
    std::size_t running_ = 0;
};

/// The program of the worker once for each event: a line in, a line out, the end.
class one_run {
public:
    bool ask()
    {
        bool good = false;
        process::invocation what;
        what.argv = {program_of_the_worker};
        what.timeout = timeout;
        process::async_run(loop_.get_executor(), std::move(what),
                           "{\"id\":1,\"event\":" + text + "}\n",
                           [&](belay::error_code error, const process::exit_report& report) {
                               good = !error && report.status.is_success() &&
                                      report.out.starts_with("{\"id\":1,\"result\":");
                           });
        loop_.run();
        loop_.restart();
        return good;
    }

private:
    asio::io_context loop_{1};
};

/// Measures `ask`, of a thing that is made when it is first needed.
template <class Thing, class Make, class Ask>
auto measured(std::int64_t events, Make make, Ask ask)
{
    return [events, make, ask,
            thing = std::make_shared<std::unique_ptr<Thing>>()](benchmark::State& state) {
        if (!*thing) {
            *thing = make();
            ask(**thing, events);  // warms up
        }
        for (auto _ : state)
            if (!ask(**thing, events)) return state.SkipWithError("an answer did not arrive");
        state.counters["events"] = static_cast<double>(events);
    };
}

}  // namespace

int main(int argc, char** argv)
try {
    const bench::on_one_core here;
    bench::program program(argc, argv);
    bench::script node("node", "worker.mjs");

    const echo other;  // first, so that it has no descriptor of the workers'
    program.add("ping-pong", "", [&other](benchmark::State& state) {
        constexpr int events = 1000;
        for (auto _ : state)
            for (int i = 0; i < events; ++i)
                if (!other.there_and_back()) return state.SkipWithError("no byte came back");
        state.counters["events"] = events;
    });
    for (const std::size_t in_flight : {1U, 64U}) {
        const std::string parameters = "in_flight:" + std::to_string(in_flight);
        for (const auto& [variant, how] :
             {std::pair{"worker", handling::bytes}, std::pair{"worker with JSON", handling::json},
              std::pair{"worker as a hook", handling::hook}})
            program.add(
                variant, parameters,
                measured<host>(
                    in_flight == 1 ? 1000 : 6400,
                    [in_flight, way = how] { return std::make_unique<host>(in_flight, way); },
                    [](host& one, std::int64_t events) { return one.ask(events); }));
        program.add_peer("Node", parameters, node, in_flight == 1 ? 1000 : 6400);
    }
    program.add("one run per event", "in_flight:1",
                measured<one_run>(
                    20, [] { return std::make_unique<one_run>(); },
                    [](one_run& one, std::int64_t events) {
                        bool good = true;
                        for (std::int64_t i = 0; i < events; ++i) good = good && one.ask();
                        return good;
                    }));

    return program.run({
        .asks = "What does one request to a worker cost beside a byte there and back through "
                "pipes, all on one core?",
        .limit = "ping-pong",
        .peers = {"one run per event", "Node"},
        .goals =
            {{.variant = "worker with JSON",
              .against = "ping-pong",
              .where = "in_flight:1",
              .at_most = 1.7},
             {.variant = "worker with JSON",
              .against = "ping-pong",
              .where = "in_flight:64",
              .at_most = 0.3},
             {.variant = "worker", .against = "ping-pong", .where = "in_flight:64", .at_most = 0.3},
             {.variant = "worker with JSON",
              .against = "one run per event",
              .where = "in_flight:1",
              .at_most = 1.0 / 40},
             {.variant = "worker with JSON",
              .against = "Node",
              .where = "in_flight:1",
              .at_most = 1.0 / 2},
             {.variant = "worker with JSON",
              .against = "Node",
              .where = "in_flight:64",
              .at_most = 1.0 / 8}},
    });
} catch (const std::exception& why) {
    std::fprintf(stderr, "%s\n", why.what());
    return 1;
}
