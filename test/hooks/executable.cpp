#include <belay/core/async_chain.hpp>
#include <belay/core/observers.hpp>
#include <belay/hooks/executable.hpp>
#include <belay/hooks/protocol/vera.hpp>
#include <belay/process/run.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include "../common/manual_clock.hpp"
#include "../process/support.hpp"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

using namespace belay;
using namespace belay::hooks;
using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace json = boost::json;
using belay::test::manual_clock;
using ::test::all_gone;
using ::test::forever;
using ::test::generous;
using ::test::pids_in;
using ::test::scratch_folder;

namespace {

const std::string observed = R"({"power":"observe"})";

// The probe as a hook.
template <class E>
executable probe_for(std::vector<std::string> modes, std::chrono::milliseconds timeout = 20s)
{
    modes.insert(modes.begin(), BELAY_TEST_PROBE);
    auto made = check({.phase = std::string(E::event_name), .argv = modes, .timeout = timeout});
    BOOST_REQUIRE(made.has_value());
    return *made;
}

struct fixture {
    asio::io_context context;

    template <class E>
    outcome_of<E> run(executable what, executable_options how = {}, const E& event = {})
    {
        async_chain<E> chain(context.get_executor());
        chain.add({.name = what.name}, executable_handler<E>(context.get_executor(), what, how));
        std::optional<outcome_of<E>> concluded;
        chain.async_dispatch(event, [&](error_code ec, outcome_of<E> outcome) {
            BOOST_TEST(!ec);
            concluded = std::move(outcome);
        });
        context.restart();
        context.run();
        BOOST_REQUIRE(concluded.has_value());
        return *std::move(concluded);
    }

    // Runs the event loop until it holds; false if that takes longer than anything should, but less
    // than a program's own timeout here.
    bool comes_true(const std::function<bool()>& holds)
    {
        const auto patience = std::chrono::steady_clock::now() + generous;
        context.restart();
        while (!holds() && std::chrono::steady_clock::now() < patience) {
            context.run_for(5ms);
            context.restart();
        }
        return holds();
    }

    bool all_end(const std::vector<pid_t>& pids)
    {
        return comes_true([&] { return std::ranges::all_of(pids, ::test::is_gone); });
    }

    // How the hook failed.
    template <class E>
    failure failed(executable what, executable_options how = {}, const E& event = {})
    {
        auto outcome = run<E>(std::move(what), std::move(how), event);
        BOOST_REQUIRE(outcome.failed.has_value());
        return *outcome.failed;
    }

    // What the program wrote, whatever the protocol thinks of it.
    template <class E>
    std::string output(executable what, executable_options how = {}, const E& event = {})
    {
        std::string out;
        how.run = [&](asio::any_io_executor executor, process::invocation invocation,
                      std::string input, auto done) {
            process::async_run(
                std::move(executor), std::move(invocation), std::move(input),
                [&out, done = std::move(done)](error_code ec, process::exit_report report) mutable {
                    out = report.out;
                    std::move(done)(ec, std::move(report));
                });
        };
        std::ignore = run<E>(std::move(what), std::move(how), event);
        return out;
    }
};

pre_tool_use removal()
{
    pre_tool_use event;
    event.call = {.id = "call_1", .name = "bash", .input = {{"command", "rm treasure"}}};
    event.session_id = "sess_1";
    event.workspace = "/nest";
    return event;
}

// A removal whose payload has so many bytes.
pre_tool_use removal_of_size(std::size_t bytes)
{
    auto event = removal();
    const protocol_for<pre_tool_use>& protocol = vera();
    event.workspace += std::string(bytes - protocol.payload(event, "")->size(), 'x');
    return event;
}

// A protocol with one behaviour for every phase.
enum class behaviour { skips, throws };

template <class Base, behaviour Does, class... E>
struct uniform_phases;

template <class Base, behaviour Does>
struct uniform_phases<Base, Does> : Base {};

template <class Base, behaviour Does, class E, class... Rest>
struct uniform_phases<Base, Does, E, Rest...> : uniform_phases<Base, Does, Rest...> {
    using uniform_phases<Base, Does, Rest...>::payload;
    using uniform_phases<Base, Does, Rest...>::answer;

    std::optional<std::string> payload(const E&, std::string_view) const override
    {
        return Does == behaviour::skips ? std::nullopt : std::optional<std::string>("{}");
    }
    checked<typename E::answer> answer(const E&, std::string_view,
                                       const process::exit_report&) const override
    {
        throw std::runtime_error("no such answer");
    }
};

template <behaviour Does, class Events>
struct uniform_base;
template <behaviour Does, class... E>
struct uniform_base<Does, std::tuple<E...>> {
    using type = uniform_phases<protocol, Does, E...>;
};

template <behaviour Does>
struct uniform_protocol final : uniform_base<Does, phase_events>::type {
    std::string_view name() const noexcept override { return "mine"; }
    std::span<const phase_name> phases() const noexcept override
    {
        static constexpr phase_name names[] = {{"x", phase::pre_tool_use}};
        return names;
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(executable_suite, fixture)

BOOST_AUTO_TEST_CASE(what_a_program_says_is_its_answer)
{
    const auto blocked = run<pre_tool_use>(
        probe_for<pre_tool_use>({"json", R"({"power":"block","reason":"Leave it."})"}));
    BOOST_REQUIRE(std::holds_alternative<block>(blocked.decision));
    BOOST_TEST(std::get<block>(blocked.decision).reason == "Leave it.");
    BOOST_TEST(!blocked.failed.has_value());
    BOOST_TEST(blocked.decided_by == "probe");

    const auto changed = run<pre_turn>(probe_for<pre_turn>(
        {"json", R"({"power":"mutate","context":"The crow buried it.","model":"big"})"}));
    BOOST_REQUIRE(changed.contexts.size() == 1U);
    BOOST_TEST((changed.model == "big"));
}

BOOST_AUTO_TEST_CASE(stdin_is_the_payload_and_nothing_more)
{
    const protocol_for<pre_tool_use>& protocol = vera();
    BOOST_TEST(output<pre_tool_use>(probe_for<pre_tool_use>({"echo"}), {}, removal()) ==
               *protocol.payload(removal(), "pre_tool_use"));
}

BOOST_AUTO_TEST_CASE(each_hook_gets_the_event_as_the_last_one_left_it)
{
    async_chain<pre_tool_use> chain(context.get_executor());
    const auto add = [&](std::vector<std::string> modes) {
        chain.add({.name = "probe"},
                  executable_handler<pre_tool_use>(context.get_executor(),
                                                   probe_for<pre_tool_use>(std::move(modes))));
    };
    add({"json", R"({"power":"mutate","input":{"command":"ls"}})"});
    add({"json", observed});
    add({"json", R"({"power":"replace","result":{"content":[{"type":"text","text":"t"}],)"
                 R"("isError":false}})"});
    add({"exit", "9"});
    std::optional<pre_tool_use::outcome> concluded;
    chain.async_dispatch(removal(),
                         [&](error_code, auto outcome) { concluded = std::move(outcome); });
    context.run();
    BOOST_REQUIRE(concluded.has_value());
    BOOST_TEST(std::holds_alternative<pre_tool_use::replace>(concluded->decision));
    BOOST_REQUIRE(concluded->input.has_value());
    BOOST_TEST(concluded->input->at("command") == "ls");
}

BOOST_AUTO_TEST_CASE(an_input_of_256_kib_is_given_and_a_larger_one_starts_nothing)
{
    int started = 0;
    const executable_options counting{.run = [&](asio::any_io_executor executor,
                                                 process::invocation invocation, std::string input,
                                                 auto done) {
        ++started;
        BOOST_TEST(input.size() == 262144U);
        process::async_run(std::move(executor), std::move(invocation), std::move(input),
                           std::move(done));
    }};
    const auto hook = probe_for<pre_tool_use>({"read-all", "exit", "7"});
    BOOST_TEST((failed(hook, counting, removal_of_size(262144)).code == errc::exited));
    BOOST_TEST(started == 1);

    const auto why = failed(hook, counting, removal_of_size(262145));
    BOOST_TEST((why.code == errc::input_too_large));
    BOOST_TEST(why.message == "Command hook input exceeded its byte bound");
    BOOST_TEST(started == 1);
}

// Departure 3.
BOOST_AUTO_TEST_CASE(a_program_that_never_reads_is_judged_by_its_answer)
{
    const auto outcome = run<pre_tool_use>(probe_for<pre_tool_use>({"noread", "json", observed}),
                                           {}, removal_of_size(200000));
    BOOST_TEST(!outcome.failed.has_value());
}

BOOST_AUTO_TEST_CASE(what_goes_wrong_is_said_in_the_documents_words)
{
    struct {
        std::vector<std::string> modes;
        std::chrono::milliseconds timeout;
        errc code;
        std::string message;
    } const wrongs[] = {
        {{"exit", "3"}, 20s, errc::exited, "Command hook exited with status 3"},
        {{"json", observed, "exit", "2"}, 20s, errc::exited, "Command hook exited with status 2"},
        {{"die", "KILL"}, 20s, errc::signalled, "Command hook exited with status unknown"},
        {{"sleep", forever}, 150ms, errc::timed_out, "Command hook timed out after 150ms"},
        {{"ignore-term", "noread", "sleep", forever},
         150ms,
         errc::timed_out,
         "Command hook timed out after 150ms"},
        {{"out", "65537"},
         20s,
         errc::output_too_large,
         "Command hook output exceeded its byte bound"},
        {{"exit", "0"}, 20s, errc::not_json, "Command hook returned invalid JSON"},
        {{"json", "oops"}, 20s, errc::not_json, "Command hook returned invalid JSON"},
        {{"raw", "7bff7d"},
         20s,
         errc::not_utf8,
         "Command hook output is not valid UTF-8 at byte 1"},
        {{"json", "[]"}, 20s, errc::invalid_answer, "pre_tool_use result must be a plain object"},
    };
    for (const auto& wrong : wrongs) {
        const auto why = failed<pre_tool_use>(probe_for<pre_tool_use>(wrong.modes, wrong.timeout));
        BOOST_TEST((why.code == wrong.code), wrong.message);
        BOOST_TEST(why.message == wrong.message);
        BOOST_TEST(why.handler.name == "probe");
    }
}

BOOST_AUTO_TEST_CASE(a_program_that_cannot_be_started_fails_with_the_systems_words)
{
    const scratch_folder folder;
    auto hook = probe_for<pre_tool_use>({});
    const auto failure_of = [&](const std::string& program) {
        hook.argv[0] = program;
        return failed<pre_tool_use>(hook);
    };
    const auto missing = failure_of(folder / "missing");
    BOOST_TEST((missing.code == errc::spawn_failed));
    BOOST_TEST(missing.message.starts_with("Command hook could not be started: "));
    BOOST_TEST(missing.message.find(folder / "missing") != std::string::npos);
    BOOST_TEST(missing.message.find("No such file or directory") != std::string::npos);

    const auto plain = folder / "plain";
    std::ofstream(plain) << "#!/bin/cat\n";
    const auto forbidden = failure_of(plain);
    BOOST_TEST((forbidden.code == errc::spawn_failed));
    BOOST_TEST(forbidden.message.find("Permission denied") != std::string::npos);

    BOOST_TEST((failure_of("probe").code == errc::invalid_argv));
    hook.argv = {BELAY_TEST_PROBE, std::string("a\0b", 3)};
    BOOST_TEST((failed<pre_tool_use>(hook).code == errc::invalid_argv));
}

BOOST_AUTO_TEST_CASE(stdout_has_the_bound_of_its_phase)
{
    BOOST_TEST(failed<pre_tool_use>(probe_for<pre_tool_use>({"out", "65536"})).message ==
               "Command hook returned invalid JSON");
    BOOST_TEST(failed<pre_turn>(probe_for<pre_turn>({"out", "790528"})).message ==
               "Command hook returned invalid JSON");
    BOOST_TEST(failed<pre_turn>(probe_for<pre_turn>({"out", "790529"})).message ==
               "Command hook output exceeded its byte bound");
    auto padded = probe_for<pre_tool_use>({"json"});
    padded.argv.push_back(observed + std::string(65536 - observed.size(), '\n'));
    BOOST_TEST(!run<pre_tool_use>(padded).failed.has_value());
    padded.argv.back() += '\n';
    BOOST_TEST((failed<pre_tool_use>(padded).code == errc::output_too_large));
    const auto started = run<session_start>(probe_for<session_start>({"out", "65537"}));
    BOOST_REQUIRE(started.failures.size() == 1U);
    BOOST_TEST((started.failures[0].code == errc::not_json));
}

BOOST_AUTO_TEST_CASE(much_stderr_is_no_failure)
{
    BOOST_TEST(!run<pre_tool_use>(probe_for<pre_tool_use>({"err", "300000", "json", observed}))
                    .failed.has_value());
}

BOOST_AUTO_TEST_CASE(an_observer_matters_only_by_how_it_ended)
{
    observers<session_end> watchers(context.get_executor());
    const auto add = [&](std::string name, std::vector<std::string> modes) {
        watchers.add({.name = std::move(name)},
                     executable_handler<session_end>(context.get_executor(),
                                                     probe_for<session_end>(std::move(modes))));
    };
    add("silent", {});
    add("loud", {"raw", "ff", "out", "65535"});
    add("failing", {"exit", "4"});
    add("louder", {"out", "65537"});
    std::map<std::string, std::string> failures;
    watchers.notify({}, [&](const failure& why) { failures[why.handler.name] = why.message; });
    context.run();
    BOOST_TEST((failures == std::map<std::string, std::string>{
                                {"failing", "Command hook exited with status 4"},
                                {"louder", "Command hook output exceeded its byte bound"}}));
}

BOOST_AUTO_TEST_CASE(a_deadline_of_the_chain_ends_the_program)
{
    const scratch_folder folder;
    manual_clock time;
    async_chain<post_tool_use> chain(context.get_executor(), time);
    chain.add(
        {.name = "slow"},
        executable_handler<post_tool_use>(
            context.get_executor(),
            probe_for<post_tool_use>({"mark", folder / "pid", "sleep", forever}, timeout_limit)));
    std::optional<post_tool_use::outcome> concluded;
    chain.async_dispatch(post_tool_use(),
                         [&](error_code, auto outcome) { concluded = std::move(outcome); });
    BOOST_REQUIRE(comes_true([&] { return !pids_in(folder / "pid").empty(); }));
    const auto pids = pids_in(folder / "pid");
    BOOST_TEST(!concluded.has_value());
    time.advance(5s);
    BOOST_REQUIRE(comes_true([&] { return concluded.has_value(); }));
    BOOST_REQUIRE(concluded->failed.has_value());
    BOOST_TEST((concluded->failed->code == errc::deadline));
    BOOST_TEST(concluded->failed->message == "post_tool_use hooks timed out after 5000ms");
    BOOST_TEST(all_end(pids));
}

BOOST_AUTO_TEST_CASE(cancelling_the_dispatch_ends_the_program)
{
    const scratch_folder folder;
    async_chain<pre_tool_use> chain(context.get_executor());
    chain.add(
        {.name = "slow"},
        executable_handler<pre_tool_use>(
            context.get_executor(),
            probe_for<pre_tool_use>({"mark", folder / "pid", "sleep", forever}, timeout_limit)));
    asio::cancellation_signal stop;
    error_code ended;
    chain.async_dispatch(
        pre_tool_use(),
        asio::bind_cancellation_slot(stop.slot(), [&](error_code ec, auto) { ended = ec; }));
    BOOST_REQUIRE(comes_true([&] { return !pids_in(folder / "pid").empty(); }));
    const auto pids = pids_in(folder / "pid");
    stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(comes_true([&] { return ended == errc::cancelled; }));
    BOOST_TEST(all_end(pids));
}

BOOST_AUTO_TEST_CASE(an_event_loop_that_dies_takes_the_program_with_it)
{
    const scratch_folder folder;
    std::vector<pid_t> pids;
    bool called = false;
    {
        asio::io_context dying;
        async_chain<pre_tool_use> chain(dying.get_executor());
        chain.add({.name = "slow"},
                  executable_handler<pre_tool_use>(
                      dying.get_executor(),
                      probe_for<pre_tool_use>({"mark", folder / "pid", "sleep", forever})));
        chain.async_dispatch(pre_tool_use(), [&](error_code, auto) { called = true; });
        const auto patience = std::chrono::steady_clock::now() + generous;
        while (pids_in(folder / "pid").empty() && std::chrono::steady_clock::now() < patience) {
            dying.run_for(5ms);
        }
        pids = pids_in(folder / "pid");
        BOOST_REQUIRE(pids.size() == 1U);
    }
    BOOST_TEST(!called);
    BOOST_TEST(all_gone(pids));
}

BOOST_AUTO_TEST_CASE(one_handler_may_run_several_times_at_once)
{
    async_chain<pre_tool_use> chain(context.get_executor());
    const scratch_folder folder;
    // Each waits for the other.
    chain.add({.name = "both"}, executable_handler<pre_tool_use>(
                                    context.get_executor(),
                                    probe_for<pre_tool_use>({"rendezvous", folder.path().string(),
                                                             "2", "json", observed})));
    int fine = 0;
    for (int i = 0; i != 2; ++i) {
        chain.async_dispatch(removal(), [&](error_code, pre_tool_use::outcome outcome) {
            fine += outcome.failed ? 0 : 1;
        });
    }
    context.run();
    BOOST_TEST(fine == 2);
}

BOOST_AUTO_TEST_CASE(the_surroundings_are_the_hosts_unless_it_says_otherwise)
{
    BOOST_REQUIRE(::setenv("BELAY_TEST_VARIABLE", "seen", 1) == 0);
    const auto environment = output<pre_tool_use>(probe_for<pre_tool_use>({"env"}));
    BOOST_TEST(environment.find("BELAY_TEST_VARIABLE=seen") != std::string::npos);
    BOOST_TEST(json::parse(output<pre_tool_use>(probe_for<pre_tool_use>({"cwd"}))) ==
               json::value(std::filesystem::current_path().string()));
    // Not the session's workspace.
    BOOST_TEST(environment.find("/nest") == std::string::npos);

    const scratch_folder folder;
    const executable_options how{.cwd = folder.path().string(),
                                 .environment = std::vector<std::string>{"ONLY=this"}};
    BOOST_TEST(json::parse(output<pre_tool_use>(probe_for<pre_tool_use>({"env"}), how)) ==
               json::parse(R"(["ONLY=this"])"));
    BOOST_TEST(json::parse(output<pre_tool_use>(probe_for<pre_tool_use>({"cwd"}), how)) ==
               json::value(std::filesystem::canonical(folder.path()).string()));
    BOOST_TEST(
        (failed<pre_tool_use>(probe_for<pre_tool_use>({}), {.cwd = folder / "missing"}).code ==
         errc::bad_cwd));
}

BOOST_AUTO_TEST_CASE(a_hook_that_its_protocol_skips_has_observed_and_starts_nothing)
{
    static const uniform_protocol<behaviour::skips> mine;
    static const protocol* const known[] = {&mine};
    const auto hook = check({.phase = "x", .argv = {"/missing"}, .protocol = "mine"}, known);
    BOOST_REQUIRE(hook.has_value());
    const auto outcome = run<pre_tool_use>(*hook);
    BOOST_TEST(!outcome.failed.has_value());
    BOOST_TEST(std::holds_alternative<observe>(outcome.decision));
}

BOOST_AUTO_TEST_CASE(a_protocol_that_throws_is_a_failure_of_the_hook)
{
    static const uniform_protocol<behaviour::throws> mine;
    auto hook = probe_for<pre_tool_use>({"json", observed});
    hook.speaks = &mine;
    const auto why = failed<pre_tool_use>(hook);
    BOOST_TEST((why.code == errc::threw));
    BOOST_TEST(why.message == "no such answer");
}

BOOST_AUTO_TEST_SUITE_END()
