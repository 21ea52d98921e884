// The worker that questions start, linked statically: observes every event. Answers all lines that it gets at once with one
// write, and looks at nothing but their ids, so that hardly any of the time is its own. Run once, with a
// line on stdin, it is an executable hook.

#include <cstddef>
#include <cstring>
#include <unistd.h>

namespace {

constexpr char result[] = ",\"result\":{\"power\":\"observe\"}}\n";

char lines[512 * 1024];
char answers[512 * 1024];

bool write_all(const char* from, const char* end)
{
    while (from != end) {
        const ssize_t put = ::write(1, from, static_cast<std::size_t>(end - from));
        if (put <= 0) return false;
        from += put;
    }
    return true;
}

}  // namespace

int main()
{
    for (std::size_t filled = 0;;) {
        const ssize_t got = ::read(0, lines + filled, sizeof lines - filled);
        if (got <= 0) return got == 0 ? 0 : 1;
        filled += static_cast<std::size_t>(got);
        const char* line = lines;
        const char* const end = lines + filled;
        char* answer = answers;
        const auto find = [&end](const char* from, char what) {
            return static_cast<const char*>(
                std::memchr(from, what, static_cast<std::size_t>(end - from)));
        };
        while (const char* const line_end = find(line, '\n')) {
            // {"id":17,"event":{...}} becomes {"id":17,"result":{...}}, which is no longer
            const auto id = static_cast<std::size_t>(find(line, ',') - line);
            std::memcpy(answer, line, id);
            std::memcpy(answer + id, result, sizeof result - 1);
            answer += id + sizeof result - 1;
            line = line_end + 1;
        }
        filled = static_cast<std::size_t>(end - line);
        std::memmove(lines, line, filled);
        if (!write_all(answers, answer)) return 1;
    }
}
