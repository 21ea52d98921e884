// The program that the tests start. It does what its arguments say, in their order:
//
//   exit N               exit with status N
//   die SIG              end by that signal (a number, or KILL, TERM, SEGV, ABRT, INT)
//   sleep MS             sleep
//   spin                 burn CPU until killed
//   ignore-term          ignore SIGTERM
//   on-term FILE         at SIGTERM mark FILE and exit with status 0
//   noread               never read stdin
//   close-in             close stdin
//   read-all             read stdin to its end, print its byte count and a checksum
//   read-line            read up to the first newline only
//   echo                 copy stdin to stdout
//   out N, err N         write N bytes to stdout, stderr
//   drip N MS            write N bytes, a pause after each
//   json TEXT            write TEXT to stdout
//   say-err TEXT         write TEXT to stderr
//   raw HEX              write these bytes
//   split HEX HEX MS     write two pieces, a pause between
//   orphan MS            start a grandchild that keeps stdout and stderr open for MS, then go on
//   orphan-out MS        likewise, only stdout
//   orphan-err MS        likewise, only stderr
//   quiet-orphan MS      likewise, neither
//   daemon MS            orphan, in a session of its own
//   mark-orphan FILE MS  orphan that first marks FILE
//   late TEXT MS         start a grandchild that prints TEXT, MS after this process has ended
//   env, cwd, argv, fds  print the environment, directory, arguments, open descriptors, as JSON
//   signals              print the masks of ignored, caught and blocked signals, as JSON
//   mark FILE            append its pid, the time and a sequence number to FILE
//   rendezvous DIR N     wait until N probes have checked in to DIR
//   close-out            close stdout
//   widen-out            give stdout, a pipe, room for 1 MiB
//   once FILE N          skip the next N arguments if FILE exists, else make it
//   worker               take one line {"id":N,"event":"MODES"} of stdin after the other, and do what its
//                        modes say; they are separated by blanks
//   serve                belay::process::serve, a result being the event itself; an event that holds
//                        "throw" throws
//
// In an event, too (ID is the request's id):
//   answer               write {"id":ID,"result":"MODES"}, the result being the event itself
//   result HEX           write {"id":ID,"result":...}, the result being these bytes
//   as ID                be another request from here on
//   hold                 do the rest of this event's modes when `release` comes
//   release              do what is held, the last first
//   pid                  write {"id":ID,"result":PID}
//
// At the end of its arguments it exits with status 0. A mistake in them is status 99.

#include <belay/process/serve.hpp>

#include <cctype>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

[[noreturn]] void mistake(const std::string& what)
{
    std::fprintf(stderr, "probe: %s\n", what.c_str());
    _exit(99);
}

void pause_for(long milliseconds)
{
    timespec left{milliseconds / 1000, (milliseconds % 1000) * 1000000};
    while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

void write_all(int to, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t n = ::write(to, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) _exit(98);
        text.remove_prefix(static_cast<std::size_t>(n));
    }
}

void write_many(int to, long count)
{
    const std::string block(65536, 'x');
    for (; count > 0; count -= static_cast<long>(block.size()))
        write_all(to, std::string_view(block).substr(0, static_cast<std::size_t>(count)));
}

std::string read_all()
{
    std::string text;
    char buffer[65536];
    for (ssize_t n; (n = ::read(0, buffer, sizeof buffer)) != 0;) {
        if (n < 0 && errno != EINTR) mistake("stdin cannot be read");
        if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
}

std::uint32_t checksum(std::string_view text)
{
    std::uint32_t sum = 2166136261U;  // FNV-1a
    for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 16777619U;
    return sum;
}

std::string from_hex(std::string_view hex)
{
    if (hex.size() % 2 != 0) mistake("an odd number of hexadecimal digits");
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
        bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    return bytes;
}

std::string quoted(std::string_view text)
{
    std::string json = "\"";
    for (const char c : text) {
        char escape[8];
        if (c == '"' || c == '\\')
            json += {'\\', c};
        else if (static_cast<unsigned char>(c) < 0x20) {
            std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
            json += escape;
        } else
            json += c;
    }
    return json + '"';
}

template <class Strings>
std::string json_array(const Strings& strings)
{
    std::string json = "[";
    for (const auto& string : strings) json += (json.size() > 1 ? "," : "") + quoted(string);
    return json + ']';
}

/// The numbers of the open descriptors.
std::string open_descriptors()
{
    std::set<int> numbers;
    DIR* const list = ::opendir("/proc/self/fd");
    while (const dirent* const entry = ::readdir(list))
        if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])))
            numbers.insert(std::atoi(entry->d_name));
    numbers.erase(::dirfd(list));
    ::closedir(list);
    std::string json = "[";
    for (const int number : numbers) json += (json.size() > 1 ? "," : "") + std::to_string(number);
    return json + ']';
}

/// The signals that are ignored, caught and blocked, as the kernel's masks.
std::string signal_masks()
{
    std::FILE* const status = std::fopen("/proc/self/status", "r");
    std::string json = "{";
    char line[256];
    while (std::fgets(line, sizeof line, status))
        if (std::strncmp(line, "SigIgn:", 7) == 0 || std::strncmp(line, "SigCgt:", 7) == 0 ||
            std::strncmp(line, "SigBlk:", 7) == 0)
            json += (json.size() > 1 ? "," : "") + quoted(std::string(line, 6)) + ':' +
                    quoted(std::string(line + 8, 16));
    std::fclose(status);
    return json + '}';
}

void mark(const char* file)
{
    static int count = 0;
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const int to = ::open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (to < 0) mistake(std::string("cannot open ") + file);
    char line[128];
    const int size =
        std::snprintf(line, sizeof line, "%ld %lld.%09ld %d\n", static_cast<long>(::getpid()),
                      static_cast<long long>(now.tv_sec), now.tv_nsec, count++);
    write_all(to, std::string_view(line, static_cast<std::size_t>(size)));
    ::close(to);
}

const char* term_file = nullptr;

extern "C" void on_term(int)
{
    mark(term_file);
    _exit(0);
}

int signal_number(const std::string& name)
{
    static const struct {
        const char* name;
        int number;
    } known[] = {{"KILL", SIGKILL},
                 {"TERM", SIGTERM},
                 {"SEGV", SIGSEGV},
                 {"ABRT", SIGABRT},
                 {"INT", SIGINT}};
    for (const auto& signal : known)
        if (name == signal.name) return signal.number;
    return std::stoi(name);
}

[[noreturn]] void die(int number)
{
    ::signal(number, SIG_DFL);
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, number);
    ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
    ::raise(number);
    mistake("still alive after the signal");
}

/// Forks; the parent goes on when the grandchild has done what comes before its first pause.
template <class Before, class After>
void grandchild(Before before, After after)
{
    int ready[2];
    if (::pipe2(ready, O_CLOEXEC) != 0) mistake("no pipe");
    const pid_t pid = ::fork();
    if (pid < 0) mistake("no grandchild");
    if (pid == 0) {
        ::close(0);
        ::close(ready[0]);
        before();
        ::close(ready[1]);
        after();
        _exit(0);
    }
    ::close(ready[1]);
    char nothing;
    while (::read(ready[0], &nothing, 1) < 0 && errno == EINTR) {
    }
    ::close(ready[0]);
}

void rendezvous(const std::string& directory, int expected)
{
    const std::string own = directory + '/' + std::to_string(::getpid());
    ::close(::open(own.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    for (;;) {
        int present = 0;
        DIR* const list = ::opendir(directory.c_str());
        if (!list) mistake("no such directory: " + directory);
        while (const dirent* const entry = ::readdir(list)) present += entry->d_name[0] != '.';
        ::closedir(list);
        if (present >= expected) return;
        pause_for(2);
    }
}

/// What a line has asked for.
struct line_request {
    std::string id;
    std::string event;  // with its quotes
};

struct held_modes {
    line_request request;
    std::vector<std::string> words;
};

std::vector<std::string> arguments;
std::vector<held_modes> held;

void answer(const line_request& request, const std::string& result)
{
    write_all(1, "{\"id\":" + request.id + ",\"result\":" + result + "}\n");
}

void run(const std::vector<std::string>& words, line_request request = {});

/// Of a line {"id":N,"event":"MODES"}, which is written in no other way.
void do_request(const std::string& line)
{
    constexpr std::string_view before_id = "{\"id\":";
    constexpr std::string_view before_event = ",\"event\":";
    const std::size_t comma = line.find(',');
    if (!line.starts_with(before_id) || line.compare(comma, before_event.size(), before_event) != 0)
        mistake("a strange line: " + line);
    line_request request;
    request.id = line.substr(before_id.size(), comma - before_id.size());
    request.event = line.substr(comma + before_event.size());
    request.event.pop_back();
    std::istringstream modes(request.event.substr(1, request.event.size() - 2));
    std::vector<std::string> words;
    for (std::string word; modes >> word;) words.push_back(word);
    run(words, request);
}

void work()
{
    std::string text;
    char buffer[65536];
    for (ssize_t n; (n = ::read(0, buffer, sizeof buffer)) != 0;) {
        if (n < 0 && errno != EINTR) mistake("stdin cannot be read");
        if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
        for (std::size_t end; (end = text.find('\n')) != std::string::npos;) {
            const std::string line = text.substr(0, end);
            text.erase(0, end + 1);
            do_request(line);
        }
    }
}

void run(const std::vector<std::string>& words, line_request request)
{
    std::size_t at = 0;
    const auto next = [&]() -> const char* {
        if (at == words.size()) mistake("an argument is missing after " + words.at(at - 1));
        return words[at++].c_str();
    };
    const auto number = [&] { return std::stol(next()); };

    while (at < words.size()) {
        const std::string mode = next();
        if (mode == "exit")
            _exit(static_cast<int>(number()));
        else if (mode == "die")
            die(signal_number(next()));
        else if (mode == "sleep")
            pause_for(number());
        else if (mode == "spin")
            for (volatile bool forever = true; forever;) {
            }
        else if (mode == "ignore-term")
            ::signal(SIGTERM, SIG_IGN);
        else if (mode == "on-term") {
            term_file = next();
            ::signal(SIGTERM, on_term);
        } else if (mode == "noread") {
        } else if (mode == "close-in")
            ::close(0);
        else if (mode == "read-all") {
            const std::string text = read_all();
            write_all(1, std::to_string(text.size()) + ' ' + std::to_string(checksum(text)) + '\n');
        } else if (mode == "read-line") {
            for (char c = 0; c != '\n' && ::read(0, &c, 1) == 1;) {
            }
        } else if (mode == "echo") {
            char buffer[65536];
            for (ssize_t n; (n = ::read(0, buffer, sizeof buffer)) > 0;)
                write_all(1, std::string_view(buffer, static_cast<std::size_t>(n)));
        } else if (mode == "out" || mode == "err")
            write_many(mode == "out" ? 1 : 2, number());
        else if (mode == "drip") {
            const long count = number();
            const long milliseconds = number();
            for (long i = 0; i < count; ++i) {
                write_all(1, "x");
                pause_for(milliseconds);
            }
        } else if (mode == "json")
            write_all(1, next());
        else if (mode == "say-err")
            write_all(2, next());
        else if (mode == "raw")
            write_all(1, from_hex(next()));
        else if (mode == "split") {
            const std::string first = from_hex(next());
            const std::string second = from_hex(next());
            write_all(1, first);
            pause_for(number());
            write_all(1, second);
        } else if (mode == "orphan" || mode == "orphan-out" || mode == "orphan-err" ||
                   mode == "daemon" || mode == "quiet-orphan") {
            const long milliseconds = number();
            grandchild(
                [&] {
                    if (mode == "daemon") ::setsid();
                    if (mode == "orphan-out" || mode == "quiet-orphan") ::close(2);
                    if (mode == "orphan-err" || mode == "quiet-orphan") ::close(1);
                },
                [&] { pause_for(milliseconds); });
        } else if (mode == "mark-orphan") {
            const char* const file = next();
            const long milliseconds = number();
            grandchild([&] { mark(file); }, [&] { pause_for(milliseconds); });
        } else if (mode == "late") {
            const char* const text = next();
            const long milliseconds = number();
            const pid_t parent = ::getpid();
            grandchild([] {},
                       [&] {
                           while (::getppid() == parent) pause_for(1);
                           pause_for(milliseconds);
                           write_all(1, text);
                       });
        } else if (mode == "env") {
            std::vector<std::string> variables;
            for (char** variable = ::environ; *variable; ++variable)
                variables.emplace_back(*variable);
            write_all(1, json_array(variables));
        } else if (mode == "cwd") {
            char path[PATH_MAX];
            write_all(1, ::getcwd(path, sizeof path) ? quoted(path) : "null");
        } else if (mode == "argv")
            write_all(1, json_array(arguments));
        else if (mode == "fds")
            write_all(1, open_descriptors());
        else if (mode == "signals")
            write_all(1, signal_masks());
        else if (mode == "mark")
            mark(next());
        else if (mode == "rendezvous") {
            const std::string directory = next();
            rendezvous(directory, static_cast<int>(number()));
        } else if (mode == "close-out")
            ::close(1);
        else if (mode == "widen-out")
            ::fcntl(1, F_SETPIPE_SZ, 1024 * 1024);
        else if (mode == "once") {
            const std::string file = next();
            const long count = number();
            if (::access(file.c_str(), F_OK) == 0)
                at += static_cast<std::size_t>(count);
            else
                ::close(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        } else if (mode == "worker")
            work();
        else if (mode == "serve")
            _exit(belay::process::serve([](std::string_view event) {
                if (event.find("throw") != event.npos) throw std::runtime_error("as you wish");
                return std::string(event);
            }));
        else if (mode == "answer")
            answer(request, request.event);
        else if (mode == "result")
            answer(request, from_hex(next()));
        else if (mode == "pid")
            answer(request, std::to_string(::getpid()));
        else if (mode == "as")
            request.id = next();
        else if (mode == "hold") {
            held.push_back(
                {request, {words.begin() + static_cast<std::ptrdiff_t>(at), words.end()}});
            return;
        } else if (mode == "release") {
            for (; !held.empty();) {
                const auto [whose, what] = held.back();
                held.pop_back();
                run(what, whose);
            }
        } else
            mistake("unknown mode: " + mode);
    }
}

}  // namespace

int main(int argc, char** argv)
{
    arguments.assign(argv, argv + argc);
    run({arguments.begin() + 1, arguments.end()});
    return 0;
}
