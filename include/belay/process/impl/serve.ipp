#ifndef BELAY_PROCESS_IMPL_SERVE_IPP
#define BELAY_PROCESS_IMPL_SERVE_IPP

#include <belay/process/detail/envelope.hpp>
#include <belay/process/serve.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <exception>
#include <unistd.h>

namespace belay::process {
namespace detail {

/// Returns an errno value.
inline int write_whole(int to, std::string_view bytes) noexcept
{
    while (!bytes.empty()) {
        const ssize_t n = ::write(to, bytes.data(), bytes.size());
        if (n < 0 && errno != EINTR) return errno;
        if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return 0;
}

inline int give_up(const std::string& why) noexcept
{
    write_whole(STDERR_FILENO, "worker: " + why + '\n');
    return 1;
}

/// Answers are written together when they come fast; before an answer that may take its time, those that
/// are ready are written.
class answering {
public:
    explicit answering(const service& answer) : answer_(answer) {}

    /// Returns why it cannot go on; empty: it can.
    std::string line(std::string_view text)
    {
        const auto request = read_envelope(text, "event");
        if (!request)
            return "this is no request, " + request.error().message + ": " + quotation(text);
        if (request->value.empty()) return "this request has no event: " + quotation(text);
        if (!fast_)
            if (std::string why = flush(); !why.empty()) return why;
        const auto begun = std::chrono::steady_clock::now();
        try {
            append_envelope(ready_, request->id, "result", answer_(request->value));
        } catch (const std::exception& thrown) {
            return "request " + std::to_string(request->id) + ": " + thrown.what();
        } catch (...) {
            return "request " + std::to_string(request->id) + ": an exception";
        }
        fast_ = std::chrono::steady_clock::now() - begun < std::chrono::microseconds(50);
        return {};
    }

    std::string flush()
    {
        const int error = write_whole(STDOUT_FILENO, ready_);
        ready_.clear();
        return error == 0 ? "" : std::string("stdout cannot be written: ") + std::strerror(error);
    }

private:
    const service& answer_;
    std::string ready_;
    bool fast_ = false;
};

}  // namespace detail

BELAY_DECL int serve(const service& answer)
{
    detail::answering answers(answer);
    std::string text;  // begins with a line
    std::string buffer(64 * 1024, '\0');
    for (;;) {
        const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return detail::give_up(std::string("stdin cannot be read: ") + std::strerror(errno));
        if (n == 0) break;

        std::size_t searched = text.size();
        text.append(buffer, 0, static_cast<std::size_t>(n));
        std::size_t begin = 0;
        for (std::size_t end; (end = text.find('\n', searched)) != std::string::npos;) {
            std::string why = answers.line(std::string_view(text).substr(begin, end - begin));
            if (!why.empty()) {
                answers.flush();
                return detail::give_up(why);
            }
            begin = searched = end + 1;
        }
        text.erase(0, begin);
        if (std::string why = answers.flush(); !why.empty()) return detail::give_up(why);
    }
    if (text.empty()) return 0;
    return detail::give_up("stdin ends within a line: " + detail::quotation(text));
}

}  // namespace belay::process

#endif
