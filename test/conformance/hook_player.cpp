// A hook that does what a vector says: hook_player BEHAVIOUR [worker]. A behaviour is a file with a JSON
// object:
//
//   record   where to keep each payload, if anywhere: PATH-<pid>-<number>, complete or not there at all
//   runs     what to do, by the id of the tool call in stdin; "" is for every other payload
//
// and what to do is an object of `ignores_sigterm`, `duration_ms`, `stderr`, `stdout`, and then `signal`
// (a number) or `exit`. As a worker it does that for each event, and says in a result what it would have
// printed. Status 99 with a line on stderr is a mistake in all this.

#include <belay/process/serve.hpp>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "as_worker.hpp"
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace {

namespace json = boost::json;

[[noreturn]] void system_failure(const std::string& what)
{
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

std::string read_all(int from)
{
    std::string text;
    char buffer[65536];
    while (true) {
        const ssize_t n = ::read(from, buffer, sizeof buffer);
        if (n == 0) return text;
        if (n < 0 && errno != EINTR) system_failure("read");
        if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
    }
}

void write_all(int to, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t n = ::write(to, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) system_failure("write");
        text.remove_prefix(static_cast<std::size_t>(n));
    }
}

std::string read_file(const char* path)
{
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) system_failure(path);
    auto text = read_all(file);
    ::close(file);
    return text;
}

void keep(const std::string& path, std::string_view text)
{
    const auto unfinished = path + ".unfinished";
    const int file = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) system_failure(unfinished);
    write_all(file, text);
    ::close(file);
    if (::rename(unfinished.c_str(), path.c_str()) != 0) system_failure(path);
}

std::int64_t number(const json::object& run, std::string_view key)
{
    const auto* value = run.if_contains(key);
    return value ? value->to_number<std::int64_t>() : 0;
}

std::string_view text(const json::object& run, std::string_view key)
{
    const auto* value = run.if_contains(key);
    return value ? std::string_view(value->as_string()) : std::string_view();
}

// What to do for this payload.
const json::object& choose(const json::object& runs, std::string_view payload)
{
    if (runs.size() == 1 && runs.contains("")) return runs.at("").as_object();
    const auto call = json::parse(json::string_view(payload.data(), payload.size()));
    const auto* claude = call.as_object().if_contains("tool_use_id");
    const auto id = (claude ? *claude : call.at("toolCall").at("id")).as_string();
    if (!runs.contains(id)) throw std::runtime_error("there is no behaviour for this call");
    return runs.at(id).as_object();
}

json::object read_behaviour(const char* path)
{
    auto behaviour = json::parse(read_file(path)).as_object();
    for (const auto& run : behaviour.at("runs").as_object()) {
        if (run.value().as_object().contains("ignores_sigterm")) std::signal(SIGTERM, SIG_IGN);
    }
    return behaviour;
}

// What is done before anything is printed on stdout.
json::object begin(const json::object& behaviour, std::string_view payload)
{
    static int count = 0;
    if (const auto record = std::string(text(behaviour, "record")); !record.empty()) {
        keep(record + '-' + std::to_string(::getpid()) + '-' + std::to_string(++count), payload);
    }
    auto run = choose(behaviour.at("runs").as_object(), payload);
    const auto wait = number(run, "duration_ms");
    timespec left{static_cast<std::time_t>(wait / 1000), static_cast<long>(wait % 1000) * 1000000};
    while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    write_all(2, text(run, "stderr"));
    return run;
}

[[noreturn]] void end(const json::object& run)
{
    if (const auto by = static_cast<int>(number(run, "signal")); by != 0) {
        const rlimit no_core{0, 0};
        ::setrlimit(RLIMIT_CORE, &no_core);
        std::signal(by, SIG_DFL);
        std::raise(by);
        throw std::runtime_error("it survived the signal " + std::to_string(by));
    }
    ::_exit(static_cast<int>(number(run, "exit")));
}

void play_once(const char* path)
{
    const auto behaviour = read_behaviour(path);
    const auto run = begin(behaviour, read_all(0));
    write_all(1, text(run, "stdout"));
    end(run);
}

// Its behaviour may change from one event to the next.
std::string answer(const char* path, std::string_view event)
{
    const auto run = begin(read_behaviour(path), event);
    const auto payload = json::parse(json::string_view(event.data(), event.size()));
    auto turn = conformance::as_worker(payload.as_object(), text(run, "stdout"),
                                       text(run, "stderr"), static_cast<int>(number(run, "exit")),
                                       static_cast<int>(number(run, "signal")));
    if (turn.ends) end(run);
    return std::move(turn.result);
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        const bool worker = argc == 3 && std::string_view(argv[2]) == "worker";
        if (argc != 2 && !worker) throw std::runtime_error("usage: hook_player BEHAVIOUR [worker]");
        if (!worker) play_once(argv[1]);
        return belay::process::serve([path = argv[1]](std::string_view event) {
            try {
                return answer(path, event);
            } catch (const std::exception& error) {
                std::fprintf(stderr, "hook_player: %s\n", error.what());
                ::_exit(99);
            }
        });
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hook_player: %s\n", error.what());
    }
    return 99;
}
