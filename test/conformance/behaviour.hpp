#ifndef BELAY_TEST_CONFORMANCE_BEHAVIOUR_HPP
#define BELAY_TEST_CONFORMANCE_BEHAVIOUR_HPP

// What a vector's hooks do: read from `given.hooks`, and made real as executables in a home folder.

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "vectors.hpp"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace conformance {

/// One way in which an executable runs.
struct behaviour {
    std::string out{};
    std::string err{};
    int exit = 0;
    int signal = 0;  ///< that ends it, or 0
    std::chrono::milliseconds duration{};
    bool ignores_sigterm = false;
};

/// One hook of a vector.
struct hook {
    std::size_t index = 0;
    bool from_extension = false;
    std::string name{};
    std::string event{};
    std::string protocol{};
    std::optional<std::int64_t> timeout_ms{};

    std::map<std::string, behaviour> runs{};   ///< by call ID; "" is any payload
    std::optional<std::string> spawn_error{};  ///< why it cannot be started
    std::optional<json::value> returns{};      ///< of a function
    std::optional<std::string> throws{};       ///< of a function
    std::chrono::milliseconds duration{};      ///< of a function

    bool is_function() const noexcept { return returns || throws; }

    /// By how long it delays what waits for it, at most.
    std::chrono::milliseconds delay() const
    {
        auto longest = duration;
        for (const auto& run : runs) longest = std::max(longest, run.second.duration);
        return longest;
    }

    std::chrono::milliseconds timeout() const
    {
        return std::chrono::milliseconds(timeout_ms.value_or(is_function() ? 60000 : 1000));
    }
};

namespace detail {

inline int signal_named(const json::value& value, const std::string& path)
{
    static const std::map<std::string_view, int> numbers{
        {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"ILL", SIGILL},
        {"TRAP", SIGTRAP}, {"ABRT", SIGABRT}, {"BUS", SIGBUS},   {"FPE", SIGFPE},
        {"KILL", SIGKILL}, {"USR1", SIGUSR1}, {"SEGV", SIGSEGV}, {"USR2", SIGUSR2},
        {"PIPE", SIGPIPE}, {"ALRM", SIGALRM}, {"TERM", SIGTERM},
    };
    if (value.is_string()) {
        auto name = view(value.get_string());
        if (name.starts_with("SIG")) name.remove_prefix(3);
        if (const auto found = numbers.find(name); found != numbers.end()) return found->second;
    } else if (value.is_int64()) {
        for (const auto& [name, number] : numbers) {
            if (number == value.get_int64()) return number;
        }
    }
    throw malformed(path + ": must be a signal that ends a process, not " + shown(value));
}

inline constexpr std::int64_t longest_ms = 7 * 24 * 3600 * std::int64_t(1000);

inline behaviour read_behaviour(reader& run)
{
    behaviour made;
    const auto out = run.find_text("stdout");
    if (const auto* document = run.find("stdout_json")) {
        if (out) throw malformed(run.path() + ": has both stdout and stdout_json");
        made.out = json::serialize(*document);
    } else if (out) {
        made.out = *out;
    }
    made.err = run.find_text("stderr").value_or("");
    made.exit = static_cast<int>(run.find_integer("exit", 0, 255).value_or(0));
    if (const auto* by = run.find("signal")) {
        if (run.has("exit")) throw malformed(run.path() + ": has both exit and signal");
        made.signal = signal_named(*by, run.path_of("signal"));
    }
    made.duration =
        std::chrono::milliseconds(run.find_integer("duration_ms", 0, longest_ms).value_or(0));
    made.ignores_sigterm = run.find_bool("ignores_sigterm").value_or(false);
    return made;
}

inline hook read_hook(const json::value& value, const std::string& path, std::size_t index)
{
    reader given(value, path);
    hook made;
    made.index = index;
    made.from_extension = given.choice<int>("source", {"config", "extension"}) == 1;
    made.name = given.text("name");
    made.event = given.text("event");
    made.protocol = given.find_text("protocol").value_or("vera");
    made.timeout_ms = given.find_integer("timeout_ms", 1, std::int64_t(1) << 53U);
    if (made.name.empty() || made.name.find('\0') != std::string::npos || made.name.size() > 200 ||
        (!made.from_extension &&
         (made.name == "." || made.name == ".." || made.name.find('/') != std::string::npos))) {
        throw malformed(given.path_of("name") + ": must be the name of a file or of an extension");
    }

    reader run(given.get("run"), given.path_of("run"));
    given.finish();
    const auto alone = [&](std::string_view key, std::initializer_list<std::string_view> with) {
        for (const auto& member : value.at("run").get_object()) {
            if (member.key() == key) continue;
            if (std::find(with.begin(), with.end(), member.key()) == with.end()) {
                throw malformed(run.path_of(member.key()) + ": does not go with " +
                                std::string(key));
            }
        }
    };
    if (const auto* by_call = run.find("by_call")) {
        alone("by_call", {});
        reader calls(*by_call, run.path_of("by_call"));
        for (const auto& member : by_call->get_object()) {
            reader one(calls.get(member.key()), calls.path_of(member.key()));
            made.runs.emplace(member.key(), read_behaviour(one));
            one.finish();
        }
    } else if (const auto* returned = run.find("returns")) {
        alone("returns", {"duration_ms"});
        made.returns = *returned;
    } else if (const auto* thrown = run.find("throws")) {
        alone("throws", {"duration_ms"});
        made.throws = reader::as_text(*thrown, run.path_of("throws"));
    } else if (auto error = run.find_text("spawn_error")) {
        alone("spawn_error", {});
        made.spawn_error = std::move(error);
    } else {
        made.runs.emplace("", read_behaviour(run));
    }
    if (made.is_function()) {
        if (!made.from_extension) throw malformed(run.path() + ": only an extension has functions");
        made.duration =
            std::chrono::milliseconds(run.find_integer("duration_ms", 0, longest_ms).value_or(0));
    }
    run.finish();
    return made;
}

}  // namespace detail

inline std::vector<hook> read_hooks(const json::value& value, const std::string& path)
{
    if (!value.is_array()) throw malformed(path + ": must be an array");
    std::vector<hook> hooks;
    for (const auto& one : value.get_array()) {
        const auto index = hooks.size();
        hooks.push_back(detail::read_hook(one, path + "[" + std::to_string(index) + "]", index));
    }
    return hooks;
}

/// Whether the hooks can run in real time: it takes seconds at most, and no result depends on which of
/// two nearly equal times is over first.
inline bool fits_into_real_time(const std::vector<hook>& hooks)
{
    std::chrono::milliseconds total{};
    for (const auto& one : hooks) {
        const auto delay = one.delay();
        if (delay.count() == 0) continue;
        const bool clearly_in_time = delay * 4 <= one.timeout();
        const bool clearly_late = delay >= one.timeout() * 4;
        if (one.is_function() || !(clearly_in_time || clearly_late)) return false;
        total += std::min(delay, one.timeout());
    }
    return total <= std::chrono::milliseconds(1500);
}

// --- Real executables ---------------------------------------------------------------------------

/// A temporary home folder, with `hooks/` in it.
class home {
public:
    explicit home(std::string player) : player_(std::move(player))
    {
        auto pattern =
            (std::filesystem::temp_directory_path() / "belay-conformance-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) {
            throw std::runtime_error("a temporary folder cannot be made: " + pattern);
        }
        // without symbolic links, as paths below it are compared
        root_ = std::filesystem::canonical(pattern);
        std::filesystem::create_directories(root_ / "hooks");
        std::filesystem::create_directories(root_ / "behaviours");
        std::filesystem::create_directories(root_ / "records");
    }

    ~home()
    {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }

    home(const home&) = delete;
    home& operator=(const home&) = delete;

    std::filesystem::path root() const { return root_; }
    std::filesystem::path hooks() const { return root_ / "hooks"; }

    /// Makes the executable of a hook, and gives its argv. Each has a folder of its own, since several
    /// hooks may have one name.
    std::vector<std::string> install(const hook& what)
    {
        const auto place = hooks() / std::to_string(what.index);
        const auto file = place / (what.from_extension ? "hook" : what.name);
        std::filesystem::create_directories(place);
        if (what.spawn_error) {
            make_unusable(file, *what.spawn_error);
        } else {
            std::filesystem::create_symlink(player_, file);
        }
        return {file.string(), behaviour_of(what).string()};
    }

    /// What an installed hook does from now on, and whether it keeps what it finds on stdin.
    void write_behaviour(const hook& what, const std::map<std::string, behaviour>& runs,
                         bool record)
    {
        json::object described;
        for (const auto& [id, how] : runs) {
            json::object run{
                {"stdout", how.out}, {"stderr", how.err}, {"duration_ms", how.duration.count()}};
            if (how.signal != 0) run.emplace("signal", how.signal);
            if (how.exit != 0) run.emplace("exit", how.exit);
            if (how.ignores_sigterm) run.emplace("ignores_sigterm", true);
            described.emplace(id, std::move(run));
        }
        json::object all{{"runs", std::move(described)}};
        if (record)
            all.emplace("record", (root_ / "records" / std::to_string(what.index)).string());
        std::ofstream file(behaviour_of(what), std::ios::binary | std::ios::trunc);
        file << json::serialize(all);
        if (!file.flush())
            throw std::runtime_error("cannot be written: " + behaviour_of(what).string());
    }

    /// The stdin of each start of a hook.
    std::vector<std::string> records(std::size_t index) const
    {
        std::vector<std::string> found;
        const auto prefix = std::to_string(index) + "-";
        for (const auto& entry : std::filesystem::directory_iterator(root_ / "records")) {
            const auto name = entry.path().filename().string();
            if (!name.starts_with(prefix) || name.ends_with(".unfinished")) continue;
            std::ifstream file(entry.path(), std::ios::binary);
            std::ostringstream text;
            text << file.rdbuf();
            found.push_back(std::move(text).str());
        }
        return found;
    }

private:
    std::filesystem::path behaviour_of(const hook& what) const
    {
        return root_ / "behaviours" / std::to_string(what.index);
    }

    // So that the system really refuses to start it, with that error.
    void make_unusable(const std::filesystem::path& file, const std::string& error)
    {
        const auto write = [&](std::string_view content, std::filesystem::perms mode) {
            std::ofstream(file, std::ios::binary) << content;
            std::filesystem::permissions(file, mode);
        };
        using std::filesystem::perms;
        if (error == "ENOENT") return;
        if (error == "EACCES")
            return write("#!/bin/true\n", perms::owner_read | perms::owner_write);
        if (error == "ENOEXEC") return write("no program\n", perms::owner_all);
        if (error == "ELOOP") return std::filesystem::create_symlink(file.filename(), file);
        throw malformed("given.hooks[].run.spawn_error: the runner cannot bring about " + error);
    }

    std::string player_;
    std::filesystem::path root_;
};

}  // namespace conformance

#endif
