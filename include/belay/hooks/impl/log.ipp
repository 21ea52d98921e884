#ifndef BELAY_HOOKS_IMPL_LOG_IPP
#define BELAY_HOOKS_IMPL_LOG_IPP

#include <belay/hooks/detail/json.hpp>
#include <belay/hooks/log.hpp>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <time.h>
#include <unistd.h>
#include <utility>

namespace belay::hooks {
namespace detail {

// Now, in UTC, as in "2030-01-31T12:00:00.000Z".
inline std::string utc_now()
{
    std::timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    std::tm parts{};
    ::gmtime_r(&now.tv_sec, &parts);
    char text[32];
    const auto size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    char millis[8];
    std::snprintf(millis, sizeof millis, ".%03dZ", static_cast<int>(now.tv_nsec / 1'000'000));
    return std::string(text, size) + millis;
}

inline int open_for_appending(const char* path) noexcept
{
    int descriptor = -1;
    do {
        // Without O_NONBLOCK, the opening of a FIFO would wait for its reader.
        descriptor =
            ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

}  // namespace detail

BELAY_DECL jsonl_file::jsonl_file(std::string path) : path_(std::move(path)) {}

BELAY_DECL void jsonl_file::on_record(const boost::json::object& record) noexcept
{
    try {
        boost::json::object stamped;
        stamped.emplace("time", detail::utc_now());
        for (const auto& [key, value] : record) stamped.emplace(key, value);
        detail::json_writer written;  // JSON whatever bytes are in a message
        written.write(stamped);
        const std::string line = std::move(written).take() + '\n';

        int descriptor = detail::open_for_appending(path_.c_str());
        if (descriptor < 0) {
            std::error_code ignored;
            std::filesystem::create_directories(std::filesystem::path(path_).parent_path(),
                                                ignored);
            descriptor = detail::open_for_appending(path_.c_str());
        }
        if (descriptor < 0) return;
        // One write, since two could be torn apart by another host's line.
        while (::write(descriptor, line.data(), line.size()) < 0 && errno == EINTR) {
        }
        ::close(descriptor);
    } catch (...) {
        // A record that cannot be written is lost.
    }
}

BELAY_DECL std::string host_log_path(std::string_view home)
{
    return (std::filesystem::path(home) / "runtime" / "logs" / "host.jsonl").string();
}

}  // namespace belay::hooks

#endif
