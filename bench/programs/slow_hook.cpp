// An executable hook that takes 50 ms: reads its stdin to the end, waits, and observes.

#include "bare.hpp"

namespace {

struct seconds_and_nanoseconds {
    long seconds;
    long nanoseconds;
};

bool run()
{
    read_all();
    seconds_and_nanoseconds left{0, 50'000'000};
    while (system_call(number_of_nanosleep, reinterpret_cast<long>(&left), &left, 0) != 0) {
    }
    return observe();
}

}  // namespace
