// A hook that does what a vector says. Its one argument is the path of a behaviour, a JSON object:
//
//   record   where to keep the stdin of each start, if anywhere: PATH-<pid>, complete or not there
//            at all
//   runs     what to do, by the id of the tool call in stdin; "" is for every other payload
//
// and what to do is an object of `ignores_sigterm`, `duration_ms`, `stderr`, `stdout`, and then `signal`
// (a number) or `exit`. Status 99 with a line on stderr is a mistake in all this.

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

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

void play(const char* path)
{
    const auto behaviour = json::parse(read_file(path)).as_object();
    const auto& runs = behaviour.at("runs").as_object();
    for (const auto& run : runs) {
        if (run.value().as_object().contains("ignores_sigterm")) std::signal(SIGTERM, SIG_IGN);
    }

    const auto payload = read_all(0);
    if (const auto record = std::string(text(behaviour, "record")); !record.empty()) {
        keep(record + '-' + std::to_string(::getpid()), payload);
    }

    const auto& run = choose(runs, payload);
    const auto wait = number(run, "duration_ms");
    timespec left{static_cast<std::time_t>(wait / 1000), static_cast<long>(wait % 1000) * 1000000};
    while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    write_all(2, text(run, "stderr"));
    write_all(1, text(run, "stdout"));
    if (const auto by = static_cast<int>(number(run, "signal")); by != 0) {
        const rlimit no_core{0, 0};
        ::setrlimit(RLIMIT_CORE, &no_core);
        std::signal(by, SIG_DFL);
        std::raise(by);
        throw std::runtime_error("it survived the signal " + std::to_string(by));
    }
    ::_exit(static_cast<int>(number(run, "exit")));
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        if (argc != 2) throw std::runtime_error("it takes one argument, the path of a behaviour");
        play(argv[1]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hook_player: %s\n", error.what());
    }
    return 99;
}
