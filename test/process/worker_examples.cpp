#include <belay/process/worker.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include "support.hpp"
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>

namespace process = belay::process;
using namespace std::chrono_literals;

namespace {

const std::filesystem::path examples =
    std::filesystem::path(BELAY_TEST_SOURCE_DIR).parent_path() / "example/hooks/workers";

/// Asks it about calls that are allowed and one that is not.
void check_guard(const std::string& program)
{
    boost::asio::io_context loop;
    process::worker guard(loop.get_executor(), {.argv = {program}});
    const std::pair<std::string, std::string> calls[] = {
        {"ls charts/", R"({"power":"observe"})"},
        {"rm -r charts/", R"({"power":"block","reason":"Charts are never deleted."})"},
        {"rm attic/old", R"({"power":"observe"})"},
    };
    std::size_t answers = 0;
    for (const auto& [command, expected] : calls)
        guard.async_request(
            R"({"type":"pre_tool_use","toolCall":{"id":"1","name":"bash","input":{"command":")" +
                command + "\"}}}",
            20s, [&](belay::error_code error, const process::worker_reply& reply) {
                BOOST_TEST(!error, reply.detail << reply.err);
                if (!error)
                    BOOST_TEST((boost::json::parse(reply.result) == boost::json::parse(expected)));
                if (++answers == std::size(calls)) guard.shut_down();
            });
    loop.run();
    BOOST_TEST(answers == std::size(calls));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(worker_examples)

BOOST_AUTO_TEST_CASE(the_worker_in_sh_guards)
{
    check_guard((examples / "chart-guard.sh").string());
}

BOOST_AUTO_TEST_CASE(the_worker_in_python_guards)
{
    check_guard((examples / "chart-guard.py").string());
}

BOOST_AUTO_TEST_CASE(the_worker_for_node_guards)
{
    if (std::system("command -v node >/dev/null 2>&1") != 0) {
        BOOST_TEST_MESSAGE("there is no Node here");
        return;
    }
    check_guard((examples / "chart-guard.mjs").string());
}

BOOST_AUTO_TEST_CASE(the_worker_in_cpp_guards)
{
    check_guard(std::filesystem::path(BELAY_TEST_PROBE).replace_filename("chart_guard").string());
}

BOOST_AUTO_TEST_SUITE_END()
