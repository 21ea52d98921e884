// A hook that lives on and observes: {"id":N,"result":{"power":"observe"}} for each line {"id":N,...}.

#include <cstring>
#include <string>
#include <string_view>
#include <unistd.h>

int main()
{
    constexpr std::string_view before = "{\"id\":";
    constexpr std::string_view after = ",\"result\":{\"power\":\"observe\"}}\n";
    std::string input;
    std::string output;
    char buffer[65536];
    for (;;) {
        const auto got = ::read(0, buffer, sizeof buffer);
        if (got <= 0) return got < 0 ? 1 : 0;
        input.append(buffer, static_cast<std::size_t>(got));
        std::size_t begin = 0;
        for (std::size_t end; (end = input.find('\n', begin)) != input.npos; begin = end + 1) {
            const auto line = std::string_view(input).substr(begin, end - begin);
            if (!line.starts_with(before)) return 1;
            const auto id = line.substr(before.size(), line.find(',') - before.size());
            output.append(before).append(id).append(after);
        }
        input.erase(0, begin);
        for (std::size_t written = 0; written != output.size();) {
            const auto count = ::write(1, output.data() + written, output.size() - written);
            if (count < 0) return 1;
            written += static_cast<std::size_t>(count);
        }
        output.clear();
    }
}
