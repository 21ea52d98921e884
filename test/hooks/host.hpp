#ifndef BELAY_TEST_HOOKS_HOST_HPP
#define BELAY_TEST_HOOKS_HOST_HPP

// A host for tests: a clock that is turned by hand, a log that is kept, and executables that are
// functions, unless a test wants real ones.

#include <belay/hooks/config.hpp>
#include <belay/hooks/log.hpp>
#include <belay/hooks/registry.hpp>
#include <belay/hooks/session.hpp>
#include <belay/process/exit_report.hpp>
#include <belay/process/invocation.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include "../common/manual_clock.hpp"
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace belay::test {

using namespace belay::hooks;

struct kept_log final : log_sink {
    void on_record(const boost::json::object& record) noexcept override
    {
        records.push_back(record);
    }

    // The records of one type.
    std::vector<boost::json::object> of(std::string_view type) const
    {
        std::vector<boost::json::object> found;
        for (const auto& one : records) {
            if (text(one, "type") == type) found.push_back(one);
        }
        return found;
    }

    static std::string text(const boost::json::object& record, std::string_view key)
    {
        const auto* value = record.if_contains(key);
        return value && value->is_string() ? std::string(value->get_string()) : std::string();
    }

    std::vector<boost::json::object> records;
};

// Has no timers while it is broken: then a chain whose hook does not answer at once ends with
// errc::threw.
struct unreliable_clock final : clock {
    time_point now() const noexcept override { return inner.now(); }
    std::unique_ptr<timer> make_timer(const boost::asio::any_io_executor& executor) override
    {
        if (broken) throw std::bad_alloc();
        return inner.make_timer(executor);
    }

    manual_clock inner;
    bool broken = false;
};

// Stands in for process::async_run. By file name: what the program prints, or nothing, and then it
// runs for ever; what it says on stderr. Unless it is told otherwise a program exits with 0.
struct pretended_programs {
    using done = boost::asio::any_completion_handler<void(error_code, process::exit_report)>;

    std::map<std::string, std::optional<std::string>> prints;
    std::map<std::string, std::string> complains;
    std::map<std::string, int> exits;

    struct run {
        std::string program;
        boost::json::object input;
        std::optional<std::chrono::milliseconds> timeout;
    };
    std::vector<run> runs;

    // What never ends, kept alive.
    std::vector<std::unique_ptr<done>> hanging;

    void operator()(boost::asio::any_io_executor executor, process::invocation what,
                    std::string input, done handler)
    {
        const auto& path = what.argv.front();
        const auto name = path.substr(path.rfind('/') + 1);
        runs.push_back({name, boost::json::parse(input).as_object(), what.timeout});
        const auto printed = prints.find(name);
        if (printed != prints.end() && !printed->second) {
            hanging.push_back(std::make_unique<done>(std::move(handler)));
            return;
        }
        process::exit_report report;
        report.status = process::exit_status::exited(exits[name]);
        report.err = complains[name].substr(0, what.limits.err);
        report.out = printed == prints.end() ? R"({"power":"observe"})" : *printed->second;
        boost::asio::post(executor, [handler = std::move(handler), report]() mutable {
            std::move(handler)(error_code(), std::move(report));
        });
    }

    // One of those that never end does, and has printed that.
    void end(std::size_t which, std::string printed)
    {
        process::exit_report report;
        report.status = process::exit_status::exited(0);
        report.out = std::move(printed);
        std::move (*hanging.at(which))(error_code(), std::move(report));
    }

    std::vector<std::string> names() const
    {
        std::vector<std::string> all;
        for (const auto& one : runs) all.push_back(one.program);
        return all;
    }
};

// What a deferred operation delivers.
template <class Op>
struct delivered;

template <class Outcome, class... Rest>
struct delivered<boost::asio::deferred_async_operation<void(error_code, Outcome), Rest...>> {
    using type = Outcome;
};

struct host {
    host() = default;
    ~host() { programs.hanging.clear(); }

    registry_options options()
    {
        registry_options made;
        made.time = &time;
        made.log = &log;
        made.run.run = std::ref(programs);
        return made;
    }

    // Starts an operation, and nothing else. Its future is broken if its handler is destroyed
    // uncalled.
    template <class Op>
    static auto launch(Op op)
    {
        using outcome = typename delivered<Op>::type;
        auto promise = std::make_shared<std::promise<std::tuple<error_code, outcome>>>();
        auto future = promise->get_future();
        std::move(op)(
            [promise](error_code ec, outcome said) { promise->set_value({ec, std::move(said)}); });
        return future;
    }

    // Starts an operation and lets everything happen that can happen without time passing.
    template <class Op>
    auto start(Op op)
    {
        auto future = launch(std::move(op));
        drain();
        return future;
    }

    // Starts an operation that ends by itself.
    template <class Op>
    auto finish(Op op)
    {
        auto future = start(std::move(op));
        BOOST_REQUIRE_MESSAGE(is_done(future), "the operation has not completed");
        return future.get();
    }

    template <class Outcome>
    static bool is_done(const std::future<Outcome>& future)
    {
        return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }

    void drain()
    {
        io.restart();
        io.poll();
    }

    // For what happens on its own: other threads, real programs.
    template <class Outcome>
    void wait(const std::future<Outcome>& future)
    {
        io.restart();
        while (!is_done(future)) {
            BOOST_REQUIRE_MESSAGE(io.run_one_for(std::chrono::minutes(2)) != 0, "nothing happens");
        }
    }

    void pass(std::chrono::milliseconds time_passed)
    {
        time.advance(time_passed);
        drain();
    }

    void use(const std::string& hooks_list)
    {
        auto parsed = config::parse(R"({"hooks":)" + hooks_list + "}", "/home/nobody/.vera");
        BOOST_REQUIRE_MESSAGE(parsed.has_value(), "the configuration does not load");
        hooks.use(std::make_shared<const config>(*std::move(parsed))).value();
    }

    // A session that has started.
    session open(session_options who = {.id = "s-1", .workspace = "/nest"})
    {
        auto made = hooks.create_session(std::move(who)).value();
        auto [ec, started] = finish(made.async_start(session_start::cause::start));
        BOOST_REQUIRE(!ec);
        return made;
    }

    // One that is in a turn.
    session open_in_turn(std::vector<std::string> tools = {"bash", "read"})
    {
        auto made = open();
        begin(made, "go", std::move(tools));
        return made;
    }

    pre_turn::outcome begin(session& in, std::string prompt,
                            std::vector<std::string> tools = {"bash", "read"})
    {
        turn_settings settings{"model-a", {}, std::move(tools)};
        auto [ec, said] = finish(in.async_begin_turn(std::move(prompt), std::move(settings)));
        BOOST_REQUIRE(!ec);
        return said;
    }

    boost::asio::io_context io;
    manual_clock time;
    kept_log log;
    pretended_programs programs;
    registry hooks{io.get_executor(), options()};
};

}  // namespace belay::test

#endif
