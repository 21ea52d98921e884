// Every asynchronous operation with every kind of completion token: each compiles and completes.

#include <belay/core/async_chain.hpp>
#include <belay/process/run.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include "events.hpp"
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace asio = boost::asio;
using namespace belay;
using belay::test::gate;

namespace {

// An operation that succeeds, the same one that never would, and how to tell that it succeeded.
struct dispatching {
    asio::io_context io;
    async_chain<gate> right{io.get_executor()};
    async_chain<gate> endless{io.get_executor()};
    std::optional<reply<gate>> kept;

    dispatching()
    {
        right.add({}, [](const gate&, reply<gate> answer) { answer(gate::rewrite{"done"}); });
        endless.add({},
                    [this](const gate&, reply<gate> answer) { kept.emplace(std::move(answer)); });
    }

    template <class Token>
    auto start(Token&& token)
    {
        return right.async_dispatch(gate{}, std::forward<Token>(token));
    }
    auto start() { return right.async_dispatch(gate{}); }
    template <class Token>
    auto start_endless(Token&& token)
    {
        return endless.async_dispatch(gate{}, std::forward<Token>(token));
    }
    static bool succeeded(const gate::outcome& outcome) { return outcome.text == "done"; }
};

struct running {
    asio::io_context io;

    static process::invocation invoke(std::vector<std::string> arguments)
    {
        process::invocation what;
        what.argv = std::move(arguments);
        what.argv.insert(what.argv.begin(), BELAY_TEST_PROBE);
        return what;
    }

    template <class Token>
    auto start(Token&& token)
    {
        return process::async_run(io.get_executor(), invoke({"echo"}), "done",
                                  std::forward<Token>(token));
    }
    auto start() { return process::async_run(io.get_executor(), invoke({"echo"}), "done"); }
    template <class Token>
    auto start_endless(Token&& token)
    {
        return process::async_run(io.get_executor(), invoke({"sleep", "600000"}), "",
                                  std::forward<Token>(token));
    }
    static bool succeeded(const process::exit_report& report) { return report.out == "done"; }
};

using operations = std::tuple<dispatching, running>;

}  // namespace

BOOST_AUTO_TEST_SUITE(tokens)

BOOST_AUTO_TEST_CASE_TEMPLATE(callback, Operation, operations)
{
    Operation op;
    bool done = false;
    op.start([&, moved = std::make_unique<int>(1)](error_code ec, auto result) {
        done = !ec && *moved == 1 && Operation::succeeded(result);
    });
    BOOST_TEST(!done);
    op.io.run();
    BOOST_TEST(done);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(callback_on_its_own_executor, Operation, operations)
{
    Operation op;
    auto strand = asio::make_strand(op.io);
    bool done = false;
    op.start(asio::bind_executor(strand, [&](error_code ec, auto result) {
        done = !ec && Operation::succeeded(result) && strand.running_in_this_thread();
    }));
    op.io.run();
    BOOST_TEST(done);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(use_future, Operation, operations)
{
    Operation op;
    auto result = op.start(asio::use_future);
    op.io.run();
    BOOST_TEST(Operation::succeeded(result.get()));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(deferred, Operation, operations)
{
    Operation op;
    bool done = false;
    auto later = op.start();  // deferred is the default
    auto also_later = op.start(asio::deferred);
    BOOST_TEST(op.io.poll() == 0U);  // nothing has started
    op.io.restart();
    std::move(later)(
        [&](error_code ec, auto result) { done = !ec && Operation::succeeded(result); });
    op.io.run();
    BOOST_TEST(done);
    (void)also_later;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(use_awaitable, Operation, operations)
{
    Operation op;
    int done = 0;
    asio::co_spawn(
        op.io,
        [&]() -> asio::awaitable<void> {
            auto first = co_await op.start(asio::use_awaitable);
            done += Operation::succeeded(first);
            auto second = co_await op.start();
            done += Operation::succeeded(second);
            auto [ec, third] = co_await op.start(asio::as_tuple(asio::use_awaitable));
            done += !ec && Operation::succeeded(third);
            auto [ec4, fourth] = co_await op.start(asio::as_tuple(asio::deferred));
            done += !ec4 && Operation::succeeded(fourth);
        },
        asio::detached);
    op.io.run();
    BOOST_TEST(done == 4);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(per_operation_cancellation, Operation, operations)
{
    for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                            asio::cancellation_type::total}) {
        Operation op;
        asio::cancellation_signal stop;
        std::optional<error_code> got;
        op.start_endless(
            asio::bind_cancellation_slot(stop.slot(), [&](error_code ec, auto) { got = ec; }));
        asio::post(op.io, [&] { stop.emit(type); });
        op.io.run();
        BOOST_REQUIRE(got.has_value());
        BOOST_TEST((*got == errc::cancelled));
    }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(cancelled_coroutine, Operation, operations)
{
    Operation op;
    asio::cancellation_signal stop;
    std::optional<error_code> got;
    asio::co_spawn(
        op.io,
        [&]() -> asio::awaitable<void> {
            auto [ec, result] = co_await op.start_endless(asio::as_tuple(asio::use_awaitable));
            got = ec;
        },
        asio::bind_cancellation_slot(stop.slot(), asio::detached));
    asio::post(op.io,
               [&] { asio::post(op.io, [&] { stop.emit(asio::cancellation_type::terminal); }); });
    op.io.run();
    BOOST_REQUIRE(got.has_value());
    BOOST_TEST((*got == errc::cancelled));
}

BOOST_AUTO_TEST_SUITE_END()
