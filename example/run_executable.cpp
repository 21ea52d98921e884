// Runs a program with input, within a second, and says what became of it.

#include <belay/process.hpp>

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdio>

int main()
{
    using namespace std::chrono_literals;

    belay::process::invocation sort;
    sort.argv = {"/usr/bin/sort", "--reverse"};
    sort.timeout = 1s;

    boost::asio::io_context loop;
    belay::process::async_run(
        loop.get_executor(), sort, "bowline\nclove hitch\nsheet bend\n",
        [](belay::error_code error, const belay::process::exit_report& report) {
            if (error)
                std::printf("failed: %s. %s\n", error.message().c_str(), report.detail.c_str());
            else if (!report.status.is_success())
                std::printf("sort was not content: %s\n", report.err.c_str());
            else
                std::printf("%s", report.out.c_str());
        });
    loop.run();
}
