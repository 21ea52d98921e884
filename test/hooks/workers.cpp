#include <belay/hooks/command_hooks.hpp>
#include <belay/hooks/config.hpp>
#include <belay/hooks/extension.hpp>
#include <belay/hooks/protocol/vera.hpp>
#include <belay/hooks/registry.hpp>
#include <belay/hooks/session.hpp>
#include <belay/process/worker.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include "../process/support.hpp"
#include "host.hpp"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <sys/wait.h>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

using namespace belay;
using namespace belay::hooks;
using namespace std::chrono_literals;
using belay::test::host;
using belay::test::kept_log;
using ::test::is_gone;
using ::test::pids_in;
using ::test::scratch_folder;
namespace fs = std::filesystem;
namespace json = boost::json;

namespace {

const std::string program = BELAY_TEST_SOURCE_DIR "/hooks/executables/worker.sh";

// A host whose hooks are real workers. Its clock stands still unless a test turns it; a worker's own
// timeout is by the steady clock.
struct workers_fixture {
    workers_fixture()
    {
        fs::create_directories(home.path() / "hooks");
        fs::create_symlink(program, home.path() / "hooks/worker");
        hooks.emplace(io.get_executor(), options());
    }

    ~workers_fixture()
    {
        // Whatever a test does with them: they all end by themselves.
        hooks.reset();
        io.restart();
        io.run_for(::test::generous);
        BOOST_TEST(io.stopped());
        BOOST_TEST((::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD));
    }

    registry_options options(executable_options run = {})
    {
        registry_options made;
        made.time = &time;
        made.log = &log;
        made.run = std::move(run);
        return made;
    }

    // An entry of worker.sh for that phase, with more fields.
    json::value entry(std::string_view phase, std::string_view fields = "{}") const
    {
        json::object made{{"phase", json::string(phase)},
                          {"argv", {"worker", home / "marks"}},
                          {"mode", "worker"},
                          {"timeout_ms", 30000}};
        const auto more = json::parse(json::string_view(fields.data(), fields.size()));
        for (const auto& [key, value] : more.as_object()) made[key] = value;
        return made;
    }

    void use(json::array entries)
    {
        auto document = json::object{{"hooks", std::move(entries)}};
        auto parsed = config::from_json(std::move(document), home.path());
        BOOST_REQUIRE_MESSAGE(parsed.has_value(), (parsed ? "" : parsed.error().message));
        hooks->use(std::make_shared<const config>(*std::move(parsed))).value();
    }

    executable_spec spec(std::string phase) const
    {
        return {.phase = std::move(phase),
                .argv = {program, home / "marks"},
                .timeout = 30s,
                .mode = run_mode::worker};
    }

    bool comes_true(const std::function<bool()>& holds)
    {
        const auto patience = std::chrono::steady_clock::now() + ::test::generous;
        while (!holds() && std::chrono::steady_clock::now() < patience) {
            io.restart();
            io.run_for(2ms);
        }
        return holds();
    }

    // Whatever can happen at once.
    void poll()
    {
        io.restart();
        io.poll();
    }

    bool the_loop_ends()
    {
        io.restart();
        io.run_for(::test::generous);
        return io.stopped();
    }

    // Lets the command "wait" and this go on.
    void release(const std::string& which) const
    {
        std::ofstream(home / ("marks.go" + which)) << "";
    }

    template <class Op>
    auto finish(Op op)
    {
        auto future = host::launch(std::move(op));
        BOOST_REQUIRE(comes_true([&] { return host::is_done(future); }));
        auto [ec, said] = future.get();
        BOOST_TEST(!ec);
        return said;
    }

    auto asking(const std::string& command)
    {
        pre_tool_use event{
            .call = {.id = "call_1", .name = "bash", .input = {{"command", command}}}};
        return hooks->async_dispatch<pre_tool_use>(std::move(event));
    }

    pre_tool_use::outcome ask(const std::string& command) { return finish(asking(command)); }

    // What it has blocked with; empty if it has not.
    std::string reason(const pre_tool_use::outcome& said) const
    {
        const auto* blocked = std::get_if<block>(&said.decision);
        return blocked && !said.failed ? blocked->reason : std::string();
    }

    failure failed(const std::string& command)
    {
        auto said = ask(command);
        BOOST_REQUIRE(said.failed.has_value());
        BOOST_TEST(std::holds_alternative<block>(said.decision));
        return *said.failed;
    }

    std::string started(session& one)
    {
        return finish(one.async_start(session_start::cause::start)).message();
    }

    session open(session_options who = {.id = "s-1", .workspace = "/nest"})
    {
        return hooks->create_session(std::move(who)).value();
    }

    std::vector<pid_t> pids() const { return pids_in(home / "marks"); }

    std::size_t ends() const { return pids_in(home / "marks.end").size(); }

    std::vector<std::string> lines() const
    {
        std::vector<std::string> all;
        std::ifstream file(home / "marks.lines");
        for (std::string line; std::getline(file, line);) all.push_back(line);
        return all;
    }

    scratch_folder home;
    boost::asio::io_context io;
    belay::test::manual_clock time;
    kept_log log;
    std::optional<registry> hooks;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(workers_suite, workers_fixture)

BOOST_AUTO_TEST_CASE(the_first_event_starts_it_and_all_others_are_given_to_the_same)
{
    use({entry("pre_tool_use")});
    auto unused = open();
    BOOST_TEST(pids().empty());
    const auto first = reason(ask("pid"));
    BOOST_TEST(!first.empty());
    BOOST_TEST(reason(ask("pid")) == first);
    BOOST_TEST(pids().size() == 1u);
}

BOOST_AUTO_TEST_CASE(all_sessions_of_a_configuration_have_one)
{
    use({entry("session_start")});
    auto one = open();
    const auto said = started(one);
    BOOST_TEST(said.starts_with("## Session start hook 1\n"));
    auto another = open({.id = "s-2"});
    BOOST_TEST(started(another) == said);
    // this one has functions of its own, and so a set of its own
    session_options with_function{.id = "s-3"};
    with_function.prepare_turn = [](const pre_turn&) { return observe{}; };
    auto third = open(std::move(with_function));
    BOOST_TEST(started(third) == said);
    BOOST_TEST(pids().size() == 1u);
}

BOOST_AUTO_TEST_CASE(entries_have_one_each)
{
    use({entry("session_start"), entry("session_start")});
    auto one = open();
    started(one);
    BOOST_TEST(pids().size() == 2u);
}

BOOST_AUTO_TEST_CASE(its_event_is_the_payload_of_a_program_that_runs_once)
{
    use({entry("pre_tool_use")});
    BOOST_TEST(std::holds_alternative<observe>(ask("observe").decision));
    const pre_tool_use event{
        .call = {.id = "call_1", .name = "bash", .input = {{"command", "observe"}}}};
    const protocol_for<pre_tool_use>& protocol = vera();
    BOOST_REQUIRE(lines().size() == 1u);
    BOOST_TEST(lines()[0] ==
               "{\"id\":1,\"event\":" + protocol.payload(event, "pre_tool_use").value() + "}");
}

BOOST_AUTO_TEST_CASE(it_speaks_the_protocol_of_its_entry)
{
    use({entry("PreToolUse", R"({"protocol":"claude"})")});
    BOOST_TEST(reason(ask("deny")) == "not now");
    BOOST_REQUIRE(lines().size() == 1u);
    BOOST_TEST(lines()[0].find(R"("tool_name":"Bash")") != std::string::npos);
    // An exit status is no answer of a worker: under claude, too, 2 is like any other.
    BOOST_TEST(failed("exit 2 no").message ==
               "Command hook exited with status 2 before it had answered; stderr: "
               "\"first line\\u000ano\"");
}

BOOST_AUTO_TEST_CASE(a_result_that_is_no_json_is_a_failure_under_every_protocol)
{
    const std::string why =
        "Command hook returned invalid JSON: the worker wrote a line that is no answer, not valid "
        "JSON at byte 51: ";
    use({entry("pre_tool_use")});
    BOOST_TEST(failed("broken").message.starts_with(why));
    use({entry("PreToolUse", R"({"protocol":"claude"})")});
    BOOST_TEST(failed("broken").message.starts_with(why));
}

BOOST_AUTO_TEST_CASE(what_goes_wrong_is_said_in_the_documents_words_and_then_what_is_known)
{
    use({entry("pre_tool_use")});
    const struct {
        std::string command;
        errc code;
        std::string message;
    } cases[] = {
        {"exit 3 ", errc::exited,
         "Command hook exited with status 3 before it had answered; stderr: \"first line\""},
        {"exit 0 ", errc::exited,
         "Command hook exited with status 0 before it had answered; stderr: \"first line\""},
        {"die", errc::signalled,
         "Command hook exited with status unknown: the worker was ended by signal 9 before it "
         "had answered"},
        {"say Loading...", errc::not_json,
         "Command hook returned invalid JSON: the worker wrote a line that is no answer, not a "
         "JSON object: \"Loading...\""},
        {"bytes", errc::not_utf8,
         "Command hook output is not valid UTF-8: the worker wrote a line that is no answer, not "
         "UTF-8 at byte 0: \"\xEF\xBF\xBD\""},
        {"say {}", errc::invalid_answer,
         "Command hook returned an invalid answer: the worker wrote a line that is no answer, it "
         "has no \"id\" (a line is {\"id\":1,\"result\":...}): \"{}\""},
        {"large", errc::output_too_large,
         "Command hook output exceeded its byte bound: the worker's result has 65602 bytes; at "
         "most 65536 are allowed"},
        {"nothing", errc::not_json,
         "Command hook returned invalid JSON: the worker's answer has no \"result\""},
    };
    for (const auto& one : cases) {
        const auto why = failed(one.command);
        BOOST_TEST((why.code == one.code), one.command);
        BOOST_TEST(why.message == one.message);
        BOOST_TEST(why.handler.name == "worker");
        BOOST_TEST(!reason(ask("pid")).empty(), "after " << one.command);
    }
}

BOOST_AUTO_TEST_CASE(of_a_long_complaint_the_end_is_shown)
{
    use({entry("pre_tool_use")});
    const auto said = failed("exit 1 " + std::string(990, 'x')).message;
    BOOST_TEST(said.ends_with("; stderr: \"" + std::string(990, 'x') + '"'));
    const auto longer = failed("exit 1 " + std::string(1001, 'y')).message;
    BOOST_TEST(longer.ends_with("; stderr: \"" + std::string(1000, 'y') + '"'));
}

BOOST_AUTO_TEST_CASE(one_that_is_overdue_is_ended_and_another_serves_the_next_event)
{
    use({entry("pre_tool_use", R"({"timeout_ms":300})")});
    const auto why = failed("hang");
    BOOST_TEST((why.code == errc::timed_out));
    BOOST_TEST(why.message ==
               "Command hook timed out after 300ms: the worker wrote nothing (does it read line by "
               "line, and flush its output?); its start was a part of the time");
    BOOST_TEST(comes_true([&] { return is_gone(pids().front()); }));
    // On a machine that is busy the next one may be overdue, too.
    BOOST_TEST(comes_true([&] { return !reason(ask("pid")).empty(); }));
    BOOST_TEST(pids().size() > 1u);
}

BOOST_AUTO_TEST_CASE(one_that_fails_at_each_event_keeps_the_gate_closed_and_soon_nobody_waiting)
{
    executable_options how;
    how.make_worker = [](boost::asio::any_io_executor executor, process::worker_options what) {
        what.first_pause = what.longest_pause = 1h;  // longer than anybody waits
        return worker_function([worker = std::make_shared<process::worker>(std::move(executor),
                                                                           std::move(what))](
                                   std::string event, std::chrono::milliseconds timeout,
                                   process::turn_listener turn, auto handler) {
            worker->async_request(std::move(event), timeout, std::move(turn), std::move(handler));
        });
    };
    hooks.emplace(io.get_executor(), options(std::move(how)));
    use({entry("pre_tool_use")});
    const std::string beginning =
        "Command hook is unavailable: the worker exited with status 3 before it had answered; ";
    failure why;
    for (int i = 0; i < 3 && !why.message.starts_with(beginning); ++i) why = failed("exit 3 ");
    BOOST_TEST(why.message.starts_with(beginning), why.message);
    BOOST_TEST(why.message.ends_with("; stderr: \"first line\""), why.message);
    const auto began = pids().size();
    const auto again = failed("pid");  // which it would have answered
    BOOST_TEST(again.message.starts_with(beginning), again.message);
    BOOST_TEST(pids().size() == began);
}

BOOST_AUTO_TEST_CASE(one_that_cannot_be_started_fails_with_the_systems_words)
{
    json::value absent = entry("pre_tool_use");
    absent.at("argv") = json::array{"absent"};
    use({absent});
    const auto why = failed("pid");
    BOOST_TEST((why.code == errc::spawn_failed));
    BOOST_TEST(why.message.starts_with("Command hook could not be started: "), why.message);
    BOOST_TEST(why.message.find((home.path() / "hooks/absent").string()) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_failure_of_an_extensions_is_ignored)
{
    hooks->on_executable(spec("pre_tool_use"), "acme").value();
    const auto said = ask("exit 3 ");
    BOOST_TEST(std::holds_alternative<observe>(said.decision));
    BOOST_TEST(!said.failed.has_value());
    BOOST_REQUIRE(said.ignored.size() == 1u);
    BOOST_TEST((said.ignored[0].code == errc::exited));
}

BOOST_AUTO_TEST_CASE(an_event_that_is_too_large_is_not_given_to_it)
{
    use({entry("pre_tool_use")});
    const auto why = failed(std::string(256 * 1024, 'x'));
    BOOST_TEST((why.code == errc::input_too_large));
    BOOST_TEST(why.message == "Command hook input exceeded its byte bound");
    BOOST_TEST(pids().empty());
}

BOOST_AUTO_TEST_CASE(a_deadline_of_the_chain_gives_the_event_up_and_leaves_it_alive)
{
    use({entry("pre_tool_use")});
    const auto before = reason(ask("pid"));
    auto said = host::launch(asking("wait"));
    BOOST_REQUIRE(comes_true([&] { return lines().size() == 2u; }));
    time.advance(60s);
    BOOST_REQUIRE(comes_true([&] { return host::is_done(said); }));
    const auto outcome = std::get<1>(said.get());
    BOOST_REQUIRE(outcome.failed.has_value());
    BOOST_TEST((outcome.failed->code == errc::deadline));
    auto next = host::launch(asking("pid"));
    release("");
    BOOST_REQUIRE(comes_true([&] { return host::is_done(next); }));
    BOOST_TEST(reason(std::get<1>(next.get())) == before);
}

BOOST_AUTO_TEST_CASE(an_event_that_is_given_up_before_its_turn_is_never_given_to_it)
{
    use({entry("pre_tool_use")});
    auto first = host::launch(asking("wait"));
    BOOST_REQUIRE(comes_true([&] { return lines().size() == 1u; }));
    boost::asio::cancellation_signal stop;
    std::optional<error_code> second;
    asking("observe")(boost::asio::bind_cancellation_slot(
        stop.slot(), [&](error_code ec, const auto&) { second = ec; }));
    poll();
    stop.emit(boost::asio::cancellation_type::terminal);
    BOOST_REQUIRE(comes_true([&] { return second.has_value(); }));
    BOOST_TEST((*second == errc::cancelled));
    release("");
    BOOST_REQUIRE(comes_true([&] { return host::is_done(first); }));
    BOOST_TEST(!reason(ask("pid")).empty());
    BOOST_TEST(lines().size() == 2u);
}

// The hooks of pre_tool_use have 60 seconds together.
BOOST_AUTO_TEST_CASE(the_wait_for_its_turn_is_not_charged_to_the_deadline_of_the_phase)
{
    use({entry("pre_tool_use")});
    auto first = host::launch(asking("wait1"));
    auto second = host::launch(asking("wait2"));
    auto third = host::launch(asking("wait3"));
    BOOST_REQUIRE(comes_true([&] { return lines().size() == 1u; }));
    poll();  // all of them wait now
    time.advance(40s);
    release("1");
    BOOST_REQUIRE(comes_true([&] { return host::is_done(first) && lines().size() == 2u; }));
    time.advance(40s);
    release("2");
    BOOST_REQUIRE(comes_true([&] { return host::is_done(second) && lines().size() == 3u; }));
    for (auto* one : {&first, &second}) BOOST_TEST(!std::get<1>(one->get()).failed.has_value());
    // From its turn on its time runs.
    time.advance(59s);
    poll();
    BOOST_TEST(!host::is_done(third));
    time.advance(1s);
    BOOST_REQUIRE(comes_true([&] { return host::is_done(third); }));
    const auto late = std::get<1>(third.get());
    BOOST_REQUIRE(late.failed.has_value());
    BOOST_TEST((late.failed->code == errc::deadline));
    release("3");
}

BOOST_AUTO_TEST_CASE(what_is_given_once_more_is_not_charged_its_second_wait_either)
{
    use({entry("pre_tool_use", R"({"in_flight":2})")});
    auto first = host::launch(asking("wait"));
    auto second = host::launch(asking("pid"));
    BOOST_REQUIRE(comes_true([&] { return lines().size() == 1u; }));
    poll();
    ::kill(pids().at(0), SIGKILL);
    BOOST_REQUIRE(comes_true([&] { return lines().size() == 2u; }));  // the first, alone
    time.advance(60s);
    BOOST_REQUIRE(comes_true([&] { return host::is_done(first); }));
    BOOST_TEST((std::get<1>(first.get()).failed.value().code == errc::deadline));
    release("");
    BOOST_REQUIRE(comes_true([&] { return host::is_done(second); }));
    BOOST_TEST(!reason(std::get<1>(second.get())).empty());
}

BOOST_AUTO_TEST_CASE(it_is_given_as_many_events_at_a_time_as_its_entry_says)
{
    use({entry("pre_tool_use", R"({"in_flight":2})")});
    // answered when the second has come
    auto held = host::launch(asking("hold"));
    auto second = host::launch(asking("observe"));
    BOOST_REQUIRE(comes_true([&] { return host::is_done(held) && host::is_done(second); }));
    BOOST_TEST(!std::get<1>(held.get()).failed.has_value());
}

BOOST_AUTO_TEST_CASE(it_lives_until_its_configuration_and_the_last_session_are_gone)
{
    use({entry("session_start")});
    std::optional<session> one = open();
    started(*one);
    const auto pid = pids().at(0);
    use({});
    io.restart();
    io.poll();
    auto subagent = one->create_subagent({.id = "s-2"}).value();
    started(subagent);
    BOOST_TEST(pids().size() == 1u);
    subagent = session();
    BOOST_TEST(!is_gone(pid));
    one.reset();
    // It saw the end of its stdin: no signal has ended it.
    BOOST_TEST(comes_true([&] { return ends() == 1u && is_gone(pid); }));
}

BOOST_AUTO_TEST_CASE(it_goes_with_the_extension_that_registered_it)
{
    extension acme;
    acme.name = "acme";
    acme.capabilities = {"hooks.command"};
    acme.activate = [&](registrar& into) { (void)into.on_executable(spec("session_start")); };
    const auto id = hooks->activate(acme).value();
    auto one = open();
    auto another = open({.id = "s-2"});
    BOOST_TEST(started(one) == started(another));
    const auto pid = pids().at(0);
    BOOST_TEST(hooks->deactivate(id));
    BOOST_TEST(comes_true([&] { return ends() == 1u && is_gone(pid); }));
    BOOST_TEST(pids().size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_ready_made_extension_takes_workers_too)
{
    json::value listed = entry("pre_tool_use", R"({"in_flight":2})");
    listed.at("argv").at(0) = json::string(program);
    hooks->activate(command_hooks(), {{"hooks", {listed}}}).value();
    auto held = host::launch(asking("hold"));
    auto second = host::launch(asking("observe"));
    BOOST_REQUIRE(comes_true([&] { return host::is_done(held) && host::is_done(second); }));
    BOOST_TEST(std::get<1>(held.get()).ignored.empty());
    BOOST_TEST(pids().size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_event_in_flight_is_answered_although_its_hook_is_removed)
{
    const auto id = hooks->on_executable(spec("pre_tool_use"), "acme").value();
    auto said = host::launch(asking("wait"));
    BOOST_REQUIRE(comes_true([&] { return lines().size() == 1u; }));
    BOOST_TEST(hooks->remove(id));
    release("");
    BOOST_REQUIRE(comes_true([&] { return host::is_done(said); }));
    BOOST_TEST(std::get<1>(said.get()).ignored.empty());
    BOOST_TEST(comes_true([&] { return ends() == 1u; }));
}

BOOST_AUTO_TEST_CASE(the_event_loop_ends_after_the_last_session_is_closed)
{
    use({entry("session_start"), entry("session_end")});
    auto one = open();
    auto another = open({.id = "s-2"});
    started(one);
    one.close(session_end::cause::closed);
    BOOST_TEST(comes_true([&] { return lines().size() == 2u; }));
    poll();
    BOOST_TEST(ends() == 0u);
    started(another);
    another.close(session_end::cause::closed);
    BOOST_TEST(the_loop_ends());
    // Both sessions, and each entry, have had all their events from one worker.
    BOOST_TEST(lines().size() == 4u);
    BOOST_TEST(ends() == 2u);
    BOOST_TEST(log.records.empty());
}

BOOST_AUTO_TEST_CASE(the_event_loop_ends_after_the_last_session_is_gone)
{
    use({entry("session_start")});
    std::optional<session> one = open();
    started(*one);
    one.reset();
    BOOST_TEST(the_loop_ends());
    BOOST_TEST(ends() == 1u);
}

BOOST_AUTO_TEST_CASE(a_session_that_comes_later_has_a_fresh_one_that_lives_on)
{
    use({entry("session_start")});
    open().close(session_end::cause::closed);
    auto one = open();
    auto another = open({.id = "s-2"});
    const auto said = started(one);
    BOOST_TEST(!said.empty());
    BOOST_TEST(started(another) == said);
}

BOOST_AUTO_TEST_CASE(a_drain_ends_those_that_have_nothing_to_do_unless_a_session_is_open)
{
    use({entry("pre_tool_use"), entry("session_end")});
    const auto first = reason(ask("pid"));
    std::optional<session> one = open();
    finish(hooks->async_drain(30s));
    BOOST_TEST(reason(ask("pid")) == first);
    one->close(session_end::cause::closed);
    BOOST_TEST(the_loop_ends());
    BOOST_TEST(!reason(ask("pid")).empty());
    hooks->notify(session_end{.session_id = "s-1"});
    finish(hooks->async_drain(30s));
    BOOST_TEST(the_loop_ends());
    BOOST_TEST(ends() == 4u);  // two for each entry
}

BOOST_AUTO_TEST_CASE(one_that_a_drain_finds_busy_is_ended_after_its_answer)
{
    use({entry("pre_tool_use")});
    auto said = host::launch(asking("wait"));
    BOOST_REQUIRE(comes_true([&] { return lines().size() == 1u; }));
    finish(hooks->async_drain(30s));
    release("");
    BOOST_TEST(the_loop_ends());
    BOOST_REQUIRE(host::is_done(said));
    BOOST_TEST(!std::get<1>(said.get()).failed.has_value());
    BOOST_TEST(ends() == 1u);
}

BOOST_AUTO_TEST_CASE(one_whose_last_session_goes_with_the_event_loop_is_gone_then)
{
    std::optional<boost::asio::io_context> dying(std::in_place);
    std::optional<registry> other(std::in_place, dying->get_executor(), options());
    other->on_executable(spec("session_start"), "acme").value();
    auto one = std::make_shared<session>(other->create_session({.id = "s-1"}).value());
    auto said = host::launch(one->async_start(session_start::cause::start));
    while (!host::is_done(said)) BOOST_REQUIRE(dying->run_one_for(::test::generous) != 0u);
    boost::asio::post(*dying, [kept = std::move(one)] {});
    other.reset();
    dying.reset();
    BOOST_TEST(comes_true([&] { return is_gone(pids().at(0)); }));
}

BOOST_AUTO_TEST_CASE(the_event_loop_runs_as_long_as_it_lives_and_ends_after_the_registry)
{
    use({entry("pre_tool_use")});
    BOOST_TEST(std::holds_alternative<block>(ask("pid").decision));
    io.restart();
    io.run_for(20ms);
    BOOST_TEST(!io.stopped());
    hooks.reset();
    io.restart();
    io.run_for(::test::generous);
    BOOST_TEST(io.stopped());
    BOOST_TEST(ends() == 1u);
}

BOOST_AUTO_TEST_CASE(a_drain_waits_for_observers_that_it_serves)
{
    use({entry("session_end"), entry("pre_compact")});
    hooks->notify(session_end{.session_id = "s-1"});
    hooks->notify(pre_compact{.session_id = "s-1"});
    BOOST_TEST(finish(hooks->async_drain(30s)) == 0u);
    BOOST_TEST(lines().size() == 2u);
    BOOST_TEST(log.records.empty());
}

BOOST_AUTO_TEST_CASE(an_observer_that_fails_is_logged)
{
    hooks
        ->on_executable({.phase = "session_end",
                         .argv = {"/bin/sh", "-c", "read -r line; exit 3"},
                         .timeout = 30s,
                         .mode = run_mode::worker},
                        "acme")
        .value();
    hooks->notify(session_end{.session_id = "s-1"});
    finish(hooks->async_drain(30s));
    BOOST_REQUIRE(log.of("session_end_hook_failed").size() == 1u);
    BOOST_TEST(kept_log::text(log.records[0], "error") ==
               "Command hook exited with status 3 before it had answered");
}

BOOST_AUTO_TEST_CASE(a_host_may_ask_for_a_fresh_one_after_so_many_events)
{
    executable_options how;
    how.recycle_after = 2;
    hooks.emplace(io.get_executor(), options(how));
    use({entry("pre_tool_use")});
    const auto first = reason(ask("pid"));
    BOOST_TEST(reason(ask("pid")) == first);
    BOOST_TEST(reason(ask("pid")) != first);
}

BOOST_AUTO_TEST_CASE(a_host_may_have_one_ended_that_has_nothing_to_do)
{
    executable_options how;
    how.idle_timeout = 1ms;
    hooks.emplace(io.get_executor(), options(how));
    use({entry("pre_tool_use")});
    const auto first = reason(ask("pid"));
    BOOST_TEST(comes_true([&] { return ends() == 1u; }));
    BOOST_TEST(reason(ask("pid")) != first);
}

BOOST_AUTO_TEST_CASE(it_has_the_bounds_of_its_phase_and_the_surroundings_of_its_host)
{
    std::vector<process::worker_options> made;
    executable_options how;
    how.cwd = "/";
    how.environment = std::vector<std::string>{"A=1"};
    how.make_worker = [&](boost::asio::any_io_executor executor, process::worker_options what) {
        made.push_back(std::move(what));
        BOOST_TEST((executor == boost::asio::any_io_executor(io.get_executor())));
        return worker_function(
            [executor](std::string, std::chrono::milliseconds timeout, auto, auto handler) {
                BOOST_TEST((timeout == 30s));
                boost::asio::post(executor, [handler = std::move(handler)]() mutable {
                    process::worker_reply reply;
                    reply.result = R"({"power":"observe"})";
                    std::move(handler)(error_code(), std::move(reply));
                });
            });
    };
    hooks.emplace(io.get_executor(), options(how));
    use({entry("pre_tool_use", R"({"in_flight":64})"), entry("session_start")});
    BOOST_TEST(!ask("pid").failed.has_value());
    auto one = open();
    BOOST_TEST(started(one).empty());
    BOOST_REQUIRE(made.size() == 2u);
    BOOST_TEST(made[0].limits.out == 65536u);
    BOOST_TEST(made[1].limits.out == 790528u);
    BOOST_TEST(made[0].in_flight == 64u);
    BOOST_TEST(made[1].in_flight == 1u);
    BOOST_TEST(made[0].argv[0] == (home.path() / "hooks/worker").string());
    BOOST_TEST(made[0].cwd == "/");
    BOOST_TEST((made[0].environment == how.environment));
}

BOOST_AUTO_TEST_SUITE_END()
