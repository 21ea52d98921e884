#include <belay/core/reply.hpp>
#include <belay/hooks/registry.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include "../process/support.hpp"
#include "host.hpp"
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

using namespace belay;
using namespace belay::hooks;
using namespace std::chrono_literals;
using belay::test::host;
using belay::test::kept_log;
using ::test::forever;
using ::test::pids_in;
using ::test::scratch_folder;

namespace {

template <class E>
void keep(registry& hooks, std::vector<reply<E>>& owed, std::string name)
{
    hooks.on<E>([&owed](const E&, reply<E> answer) { owed.push_back(std::move(answer)); },
                std::move(name));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(shutdown_suite)

BOOST_AUTO_TEST_CASE(a_host_that_has_no_observers_at_work_need_not_wait)
{
    host h;
    auto s = h.open();
    auto drained = h.launch(h.hooks.async_drain(10s));
    BOOST_TEST(!host::is_done(drained));
    h.drain();
    BOOST_REQUIRE(host::is_done(drained));
    auto [ec, cut] = drained.get();
    BOOST_TEST(!ec);
    BOOST_TEST(cut == 0u);
}

BOOST_AUTO_TEST_CASE(a_drain_waits_for_the_observers_of_every_event_and_configuration)
{
    host h;
    std::vector<reply<turn_finished>> turns;
    std::vector<reply<pre_compact>> compactions;
    std::vector<reply<subagent_finished>> subagents;
    keep(h.hooks, turns, "a");
    keep(h.hooks, compactions, "b");
    keep(h.hooks, subagents, "c");
    h.use(R"([{"phase":"session_end","argv":["ledger"],"timeout_ms":30000}])");
    h.programs.prints["ledger"] = std::nullopt;  // never ends

    auto s = h.open_in_turn();
    BOOST_TEST(s.cancel_turn());
    BOOST_TEST(!s.begin_compaction(pre_compact::cause::manual, 1, {}));
    BOOST_TEST(!s.fail_compaction());
    auto child = s.create_subagent({.id = "s-2"}).value();
    h.finish(child.async_start(session_start::cause::start));
    h.begin(child, "dig");
    h.finish(child.async_end_turn({.text = "x"}));
    BOOST_TEST(!child.hand_back(subagent_finished::result::completed, "x"));
    BOOST_TEST(s.close(session_end::cause::shutdown));  // two ledgers
    h.drain();
    h.use("[]");

    auto drained = h.start(h.hooks.async_drain(5s));
    for (const auto* what : {"turn", "compaction", "subagent"}) {
        BOOST_TEST(!host::is_done(drained), what);
        if (!turns.empty()) {
            turns.clear();
        } else if (!compactions.empty()) {
            compactions.clear();
        } else {
            subagents.clear();
        }
        h.drain();
    }
    h.pass(4999ms);
    BOOST_TEST(!host::is_done(drained));
    h.log.records.clear();
    h.pass(1ms);
    BOOST_REQUIRE(host::is_done(drained));
    BOOST_TEST(std::get<1>(drained.get()) == 2u);
    const auto records = h.log.of("session_end_hook_failed");
    BOOST_REQUIRE(records.size() == 2u);
    BOOST_TEST(kept_log::text(records[0], "level") == "warn");
    BOOST_TEST(kept_log::text(records[0], "sessionId") == "s-1");
    BOOST_TEST(kept_log::text(records[1], "sessionId") == "s-2");
    BOOST_TEST(kept_log::text(records[0], "command") == "ledger");
    BOOST_TEST(kept_log::text(records[0], "error") == "it was cut off before it had ended");
}

BOOST_AUTO_TEST_CASE(what_is_notified_while_it_drains_is_waited_for)
{
    host h;
    std::vector<reply<session_end>> owed;
    keep(h.hooks, owed, "ledger");
    auto a = h.open({.id = "s-1"});
    auto b = h.open({.id = "s-2"});
    a.close(session_end::cause::shutdown);
    auto drained = h.start(h.hooks.async_drain(5s));
    b.close(session_end::cause::shutdown);
    h.drain();
    BOOST_REQUIRE(owed.size() == 2u);
    owed[0]();
    h.drain();
    BOOST_TEST(!host::is_done(drained));
    owed[1]();
    h.drain();
    BOOST_REQUIRE(host::is_done(drained));
    BOOST_TEST(std::get<1>(drained.get()) == 0u);
    BOOST_TEST(h.log.records.empty());
}

BOOST_AUTO_TEST_CASE(hooks_that_decide_are_not_touched)
{
    host h;
    std::vector<reply<pre_turn>> owed;
    keep(h.hooks, owed, "gate");
    auto s = h.open();
    auto beginning = h.start(s.async_begin_turn("go", {}));
    auto [ec, cut] = h.finish(h.hooks.async_drain(0s));
    BOOST_TEST(cut == 0u);
    BOOST_REQUIRE(owed.size() == 1u);
    BOOST_TEST(owed[0].awaited());
    owed[0]();
    h.drain();
    BOOST_TEST(!std::get<0>(beginning.get()));
}

BOOST_AUTO_TEST_CASE(after_a_drain_the_registry_goes_on_working)
{
    host h;
    std::vector<reply<session_end>> owed;
    keep(h.hooks, owed, "ledger");
    auto a = h.open({.id = "s-1"});
    a.close(session_end::cause::closed);
    h.drain();
    BOOST_TEST(std::get<1>(h.finish(h.hooks.async_drain(0s))) == 1u);
    owed[0]();  // too late, and dropped
    auto b = h.open({.id = "s-2"});
    b.close(session_end::cause::closed);
    h.drain();
    BOOST_REQUIRE(owed.size() == 2u);
    owed[1]();
    h.drain();
    BOOST_TEST(std::get<1>(h.finish(h.hooks.async_drain(0s))) == 0u);
    BOOST_TEST(h.log.of("session_end_hook_failed").size() == 1u);
}

BOOST_AUTO_TEST_CASE(cancelling_a_drain_cancels_nothing_else)
{
    host h;
    std::vector<reply<session_end>> owed;
    keep(h.hooks, owed, "ledger");
    auto s = h.open();
    s.close(session_end::cause::closed);
    boost::asio::cancellation_signal stop;
    std::optional<error_code> seen;
    h.hooks.async_drain(5s, boost::asio::bind_cancellation_slot(
                                stop.slot(), [&](error_code ec, std::size_t) { seen = ec; }));
    h.drain();
    stop.emit(boost::asio::cancellation_type::terminal);
    h.drain();
    BOOST_TEST((seen == error_code(errc::cancelled)));
    h.pass(1h);
    BOOST_TEST(owed.at(0).awaited());
    BOOST_TEST(h.log.records.empty());
}

BOOST_AUTO_TEST_CASE(a_drain_may_outlive_its_registry)
{
    host h;
    std::vector<reply<session_end>> owed;
    std::optional<belay::hooks::registry> hooks(std::in_place, h.io.get_executor(), h.options());
    keep(*hooks, owed, "ledger");
    hooks->notify(session_end{.session_id = "s-1"});
    auto drained = h.start(hooks->async_drain(5s));
    hooks.reset();
    h.pass(5s);
    BOOST_REQUIRE(host::is_done(drained));
    BOOST_TEST(std::get<1>(drained.get()) == 1u);
}

BOOST_AUTO_TEST_CASE(an_executable_that_is_cut_ends_with_its_process_group)
{
    scratch_folder folder;
    boost::asio::io_context io;
    kept_log log;
    registry_options options;
    options.log = &log;
    belay::hooks::registry hooks(io.get_executor(), options);
    // It does not heed SIGTERM, and has a child that does not either.
    hooks
        .on_executable({.phase = "session_end",
                        .argv = {BELAY_TEST_PROBE, "ignore-term", "mark-orphan", folder / "pid",
                                 forever, "mark", folder / "pid", "sleep", forever},
                        .timeout = 30s},
                       "acme")
        .value();
    const auto comes_true = [&](const std::function<bool()>& holds) {
        const auto patience = std::chrono::steady_clock::now() + ::test::generous;
        while (!holds() && std::chrono::steady_clock::now() < patience) {
            io.restart();
            io.run_for(5ms);
        }
        return holds();
    };
    hooks.notify(session_end{.session_id = "s-1"});
    BOOST_REQUIRE(comes_true([&] { return pids_in(folder / "pid").size() == 2u; }));
    const auto pids = pids_in(folder / "pid");
    auto drained = hooks.async_drain(0s, boost::asio::use_future);
    BOOST_REQUIRE(comes_true([&] { return host::is_done(drained); }));
    BOOST_TEST(drained.get() == 1u);
    BOOST_TEST(log.of("session_end_hook_failed").size() == 1u);
    BOOST_TEST(comes_true([&] { return std::ranges::all_of(pids, ::test::is_gone); }));
}

BOOST_AUTO_TEST_SUITE_END()
