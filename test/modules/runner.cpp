#include <belay/modules/runner.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace belay;
using namespace belay::modules;
using namespace belay::test;
using namespace std::chrono_literals;
using strings = std::vector<std::string>;

namespace {

// Keeps what a handler owes.
template <class E>
struct owed {
    std::shared_ptr<std::optional<reply<E>>> kept = std::make_shared<std::optional<reply<E>>>();

    auto handler() const
    {
        // not the owner: a reply owns its handler
        return [kept = std::weak_ptr(kept)](const E&, reply<E> answer) {
            if (const auto where = kept.lock()) where->emplace(std::move(answer));
        };
    }
};

module_factory throws(std::string what)
{
    return [what](api&) { throw std::runtime_error(what); };
}

struct short_times : module_host {
    short_times() : module_host({.handler_timeout = 40ms, .shutdown_timeout = 20ms}) {}
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(runner_suite, module_host)

BOOST_AUTO_TEST_CASE(handlers_run_in_load_order_then_registration_order)
{
    strings seen;
    const auto module = [&](std::string name) {
        add(name, [&, name](api& its) {
            for (const auto* which : {"1", "2"}) {
                its.on<turn_start>(
                    [&, line = name + which](const turn_start&) { seen.push_back(line); });
            }
        });
    };
    module("a");
    module("b");
    emit(turn_start{});
    BOOST_TEST(seen == (strings{"a1", "a2", "b1", "b2"}), boost::test_tools::per_element());
    BOOST_TEST(runner->modules() == (strings{"a", "b"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_handler_for_some_tools_is_asked_about_no_other)
{
    strings seen;
    add("m", [&](api& its) {
        const auto note = [&](std::string what) {
            return [&, what](const tool_call& event) { seen.push_back(what + event.tool_name); };
        };
        its.on<tool_call>(exact("bash"), note("1 "));
        its.on<tool_call>(note("2 "), 10s);
        its.on<tool_call>(any_of({"edit", "bash"}), note("3 "), 10s);
        its.on<tool_call>(glob("re*"), note("4 "));
        its.on<tool_result>(exact("edit"), [&](const tool_result&) { seen.push_back("result"); });
    });
    for (const auto* tool : {"bash", "edit", "read"}) {
        BOOST_TEST(emit(tool_call{.tool_name = tool}).allowed);
        emit(tool_result{.tool_name = tool});
    }
    BOOST_TEST(seen == (strings{"1 bash", "2 bash", "3 bash", "2 edit", "3 edit", "result",
                                "2 read", "4 read"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_handler_is_awaited_before_the_next_is_asked)
{
    const owed<turn_start> first;
    bool asked = false;
    add("a", [&](api& its) {
        its.on<turn_start>(first.handler());
        its.on<turn_start>([&](const turn_start&) { asked = true; });
    });
    const auto ended = start(turn_start{});
    BOOST_TEST(!asked);
    (**first.kept)();
    poll();
    BOOST_TEST(asked);
    BOOST_TEST(ended->has_value());
}

BOOST_AUTO_TEST_CASE(a_module_that_fails_to_load_leaves_nothing_and_the_rest_load)
{
    const auto refused = runner->add("bad", [](api& its) {
        its.on<turn_start>([](const turn_start&) { BOOST_ERROR("handler of a failed module"); });
        its.register_command("bad", "", [](const command&) {});
        its.register_message_renderer(
            "t", [](const auto&, const auto&) { return strings{"rendered by a failed module"}; });
        throw std::runtime_error("init");
    });
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == errc::threw));
    BOOST_TEST(refused.error().message == "Failed to load extension: init");
    BOOST_TEST(told == (strings{"bad: Failed to load extension: init"}),
               boost::test_tools::per_element());
    add("good", [](api&) {});
    emit(turn_start{});
    BOOST_TEST(!runner->find_command("bad"));
    BOOST_TEST(runner->render({.custom_type = "t"}) == strings{"t"},
               boost::test_tools::per_element());
    BOOST_TEST(runner->modules() == strings{"good"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_a_failed_module_has_kept_is_of_no_use)
{
    std::optional<api> kept;
    BOOST_TEST(!runner->add("bad", [&](api& its) {
        kept = its;
        throw std::runtime_error("init");
    }));
    BOOST_CHECK_THROW(kept->on<turn_start>([](const turn_start&) {}), std::logic_error);
    BOOST_CHECK_THROW(kept->send_message("x"), std::logic_error);
}

BOOST_AUTO_TEST_CASE(a_module_without_a_factory_is_refused)
{
    const auto refused = runner->add("empty", {});
    BOOST_REQUIRE(!refused);
    BOOST_TEST((refused.error().code == errc::invalid_config));
    BOOST_TEST(refused.error().message ==
               "Extension does not export a valid factory function: empty");
    BOOST_TEST(told.size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_action_during_loading_is_an_error_that_says_so)
{
    const std::string why =
        "Failed to load extension: Extension runtime not initialized. Action methods cannot be "
        "called during extension loading.";
    for (const auto& act : {module_factory([](api& its) { its.send_message("x"); }),
                            module_factory([](api& its) { its.append_entry("x"); })}) {
        const auto refused = runner->add("early", act);
        BOOST_REQUIRE(!refused);
        BOOST_TEST(refused.error().message == why);
    }
}

BOOST_AUTO_TEST_CASE(a_module_may_be_loaded_twice)
{
    int calls = 0;
    const auto count = [&](api& its) { its.on<turn_start>([&](const turn_start&) { ++calls; }); };
    add("a", count);
    add("a", count);
    emit(turn_start{});
    BOOST_TEST(calls == 2);
}

BOOST_AUTO_TEST_CASE(a_handler_that_is_added_while_an_event_is_in_flight_sees_the_next_one)
{
    int calls = 0;
    bool added = false;
    add("a", [&](api& its) {
        its.on<turn_start>([&, its](const turn_start&) {
            if (std::exchange(added, true)) return;
            its.on<turn_start>([&](const turn_start&) { ++calls; });
        });
    });
    emit(turn_start{});
    BOOST_TEST(calls == 0);
    emit(turn_start{});
    BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_CASE(an_empty_function_is_refused)
{
    const auto with = [&](auto handler) {
        return runner->add("a", [&](api& its) { its.on<turn_start>(handler); });
    };
    const auto plain = with(std::function<void(const turn_start&)>());
    BOOST_REQUIRE(!plain);
    BOOST_TEST(plain.error().message ==
               "Failed to load extension: the handler of turn_start is an empty function");
    BOOST_TEST(!with(std::function<void(const turn_start&, const handler_context&)>()));
    BOOST_TEST(!runner->has_handlers<turn_start>());
}

BOOST_AUTO_TEST_CASE(a_module_may_emit_from_its_own_handler)
{
    strings seen;
    add("a", [&](api& its) {
        its.on<turn_start>([&](const turn_start&) {
            runner->async_emit(turn_end{}, [&](error_code, const notified&) {
                seen.emplace_back("turn_end is over");
            });
            seen.emplace_back("turn_start");
        });
        its.on<turn_end>([&](const turn_end&) { seen.emplace_back("turn_end"); });
    });
    emit(turn_start{});
    BOOST_TEST(seen == (strings{"turn_end", "turn_start", "turn_end is over"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_in_flight_outlives_its_runner)
{
    const owed<tool_call> asks;
    add("a", [&](api& its) { its.on<tool_call>(asks.handler()); });
    const auto ended = start(tool_call{});
    runner.reset();
    (**asks.kept)(block{"late"});
    poll();
    BOOST_REQUIRE(ended->has_value());
    BOOST_TEST((*ended)->reason == "late");
}

BOOST_AUTO_TEST_CASE(a_handle_that_outlives_its_runner_says_that_it_is_gone)
{
    std::optional<api> kept;
    std::optional<handler_context> here;
    add("a", [&](api& its) {
        kept = its;
        its.on<turn_start>([&](const turn_start&, const handler_context& where) { here = where; });
    });
    emit(turn_start{});
    runner.reset();
    BOOST_CHECK_THROW(kept->send_message("x"), std::logic_error);
    BOOST_CHECK_THROW(kept->on<turn_start>([](const turn_start&) {}), std::logic_error);
    BOOST_CHECK_THROW((void)here->cwd(), std::logic_error);
    bool failed = false;
    here->ui().async_confirm("t", "m",
                             [&](const std::exception_ptr& why, bool) { failed = why != nullptr; });
    poll();
    BOOST_TEST(failed);
}

BOOST_AUTO_TEST_CASE(an_emission_can_be_cancelled_and_nobody_is_blamed)
{
    const owed<tool_call> asks;
    add("a", [&](api& its) { its.on<tool_call>(asks.handler()); });
    asio::cancellation_signal stop;
    std::optional<error_code> ended;
    bool allowed = true;
    runner->async_emit(tool_call{}, asio::bind_cancellation_slot(
                                        stop.slot(), [&](error_code ec, tool_call::outcome said) {
                                            ended = ec;
                                            allowed = said.allowed;
                                        }));
    poll();
    stop.emit(asio::cancellation_type::terminal);
    poll();
    BOOST_REQUIRE(ended);
    BOOST_TEST((*ended == errc::cancelled));
    BOOST_TEST(!allowed);
    BOOST_TEST(errors.empty());
}

BOOST_AUTO_TEST_CASE(listeners_are_called_in_order_and_a_throwing_one_is_contained)
{
    strings heard;
    runner->on_error([&](const handler_error&) -> void {
        heard.emplace_back("first");
        throw std::runtime_error("a listener");
    });
    const auto second = runner->on_error([&](const handler_error& why) {
        heard.push_back("second " + why.message);
        BOOST_TEST((why.code == errc::threw));
    });
    add("a", [](api& its) {
        its.on<turn_start>([](const turn_start&) { throw std::runtime_error("x"); });
    });
    emit(turn_start{});
    BOOST_TEST(heard == (strings{"first", "second x"}), boost::test_tools::per_element());

    heard.clear();
    second.unsubscribe();
    second.unsubscribe();
    emit(turn_start{});
    BOOST_TEST(heard == strings{"first"}, boost::test_tools::per_element());

    runner.reset();
    second.unsubscribe();
}

BOOST_AUTO_TEST_CASE(a_listener_that_an_earlier_one_unsubscribes_is_not_called_any_more)
{
    error_subscription second;
    runner->on_error([&](const handler_error&) { second.unsubscribe(); });
    second = runner->on_error(
        [](const handler_error&) { BOOST_ERROR("called after it was unsubscribed"); });
    add("a", [](api& its) {
        its.on<turn_start>([](const turn_start&) { throw std::runtime_error("x"); });
    });
    emit(turn_start{});
    BOOST_TEST(errors.size() == 1u);
}

BOOST_AUTO_TEST_CASE(errors_are_heard_when_they_happen)
{
    strings seen;
    runner->on_error([&](const handler_error&) { seen.emplace_back("error"); });
    add("a", [&](api& its) {
        its.on<turn_start>([](const turn_start&) { throw std::runtime_error("x"); });
        its.on<turn_start>([&](const turn_start&) { seen.emplace_back("next"); });
    });
    emit(turn_start{});
    BOOST_TEST(seen == (strings{"error", "next"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_channel_that_throws_is_contained)
{
    modules::runner other(io.get_executor(), {.operator_channel = [](const operator_notice&) {
                              throw std::runtime_error("the channel");
                          }});
    BOOST_TEST(!other.add("bad", throws("init")));
}

BOOST_AUTO_TEST_CASE(a_listener_may_remove_another_and_the_rest_still_hear)
{
    strings heard;
    error_subscription second;
    runner->on_error([&](const handler_error&) {
        heard.emplace_back("first");
        second.unsubscribe();
    });
    second = runner->on_error([&](const handler_error&) { heard.emplace_back("second"); });
    runner->on_error([&](const handler_error&) { heard.emplace_back("third"); });
    add("a", [](api& its) {
        its.on<turn_start>([](const turn_start&) { throw std::runtime_error("x"); });
    });
    emit(turn_start{});
    heard.clear();
    emit(turn_start{});
    BOOST_TEST(heard == (strings{"first", "third"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_failed_module_registers_nothing_afterwards)
{
    std::optional<api> kept;
    BOOST_TEST(!runner->add("bad", [&](api& its) {
        kept = its;
        throw std::runtime_error("init");
    }));
    BOOST_CHECK_THROW(kept->register_command("c", "", [](const command&) {}), std::logic_error);
    BOOST_CHECK_THROW(
        kept->register_message_renderer("t", [](const auto&, const auto&) { return strings{"x"}; }),
        std::logic_error);
}

BOOST_AUTO_TEST_CASE(a_shutdown_can_be_cancelled)
{
    const owed<session_shutdown> slow;
    add("a", [&](api& its) { its.on<session_shutdown>(slow.handler()); });
    asio::cancellation_signal stop;
    std::optional<error_code> ended;
    runner->async_emit(session_shutdown{},
                       asio::bind_cancellation_slot(
                           stop.slot(), [&](error_code ec, const notified&) { ended = ec; }));
    poll();
    BOOST_TEST(!ended.has_value());
    stop.emit(asio::cancellation_type::terminal);
    poll();
    BOOST_REQUIRE(ended.has_value());
    BOOST_TEST((*ended == errc::cancelled));
}

BOOST_AUTO_TEST_CASE(the_hosts_own_sink_sees_every_handler_of_events_and_commands)
{
    struct sink final : trace_sink {
        void on_span(const trace_span& span) noexcept override
        {
            seen.push_back(std::string(span.event) + " " + span.handler.name +
                           (span.handler.from == origin::extension ? "" : " of the config") +
                           (span.failed != nullptr ? " failed" : ""));
        }
        strings seen;
    } spans;
    module_host it({.trace = &spans});
    it.add("a", [](api& its) {
        its.on<turn_start>([](const turn_start&) { throw std::runtime_error("x"); });
        its.on<turn_start>([](const turn_start&) {});
        its.on<session_shutdown>([](const session_shutdown&) {});
        its.register_command("c", "", [](const command&) {});
    });
    it.emit(turn_start{});
    it.runner->async_run_command("/c", [](error_code, bool) {});
    it.poll();
    it.emit(session_shutdown{});
    BOOST_TEST(spans.seen == (strings{"turn_start a failed", "turn_start a", "command command:c",
                                      "session_shutdown a"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(without_a_channel_a_failure_is_only_returned)
{
    modules::runner other(io.get_executor());
    BOOST_TEST(!other.add("bad", throws("init")));
}

BOOST_AUTO_TEST_CASE(what_a_failed_module_registered_is_destroyed_also_if_it_keeps_its_api)
{
    const auto held = std::make_shared<int>();
    std::optional<api> kept;
    BOOST_TEST(!runner->add("bad", [&](api& its) {
        kept = its;
        its.on<turn_start>([held](const turn_start&) {});
        its.register_command("c", "", [held](const command&) {});
        its.register_message_renderer(
            "t", [held](const auto&, const auto&) { return std::optional<strings>(); });
        BOOST_TEST(held.use_count() > 3);
        throw std::runtime_error("init");
    }));
    BOOST_TEST(held.use_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(runner_time, short_times)

BOOST_AUTO_TEST_CASE(a_late_tool_call_handler_blocks_with_a_reason_that_names_it)
{
    const owed<tool_call> asks;
    add("/ext/a.so", [&](api& its) { its.on<tool_call>(asks.handler()); });
    add("b", [](api& its) {
        its.on<tool_call>([](const tool_call&) { BOOST_ERROR("asked after a timeout"); });
    });
    const auto ended = start(tool_call{});
    time.advance(39ms);
    poll();
    BOOST_TEST(!ended->has_value());
    time.advance(1ms);
    poll();
    BOOST_REQUIRE(ended->has_value());
    BOOST_TEST(!(*ended)->allowed);
    BOOST_TEST((*ended)->reason == "Extension /ext/a.so timed out after 40ms");
    BOOST_TEST(errors == (strings{"/ext/a.so | tool_call | /ext/a.so timed out after 40ms"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(elsewhere_a_late_handler_has_no_opinion_and_each_has_its_own_time)
{
    const owed<tool_result> first;
    const owed<tool_result> second;
    add("a", [&](api& its) {
        its.on<tool_result>(first.handler());
        its.on<tool_result>(second.handler());
    });
    const auto ended = start(tool_result{});
    time.advance(40ms);
    poll();
    BOOST_TEST(errors.size() == 1u);
    time.advance(39ms);
    poll();
    BOOST_TEST(!ended->has_value());
    (**second.kept)(tool_result::result{.is_error = true});
    (**first.kept)(tool_result::result{.is_error = false});  // late: dropped
    poll();
    BOOST_REQUIRE(ended->has_value());
    BOOST_TEST((*ended)->is_error);
}

BOOST_AUTO_TEST_CASE(a_handler_may_have_a_time_of_its_own)
{
    const owed<tool_call> asks;
    add("a", [&](api& its) { its.on<tool_call>(asks.handler(), 1h); });
    const auto ended = start(tool_call{});
    time.advance(59min);
    poll();
    BOOST_TEST(!ended->has_value());
    (**asks.kept)();
    poll();
    BOOST_REQUIRE(ended->has_value());
    BOOST_TEST((*ended)->allowed);
}

BOOST_AUTO_TEST_CASE(shutdown_runs_all_at_once_within_its_own_short_time)
{
    const owed<session_shutdown> first;
    const owed<session_shutdown> second;
    bool third = false;
    add("a", [&](api& its) { its.on<session_shutdown>(first.handler(), 1h); });
    add("b", [&](api& its) {
        its.on<session_shutdown>(second.handler());
        its.on<session_shutdown>([&](const session_shutdown&) { third = true; });
    });
    const auto ended = start(session_shutdown{});
    BOOST_TEST(first.kept->has_value());
    BOOST_TEST(second.kept->has_value());
    BOOST_TEST(third);
    (**second.kept)();
    poll();
    BOOST_TEST(!ended->has_value());
    time.advance(20ms);  // not the hour that it asked for
    poll();
    BOOST_REQUIRE(ended->has_value());
    BOOST_TEST((*ended)->failures.size() == 1u);
    BOOST_TEST(errors == (strings{"a | session_shutdown | a timed out after 20ms"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_cancelled_shutdown_has_no_outcome_and_its_handlers_go_on)
{
    const owed<session_shutdown> asks;
    add("a", [&](api& its) {
        its.on<session_shutdown>([](const session_shutdown&) { throw std::runtime_error("x"); });
        its.on<session_shutdown>(asks.handler());
    });
    asio::cancellation_signal stop;
    std::optional<error_code> ended;
    runner->async_emit(session_shutdown{},
                       asio::bind_cancellation_slot(stop.slot(), [&](error_code ec, notified said) {
                           ended = ec;
                           BOOST_TEST(said.failures.empty());
                       }));
    poll();
    stop.emit(asio::cancellation_type::terminal);
    poll();
    BOOST_REQUIRE(ended);
    BOOST_TEST((*ended == errc::cancelled));
    BOOST_TEST(errors.size() == 1u);
    time.advance(20ms);
    poll();
    BOOST_TEST(errors.size() == 2u);  // it was late all the same
    asks.kept->reset();
}

BOOST_AUTO_TEST_CASE(the_documented_times_are_the_defaults)
{
    BOOST_TEST((runner_options().handler_timeout == 30s));
    BOOST_TEST((runner_options().shutdown_timeout == 2s));
}

// Departure 16: it has timed out, also when its answer then arrives.
BOOST_AUTO_TEST_CASE(a_handler_that_blocks_the_thread_past_its_time_has_timed_out)
{
    add("a", [&](api& its) {
        its.on<tool_call>([&](const tool_call&) {
            time.advance(41ms);
            return block{"too late"};
        });
        its.on<tool_result>([&](const tool_result&) {
            time.advance(41ms);
            return tool_result::result{.is_error = true};
        });
        its.on<session_before_switch>([&](const session_before_switch&) {
            time.advance(41ms);
            return session_before_switch::result{.cancel = true};
        });
    });
    BOOST_TEST(emit(tool_call{}).reason == "Extension a timed out after 40ms");
    BOOST_TEST(!emit(tool_result{}).overridden);
    const auto said = emit(session_before_switch{});
    BOOST_TEST(!said.cancelled);
    BOOST_TEST(!said.said.has_value());
    BOOST_TEST(errors == (strings{"a | tool_call | a timed out after 40ms",
                                  "a | tool_result | a timed out after 40ms",
                                  "a | session_before_switch | a timed out after 40ms"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_handler_that_blocks_the_thread_within_its_time_is_heard)
{
    add("a", [&](api& its) {
        its.on<tool_call>([&](const tool_call&) {
            time.advance(39ms);
            return block{"in time"};
        });
    });
    BOOST_TEST(emit(tool_call{}).reason == "in time");
    BOOST_TEST(errors.empty());
}

BOOST_AUTO_TEST_CASE(a_shutdown_waits_for_each_for_as_long_as_it_may_take)
{
    module_host patient({.shutdown_timeout = 100h});
    const owed<session_shutdown> slow;
    patient.add("a", [&](api& its) { its.on<session_shutdown>(slow.handler()); });
    const auto ended = patient.start(session_shutdown{});
    patient.time.advance(99h);
    patient.poll();
    BOOST_TEST(!ended->has_value());
    (**slow.kept)();
    patient.poll();
    BOOST_REQUIRE(ended->has_value());
    BOOST_TEST((*ended)->failures.empty());
}

BOOST_AUTO_TEST_SUITE_END()
