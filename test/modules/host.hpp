#ifndef BELAY_TEST_MODULES_HOST_HPP
#define BELAY_TEST_MODULES_HOST_HPP

// A host with a runner, whose clock a test turns.

#include <belay/core/coroutine.hpp>
#include <belay/modules/runner.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include "../common/manual_clock.hpp"
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::test {

struct module_host {
    explicit module_host(modules::runner_options options = {})
    {
        options.time = &time;
        options.operator_channel = [this](const modules::operator_notice& notice) {
            told.push_back(notice.module + ": " + notice.message);
        };
        runner = std::make_unique<modules::runner>(io.get_executor(), std::move(options));
        runner->on_error([this](const modules::handler_error& why) {
            errors.push_back(why.module + " | " + why.event + " | " + why.message);
        });
    }

    void add(std::string name, const modules::module_factory& factory)
    {
        const auto added = runner->add(std::move(name), factory);
        if (!added) BOOST_FAIL(added.error().message);
    }

    /// Runs what is ready, without turning the clock.
    void poll()
    {
        io.restart();
        io.poll();
    }

    /// Starts; the outcome is there once it has ended.
    template <class E>
    std::shared_ptr<std::optional<outcome_of<E>>> start(E event)
    {
        auto ended = std::make_shared<std::optional<outcome_of<E>>>();
        runner->async_emit(std::move(event), [ended](error_code ec, outcome_of<E> outcome) {
            BOOST_TEST(!ec, ec.message());
            ended->emplace(std::move(outcome));
        });
        poll();
        return ended;
    }

    /// Of handlers that wait for nothing but the event loop.
    template <class E>
    outcome_of<E> emit(E event)
    {
        auto ended = start(std::move(event));
        BOOST_REQUIRE_MESSAGE(ended->has_value(), "it has not ended");
        return **std::move(ended);
    }

    boost::asio::io_context io;
    manual_clock time;
    std::vector<std::string> told;    ///< on the operator channel: "module: message"
    std::vector<std::string> errors;  ///< to the error listener: "module | event | message"
    std::unique_ptr<modules::runner> runner;
};

}  // namespace belay::test

#endif
