#include <belay/modules/status_line.hpp>

int main()
{
    belay::modules::status_line status;
    status.set("b", "\x1b[1mworld\x1b[0m");
    status.set("a", "hello");
    return status.render(7) == std::vector<std::string>{"hello \u2026"} ? 0 : 1;
}
