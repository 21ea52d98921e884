// Reads its stdin to the end, and observes.

#include "bare.hpp"

namespace {

bool run()
{
    read_all();
    return observe();
}

}  // namespace
