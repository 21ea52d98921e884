#include <belay/core/any_handler.hpp>
#include <belay/core/async_chain.hpp>
#include <belay/core/coroutine.hpp>
#include <belay/core/observers.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include "../common/manual_clock.hpp"
#include "events.hpp"
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace asio = boost::asio;
using namespace belay;
using namespace belay::test;

namespace {

struct fixture {
    asio::io_context io;
    manual_clock time;

    std::string text_after(const any_handler<gate>& handler)
    {
        async_chain<gate> chain(io.get_executor(), time);
        chain.add({.name = "it"}, handler);
        std::optional<std::string> text;
        chain.async_dispatch({.text = "x"}, [&](error_code ec, gate::outcome outcome) {
            BOOST_TEST(!ec);
            text = outcome.text;
        });
        io.restart();
        io.poll();
        BOOST_REQUIRE(text.has_value());
        return *text;
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(any_handler_suite, fixture)

BOOST_AUTO_TEST_CASE(it_may_be_none)
{
    const any_handler<gate> none;
    BOOST_TEST(!none);
    const any_handler<gate> one = [](const gate&) {};
    BOOST_TEST(static_cast<bool>(one));
}

BOOST_AUTO_TEST_CASE(it_holds_a_handler_of_any_form)
{
    BOOST_TEST(text_after([](const gate& e) { return gate::rewrite{e.text + "1"}; }) == "x1");
    BOOST_TEST(text_after([](const gate& e, reply<gate> answer) {
                   answer(gate::rewrite{e.text + "2"});
               }) == "x2");
    BOOST_TEST(text_after([](const gate& e) -> asio::awaitable<gate::answer> {
                   gate::rewrite said{e.text + "3"};
                   co_return said;
               }) == "x3");
    BOOST_TEST(text_after([](const gate&) {}) == "x");
}

BOOST_AUTO_TEST_CASE(copies_share_one_handler_which_need_not_be_copyable)
{
    const any_handler<gate> one = [calls = std::make_unique<int>(0)](const gate&) {
        return gate::rewrite{std::to_string(++*calls)};
    };
    const auto copy = one;
    BOOST_TEST(text_after(one) == "1");
    BOOST_TEST(text_after(copy) == "2");
    BOOST_TEST((one.shared() == copy.shared()));
}

BOOST_AUTO_TEST_CASE(observers_take_it_too)
{
    int seen = 0;
    const any_handler<note> watch = [&](const note& event) { seen += event.value; };
    observers<note> first(io.get_executor(), time);
    observers<note> second(io.get_executor(), time);
    first.add({}, watch);
    second.add({}, watch);
    first.notify({.value = 1});
    second.notify({.value = 10});
    io.poll();
    BOOST_TEST(seen == 11);
}

BOOST_AUTO_TEST_SUITE_END()
