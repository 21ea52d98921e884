// Counts allocations, so it is an executable of its own.

#include <belay/core.hpp>

#include <boost/test/unit_test.hpp>

#include "events.hpp"
#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> allocations{0};
}

// Not inlined: g++ would compare new with free.
BELAY_NOINLINE void* operator new(std::size_t size)
{
    ++allocations;
    if (void* p = std::malloc(size)) return p;
    throw std::bad_alloc();
}
BELAY_NOINLINE void operator delete(void* p) noexcept
{
    std::free(p);
}
BELAY_NOINLINE void operator delete(void* p, std::size_t) noexcept
{
    std::free(p);
}

using namespace belay;

namespace {

// As a gate, with an outcome that holds nothing of the event.
struct pass {
    static constexpr std::string_view event_name = "pass";
    using answer = std::variant<observe, block>;
    struct outcome {
        bool allowed = false;
    };
    struct fold {
        flow accept(block&&, const handler_info&, draft<pass>&)
        {
            allowed = false;
            return flow::stop;
        }
        flow fail(failure&&, const handler_info&, draft<pass>&) { return flow::stop; }
        outcome finish(draft<pass>&) && { return {allowed}; }
        bool allowed = true;
    };

    std::string text{};
    test::counted copies{};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(allocation)

BOOST_AUTO_TEST_CASE(the_counter_counts)
{
    const auto before = allocations.load();
    const auto p = std::make_unique<int>(1);
    BOOST_TEST(allocations.load() - before == 1);
}

BOOST_AUTO_TEST_CASE(a_chain_that_only_observes_allocates_nothing_and_copies_nothing)
{
    int copies = 0;
    pass event{.text = std::string(1000, 'x')};
    event.copies.copies = &copies;
    chain<pass> handlers;
    std::size_t seen = 0;
    for (int i = 0; i != 16; ++i) {
        handlers.add({.name = "a name that is too long to be stored in place"},
                     [&seen](const pass& e) { seen += e.text.size(); });
    }
    bool allowed = true;
    const auto before = allocations.load();
    for (int i = 0; i != 100; ++i) allowed = allowed && handlers.dispatch(event).allowed;
    BOOST_TEST(allocations.load() - before == 0);
    BOOST_TEST(copies == 0);
    BOOST_TEST(allowed);
    BOOST_TEST(seen == 16U * 100U * 1000U);
}

BOOST_AUTO_TEST_CASE(so_does_a_static_chain)
{
    int copies = 0;
    pass event{.text = std::string(1000, 'x')};
    event.copies.copies = &copies;
    std::size_t seen = 0;
    const auto look = [&seen](const pass& e) { seen += e.text.size(); };
    auto handlers = make_static_chain<pass>(look, look, look);
    const auto before = allocations.load();
    const bool allowed = handlers.dispatch(event).allowed;
    BOOST_TEST(allocations.load() - before == 0);
    BOOST_TEST(copies == 0);
    BOOST_TEST(allowed);
    BOOST_TEST(seen == 3000U);
}

BOOST_AUTO_TEST_SUITE_END()
