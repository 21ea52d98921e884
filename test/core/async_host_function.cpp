#include <belay/core/coroutine.hpp>
#include <belay/core/detail/host_call_op.hpp>
#include <belay/core/host_function.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/test/unit_test.hpp>

#include "../common/manual_clock.hpp"
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace asio = boost::asio;
using namespace belay;
using namespace belay::test;
using namespace std::chrono_literals;

namespace {

using text_function = host_function<std::string, int>;
using text_reply = host_reply<std::string>;

struct my_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct fixture {
    // What became of a call.
    struct ended {
        std::exception_ptr why;
        std::string answer;

        std::string message() const
        {
            try {
                if (why) std::rethrow_exception(why);
            } catch (const std::exception& e) {
                return e.what();
            }
            return "";
        }
    };

    std::shared_ptr<std::optional<ended>> call(text_function function,
                                               detail::host_call_terms terms = {},
                                               asio::cancellation_slot slot = {})
    {
        auto what = std::make_shared<std::optional<ended>>();
        detail::call_host<std::string>(
            io->get_executor(), time, std::move(terms),
            asio::bind_cancellation_slot(slot,
                                         [what](std::exception_ptr why, std::string answer) {
                                             BOOST_TEST(!what->has_value());
                                             what->emplace(
                                                 ended{std::move(why), std::move(answer)});
                                         }),
            [function = std::move(function)](text_reply reply) { function(7, std::move(reply)); });
        BOOST_TEST(!what->has_value());  // never from inside the call
        poll();
        return what;
    }

    void poll()
    {
        io->restart();
        io->poll();
    }

    manual_clock time;
    std::optional<asio::io_context> io{std::in_place};
    std::optional<text_reply> kept;
    text_function keeps = [this](int, text_reply reply) { kept.emplace(std::move(reply)); };
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(host_function_suite, fixture)

BOOST_AUTO_TEST_CASE(it_may_answer_at_once_later_or_as_a_coroutine)
{
    BOOST_TEST((**call([](int n) { return std::to_string(n); })).answer == "7");
    BOOST_TEST((**call([](int n, text_reply reply) { reply(std::to_string(n)); })).answer == "7");
    BOOST_TEST((**call([](int n) -> asio::awaitable<std::string> {
                   co_return std::to_string(n);
               })).answer == "7");
    const auto later = call(keeps);
    BOOST_TEST(!later->has_value());
    (*kept)("later");
    poll();
    BOOST_TEST((**later).answer == "later");
}

BOOST_AUTO_TEST_CASE(one_that_is_given_a_reply_may_leave_it_to_a_coroutine)
{
    const auto later = [](int n) -> asio::awaitable<std::string> {
        if (n != 7) throw my_error("no seven");
        co_return std::to_string(n);
    };
    BOOST_TEST((**call([&](int n, text_reply reply) {
                   answer_with(later(n), std::move(reply));
               })).answer == "7");
    BOOST_TEST((**call([&](int, text_reply reply) {
                   answer_with(later(8), std::move(reply));
               })).message() == "no seven");
}

BOOST_AUTO_TEST_CASE(what_it_throws_keeps_its_type)
{
    const auto is_mine = [](const std::shared_ptr<std::optional<ended>>& what) {
        BOOST_REQUIRE(what->has_value());
        BOOST_CHECK_THROW(std::rethrow_exception((*what)->why), my_error);
    };
    is_mine(call([](int) -> std::string { throw my_error("x"); }));
    is_mine(call([](int) -> asio::awaitable<std::string> {
        throw my_error("x");
        co_return "";
    }));
    is_mine(
        call([](int, text_reply reply) { reply.fail(std::make_exception_ptr(my_error("x"))); }));
    is_mine(call([](int, text_reply) -> void { throw my_error("x"); }));
}

BOOST_AUTO_TEST_CASE(a_reply_that_is_dropped_is_a_failure)
{
    BOOST_TEST((**call([](int, text_reply) {})).message() == "it gave no answer");
    BOOST_TEST((**call([](int, text_reply reply) { reply.fail("no"); })).message() == "no");
}

BOOST_AUTO_TEST_CASE(a_call_that_runs_out_of_time_ends_as_its_terms_say)
{
    for (const bool with_error : {false, true}) {
        detail::host_call_terms terms{.timeout = 5ms};
        if (with_error) terms.if_cut = std::make_exception_ptr(my_error("cut"));
        const auto what = call(keeps, terms);
        bool told = false;
        kept->get_cancellation_slot().assign([&](asio::cancellation_type) { told = true; });
        time.advance(4ms);
        poll();
        BOOST_TEST(!what->has_value());
        time.advance(1ms);
        poll();
        BOOST_REQUIRE(what->has_value());
        BOOST_TEST((*what)->message() == (with_error ? "cut" : ""));
        BOOST_TEST((*what)->answer == "");
        BOOST_TEST(told);
        (*kept)("late");
        poll();
        kept.reset();
    }
}

BOOST_AUTO_TEST_CASE(a_call_that_is_cancelled_ends_as_its_terms_say)
{
    asio::cancellation_signal stop;
    const auto what =
        call(keeps, {.if_cut = std::make_exception_ptr(my_error("cut"))}, stop.slot());
    stop.emit(asio::cancellation_type::partial);
    poll();
    BOOST_REQUIRE(what->has_value());
    BOOST_TEST((*what)->message() == "cut");
}

BOOST_AUTO_TEST_CASE(a_cancellation_that_comes_after_the_answer_changes_nothing)
{
    asio::cancellation_signal stop;
    const auto what = call(keeps, {}, stop.slot());
    bool told = false;
    kept->get_cancellation_slot().assign([&](asio::cancellation_type) { told = true; });
    (*kept)("answer");
    poll();
    stop.emit(asio::cancellation_type::terminal);
    poll();
    BOOST_TEST((**what).answer == "answer");
    BOOST_TEST(!told);
}

BOOST_AUTO_TEST_CASE(any_timeout_is_a_time)
{
    const auto what = call(keeps, {.timeout = std::chrono::milliseconds::max()});
    time.advance(std::chrono::hours(1000));
    poll();
    BOOST_TEST(!what->has_value());
    (*kept)("x");
    poll();
    BOOST_TEST((**what).answer == "x");
}

BOOST_AUTO_TEST_CASE(an_answer_may_come_from_another_thread_and_the_loop_waits_for_it)
{
    const auto what = call(keeps);
    std::thread other([this] { (*kept)("from there"); });
    io->restart();
    io->run();
    other.join();
    BOOST_TEST((**what).answer == "from there");
}

BOOST_AUTO_TEST_CASE(an_event_loop_that_is_destroyed_drops_the_call)
{
    auto alive = std::make_shared<int>();
    detail::call_host<std::string>(
        io->get_executor(), clock::steady(), {},
        [alive](const std::exception_ptr&, const std::string&) { BOOST_ERROR("called"); },
        [this](text_reply reply) { kept.emplace(std::move(reply)); });
    poll();
    io.reset();
    BOOST_TEST(alive.use_count() == 1);
    (*kept)("nobody hears it");
}

BOOST_AUTO_TEST_CASE(a_cancellation_that_comes_before_the_answer_is_there_ends_it)
{
    asio::cancellation_signal stop;
    const auto what =
        call(keeps, {.if_cut = std::make_exception_ptr(my_error("cut"))}, stop.slot());
    bool told = false;
    kept->get_cancellation_slot().assign([&](asio::cancellation_type) { told = true; });
    stop.emit(asio::cancellation_type::terminal);
    (*kept)("answer");  // on its way when the cancellation arrives
    poll();
    BOOST_REQUIRE(what->has_value());
    BOOST_TEST((*what)->message() == "cut");
    BOOST_TEST(!told);  // it had answered
}

BOOST_AUTO_TEST_CASE(an_answer_counts_that_comes_right_before_the_time_is_over)
{
    const auto what = call(keeps, {.timeout = 5ms});
    (*kept)("answer");
    time.advance(5ms);
    poll();
    BOOST_REQUIRE(what->has_value());
    BOOST_TEST((*what)->answer == "answer");
}

BOOST_AUTO_TEST_CASE(a_call_that_is_over_keeps_nothing)
{
    for (const bool answers : {true, false}) {
        const auto held = std::make_shared<int>();
        asio::cancellation_signal stop;
        const auto what =
            call([this, held](int, text_reply reply) { kept.emplace(std::move(reply)); }, {},
                 stop.slot());
        BOOST_TEST(held.use_count() > 1);
        if (answers) {
            (*kept)("answer");
        } else {
            stop.emit(asio::cancellation_type::terminal);
        }
        poll();
        BOOST_TEST(what->has_value());
        kept.reset();
        poll();
        BOOST_TEST(held.use_count() == 1);
    }
}

BOOST_AUTO_TEST_CASE(what_comes_after_a_cancellation_may_come_after_the_loop_has_gone)
{
    asio::cancellation_signal stop;
    const auto what = call(keeps, {}, stop.slot());
    stop.emit(asio::cancellation_type::terminal);
    poll();
    BOOST_TEST(what->has_value());
    io.reset();
    (*kept)("nobody hears it");
}

BOOST_AUTO_TEST_CASE(a_reply_may_outlive_the_event_loop_that_the_caller_was_bound_to)
{
    detail::call_host<std::string>(
        io->get_executor(), clock::steady(), {},
        // such as a coroutine's, of a handler that asks
        asio::bind_executor(
            asio::make_strand(*io),
            [](const std::exception_ptr&, const std::string&) { BOOST_ERROR("called"); }),
        [this](text_reply reply) { kept.emplace(std::move(reply)); });
    poll();
    io.reset();
    kept.reset();  // under AddressSanitizer
}

BOOST_AUTO_TEST_SUITE_END()
