#ifndef BELAY_TEST_HOOKS_SLOW_HOOKS_HPP
#define BELAY_TEST_HOOKS_SLOW_HOOKS_HPP

#include <belay/core/reply.hpp>
#include <belay/hooks/registry.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::test {

// Hooks that answer when a test says so, in the order in which they were asked.
template <class E>
struct slow_hooks {
    void add(hooks::registry& hooks, std::string name,
             std::optional<std::chrono::milliseconds> timeout = {})
    {
        hooks.on<E>([this](const E&, reply<E> answer) { owed.push_back(std::move(answer)); },
                    std::move(name), timeout);
    }

    std::vector<reply<E>> owed;
};

}  // namespace belay::test

#endif
