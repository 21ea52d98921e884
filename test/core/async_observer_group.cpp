#include <belay/core/observer_group.hpp>
#include <belay/core/observers.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include "../common/manual_clock.hpp"
#include "events.hpp"
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace belay;
using namespace belay::test;
using namespace std::chrono_literals;

namespace {

// Another event that only notifies.
struct bell {
    static constexpr std::string_view event_name = "bell";
    using answer = std::variant<observe>;
    using fold = notify_fold<bell>;
};

struct fixture {
    asio::io_context io;
    manual_clock time;
    observer_group group{io.get_executor(), time};
    observers<note> notes{group};
    observers<bell> bells{group};

    std::vector<reply<note>> owed;
    std::vector<failure> failures;

    // An observer of notes that keeps its replies.
    void add_slow(std::string name = "slow")
    {
        notes.add({.name = std::move(name)},
                  [this](const note&, reply<note> answer) { owed.push_back(std::move(answer)); });
    }

    void tell()
    {
        notes.notify({}, [this](const failure& why) { failures.push_back(why); });
    }

    void run()
    {
        io.restart();
        io.poll();
    }

    struct drained {
        std::optional<error_code> ec;
        std::size_t cut = 99;
    };
    auto into(drained& got)
    {
        return [&got](error_code ec, std::size_t cut) {
            BOOST_TEST(!got.ec.has_value());
            got = {ec, cut};
        };
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(observer_group_suite, fixture)

BOOST_AUTO_TEST_CASE(without_observers_a_drain_ends_at_once_but_never_in_the_callers_stack)
{
    for (const auto budget : {0ms, -5ms, 1000ms}) {
        drained got;
        group.async_drain(budget, into(got));
        BOOST_TEST(!got.ec.has_value());
        run();
        BOOST_TEST((got.ec == error_code()));
        BOOST_TEST(got.cut == 0U);
        BOOST_TEST(!time.next().has_value());
    }
}

BOOST_AUTO_TEST_CASE(those_that_run_are_counted_whatever_their_event)
{
    add_slow();
    notes.add({}, [](const note&) {});
    std::optional<reply<bell>> ringing;
    bells.add({}, [&](const bell&, reply<bell> answer) { ringing.emplace(std::move(answer)); });
    BOOST_TEST(group.running() == 0U);
    tell();
    bells.notify({});
    BOOST_TEST(group.running() == 3U);  // also those that have not started
    run();
    BOOST_TEST(group.running() == 2U);
    owed[0]();
    (*ringing)();
    run();
    BOOST_TEST(group.running() == 0U);
}

BOOST_AUTO_TEST_CASE(a_drain_ends_as_soon_as_nobody_runs_also_those_that_were_told_meanwhile)
{
    add_slow();
    tell();
    drained got;
    group.async_drain(1h, into(got));
    run();
    tell();
    run();
    BOOST_REQUIRE(owed.size() == 2U);
    owed[0]();
    run();
    BOOST_TEST(!got.ec.has_value());
    owed[1]();
    run();
    BOOST_TEST((got.ec == error_code()));
    BOOST_TEST(got.cut == 0U);
    BOOST_TEST(failures.empty());
    BOOST_TEST(!time.next().has_value());  // nothing is left behind
}

BOOST_AUTO_TEST_CASE(those_that_still_run_at_the_budget_are_cut_and_have_failed)
{
    add_slow("a");
    add_slow("b");
    tell();
    run();
    int told = 0;
    for (auto& one : owed) {
        one.get_cancellation_slot().assign([&](asio::cancellation_type) { ++told; });
    }
    drained got;
    std::size_t reported = 0;
    group.async_drain(2s, [&, done = into(got)](error_code ec, std::size_t cut) {
        reported = failures.size();  // before the drain ends
        done(ec, cut);
    });
    run();
    owed[0]();
    run();
    time.advance(1999ms);
    run();
    BOOST_TEST(!got.ec.has_value());
    BOOST_TEST(told == 0);
    time.advance(1ms);
    run();
    BOOST_TEST((got.ec == error_code()));
    BOOST_TEST(got.cut == 1U);
    BOOST_TEST(told == 1);
    BOOST_TEST(reported == 1U);
    BOOST_REQUIRE(failures.size() == 1U);
    BOOST_TEST((failures[0].code == errc::cancelled));
    BOOST_TEST(failures[0].handler.name == "b");
    BOOST_TEST(failures[0].handler.position == 2U);
    BOOST_TEST(failures[0].message == "it was cut off before it had ended");

    BOOST_TEST(!owed[1].awaited());  // what comes now is dropped
    owed[1]();
    run();
    BOOST_TEST(failures.size() == 1U);
}

BOOST_AUTO_TEST_CASE(without_a_budget_all_are_cut_at_once_also_those_that_have_not_started)
{
    add_slow();
    int started = 0;
    notes.add({.name = "unstarted"}, [&](const note&) { ++started; });
    tell();
    run();
    drained got;
    asio::post(io, [&] {
        tell();  // neither of these starts
        group.async_drain(0ms, into(got));
    });
    run();
    BOOST_TEST((got.ec == error_code()));
    BOOST_TEST(got.cut == 3U);
    BOOST_TEST(failures.size() == 3U);
    BOOST_TEST(started == 1);
    BOOST_TEST(owed.size() == 1U);
    BOOST_TEST(group.running() == 0U);
}

BOOST_AUTO_TEST_CASE(the_group_goes_on_after_a_drain)
{
    add_slow();
    tell();
    drained first;
    group.async_drain(0ms, into(first));
    run();
    BOOST_TEST(first.cut == 1U);
    tell();
    run();
    BOOST_TEST(group.running() == 1U);
    drained second;
    group.async_drain(1s, into(second));
    owed.back()();
    run();
    BOOST_TEST((second.ec == error_code()));
    BOOST_TEST(second.cut == 0U);
}

BOOST_AUTO_TEST_CASE(who_is_told_after_the_cut_is_not_waited_for)
{
    add_slow();
    notes.notify({}, [&](const failure&) { tell(); });
    run();
    drained got;
    group.async_drain(0ms, into(got));
    run();
    BOOST_TEST(got.cut == 1U);
    BOOST_TEST((got.ec == error_code()));
    BOOST_TEST(group.running() == 1U);
}

BOOST_AUTO_TEST_CASE(cancelling_a_drain_ends_no_observer)
{
    add_slow();
    tell();
    asio::cancellation_signal stop;
    drained got;
    group.async_drain(1s, asio::bind_cancellation_slot(stop.slot(), into(got)));
    run();
    stop.emit(asio::cancellation_type::partial);
    run();
    BOOST_TEST((got.ec == error_code(errc::cancelled)));
    BOOST_TEST(got.cut == 0U);
    BOOST_TEST(group.running() == 1U);
    time.advance(1h);
    run();
    BOOST_TEST(owed[0].awaited());
    owed[0]();
    run();
    BOOST_TEST(failures.empty());
}

BOOST_AUTO_TEST_CASE(drains_overlap_and_each_counts_what_was_cut_while_it_lasted)
{
    add_slow();
    tell();
    run();
    drained patient;
    drained hasty;
    drained late;
    group.async_drain(1h, into(patient));
    run();
    group.async_drain(0ms, into(hasty));
    run();
    BOOST_TEST(hasty.cut == 1U);
    BOOST_TEST(patient.cut == 1U);
    group.async_drain(0ms, into(late));
    run();
    BOOST_TEST(late.cut == 0U);
}

BOOST_AUTO_TEST_CASE(an_observer_that_is_removed_or_whose_list_is_gone_still_counts)
{
    std::optional<observers<note>> others(std::in_place, group);
    const auto id = others->add(
        {}, [this](const note&, reply<note> answer) { owed.push_back(std::move(answer)); });
    others->notify({}, [this](const failure& why) { failures.push_back(why); });
    run();
    others->remove(id);
    others.reset();
    drained got;
    group.async_drain(1s, into(got));
    run();
    BOOST_TEST(!got.ec.has_value());
    time.advance(1s);
    run();
    BOOST_TEST(got.cut == 1U);
    BOOST_TEST(failures.size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_observer_may_start_a_drain_that_cuts_it)
{
    std::optional<reply<note>> kept;
    drained got;
    notes.add({}, [&](const note&, reply<note> answer) {
        kept.emplace(std::move(answer));
        group.async_drain(0ms, into(got));
    });
    tell();
    run();
    BOOST_TEST(got.cut == 1U);
    BOOST_TEST(failures.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_budget_beyond_the_end_of_time_never_passes)
{
    add_slow();
    tell();
    drained got;
    group.async_drain(std::chrono::milliseconds::max(), into(got));
    run();
    time.advance(24h * 365 * 100);
    run();
    BOOST_TEST(!got.ec.has_value());
    owed[0]();
    run();
    BOOST_TEST(got.cut == 0U);
}

BOOST_AUTO_TEST_CASE(a_drain_completes_on_the_executor_of_its_handler)
{
    asio::io_context elsewhere;
    drained got;
    group.async_drain(0ms, asio::bind_executor(elsewhere.get_executor(), into(got)));
    run();
    BOOST_TEST(!got.ec.has_value());
    elsewhere.run();
    BOOST_TEST((got.ec == error_code()));
}

BOOST_AUTO_TEST_CASE(who_is_told_of_a_failure_and_throws_does_not_hold_up_the_drain)
{
    notes.add({.name = "broken"}, [](const note&) { throw std::runtime_error("no"); });
    notes.notify({}, [](const failure&) { throw std::logic_error("nor the log"); });
    bool completed = false;
    group.async_drain(1h, [&](error_code ec, std::size_t cut) {
        completed = true;
        BOOST_TEST(!ec);
        BOOST_TEST(cut == 0u);
    });
    io.restart();
    BOOST_CHECK_THROW(io.poll(), std::logic_error);
    run();
    BOOST_TEST(completed);
}

BOOST_AUTO_TEST_CASE(the_event_loop_may_die_while_it_is_drained)
{
    for (const bool started : {true, false}) {
        auto loop = std::make_unique<asio::io_context>();
        observer_group doomed(loop->get_executor());
        observers<note> watchers(doomed);
        std::optional<reply<note>> kept;
        watchers.add({}, [&](const note&, reply<note> answer) { kept.emplace(std::move(answer)); });
        watchers.notify({});
        loop->poll();
        auto draining = doomed.async_drain(1h, asio::use_future);
        if (started) loop->poll();
        loop.reset();
        BOOST_CHECK_THROW(draining.get(), std::future_error);
        BOOST_TEST(doomed.running() == 0U);
        kept.reset();
    }
}

BOOST_AUTO_TEST_CASE(answers_and_cuts_may_race_on_a_pool)
{
    constexpr std::size_t events = 200;
    asio::thread_pool pool(3);
    observer_group racing(pool.get_executor());
    observers<note> watchers(racing);
    std::mutex mutex;
    std::vector<reply<note>> kept;
    std::atomic<std::size_t> reported{0};
    watchers.add({}, [&](const note&, reply<note> answer) {
        const std::lock_guard lock(mutex);
        kept.push_back(std::move(answer));
    });
    std::size_t cut = 0;
    for (std::size_t i = 0; i != events; ++i) {
        watchers.notify({}, [&](const failure& why) {
            if (why.code == errc::cancelled) ++reported;
        });
        if (i % 10 == 0) cut += racing.async_drain(0ms, asio::use_future).get();
        std::vector<reply<note>> taken;
        {
            const std::lock_guard lock(mutex);
            taken.swap(kept);
        }
        for (auto& one : taken) one();
    }
    cut += racing.async_drain(0ms, asio::use_future).get();
    BOOST_TEST(racing.running() == 0U);
    BOOST_TEST(cut == reported.load());
    kept.clear();
    pool.join();
}

BOOST_AUTO_TEST_SUITE_END()
