// The executable that questions start: reads its stdin to the end, and observes.

#include <unistd.h>

int main()
{
    char buffer[4096];
    while (::read(0, buffer, sizeof buffer) > 0) {
    }
    constexpr char answer[] = "{\"power\":\"observe\"}";
    return ::write(1, answer, sizeof answer - 1) == sizeof answer - 1 ? 0 : 1;
}
