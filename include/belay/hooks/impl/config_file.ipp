#ifndef BELAY_HOOKS_IMPL_CONFIG_FILE_IPP
#define BELAY_HOOKS_IMPL_CONFIG_FILE_IPP

#include <belay/hooks/config_file.hpp>

#include <boost/system/system_category.hpp>

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace belay::hooks {
namespace detail {

/// The text of a regular file of at most `limit` bytes, and its state before it was read. The cause is
/// the system's; without one the message says what else is wrong.
struct file_text {
    std::string text;
    struct stat state{};
    int error = 0;
    std::string fault;
};

inline file_text read_file(const char* path, std::size_t limit)
{
    file_text file;
    // Without O_NONBLOCK, the opening of a FIFO would wait for its writer.
    const int descriptor = ::open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
        file.error = errno;
        struct stat link{};
        if (file.error == ENOENT && ::lstat(path, &link) == 0) {
            file.error = 0;
            file.fault = "it is a link to a file that is not there";
        }
        return file;
    }
    if (::fstat(descriptor, &file.state) != 0) {
        file.error = errno;
    } else if (!S_ISREG(file.state.st_mode)) {
        file.fault = "it is not a regular file";
    } else {
        char buffer[16384];
        for (;;) {
            const auto count = ::read(descriptor, buffer, sizeof buffer);
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) file.error = errno;
            if (count <= 0) break;
            file.text.append(buffer, static_cast<std::size_t>(count));
            if (file.text.size() > limit) {
                file.fault = "it is larger than " + std::to_string(limit) + " bytes";
                break;
            }
        }
    }
    ::close(descriptor);
    return file;
}

inline std::int64_t nanoseconds(const timespec& time) noexcept
{
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace detail

BELAY_DECL config_file::config_file(std::filesystem::path file, protocols known)
    : file_(file.empty() ? file : std::filesystem::absolute(file).lexically_normal()), known_(known)
{}

BELAY_DECL checked<void> config_file::load()
{
    const std::lock_guard lock(mutex_);
    return read();
}

BELAY_DECL checked<bool> config_file::refresh()
{
    const std::lock_guard lock(mutex_);
    if (last_ == look()) return false;
    const auto before = current_;
    const auto known_fault = fault_;
    if (auto done = read(); !done) {
        const bool told = !last_ && known_fault && known_fault->message == done.error().message;
        if (told) return false;
        return done.error();
    }
    return current_ != before;
}

BELAY_DECL std::shared_ptr<const config> config_file::current() const
{
    const std::lock_guard lock(mutex_);
    return current_;
}

BELAY_DECL std::optional<diagnosis> config_file::fault() const
{
    const std::lock_guard lock(mutex_);
    return fault_;
}

BELAY_DECL checked<void> config_file::read()
{
    const auto refuse = [this](diagnosis why) -> checked<void> {
        fault_ = why;
        return why;
    };
    const auto seen = look();
    const auto read = detail::read_file(file_.c_str(), size_limit);
    if (read.error != 0 || !read.fault.empty()) {
        // A file that cannot be read now may be readable the next time, without having changed.
        last_ = read.error == ENOENT || read.error == 0 ? std::optional(seen) : std::nullopt;
        if (read.error == ENOENT && (current_ == nullptr || absent_)) {
            absent_ = true;
            if (current_ == nullptr) current_ = std::make_shared<const config>();
            fault_.reset();
            return {};
        }
        const auto why = read.error == 0
                             ? read.fault
                             : error_code(read.error, boost::system::system_category()).message();
        return refuse({errc::unreadable, file_.string() + " cannot be read: " + why});
    }
    // Its state before the reading: a change during it will be seen as one.
    last_ = stamp{true, detail::nanoseconds(read.state.st_mtim), read.state.st_size};
    absent_ = false;
    auto made = config::parse(read.text, file_.parent_path(), file_.string(), known_);
    if (!made) return refuse(made.error());
    current_ = std::make_shared<const config>(*std::move(made));
    fault_.reset();
    return {};
}

BELAY_DECL config_file::stamp config_file::look() const noexcept
{
    struct stat state{};
    if (::stat(file_.c_str(), &state) != 0) return {};
    return {true, detail::nanoseconds(state.st_mtim), state.st_size};
}

}  // namespace belay::hooks

#endif
