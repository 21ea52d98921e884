#include <belay/process/boost_launcher.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/readable_pipe.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/writable_pipe.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include "support.hpp"
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace asio = boost::asio;
namespace v2 = boost::process::v2;

using launcher_type = belay::process::boost_launcher;

using boost::system::error_code;
using test::forever;
using namespace std::chrono_literals;

namespace {

using strings = std::vector<std::string>;

/// Runs the probe to its end; returns what it wrote to stdout.
template <class... Inits>
std::string output_of(launcher_type& launcher, const strings& modes, Inits&&... inits)
{
    asio::io_context loop;
    asio::readable_pipe out(loop);
    std::string text;
    auto process = launcher(loop, BELAY_TEST_PROBE, modes, v2::process_stdio{{}, out, {}},
                            std::forward<Inits>(inits)...);
    error_code end;
    asio::read(out, asio::dynamic_buffer(text), end);
    process.wait();
    BOOST_TEST(process.exit_code() == 0);
    return text;
}

template <class... Inits>
std::string output_of(const strings& modes, Inits&&... inits)
{
    launcher_type launcher;
    return output_of(launcher, modes, std::forward<Inits>(inits)...);
}

/// Counts what the launcher calls, and refuses where it is told to.
struct counting {
    int setups = 0;
    int successes = 0;
    int errors = 0;
    error_code seen = {};
    int refuse_setup = 0;
    int refuse_in_child = 0;
    pid_t child = -1;

    error_code on_setup(v2::posix::default_launcher&, const v2::filesystem::path&,
                        const char* const*&)
    {
        ++setups;
        return {refuse_setup, boost::system::generic_category()};
    }

    error_code on_exec_setup(v2::posix::default_launcher&, const v2::filesystem::path&,
                             const char* const*&)
    {
        child = static_cast<pid_t>(::syscall(SYS_getpid));
        return {refuse_in_child, boost::system::generic_category()};
    }

    void on_success(v2::posix::default_launcher&, const v2::filesystem::path&, const char* const*&)
    {
        ++successes;
    }

    void on_error(v2::posix::default_launcher&, const v2::filesystem::path&, const char* const*&,
                  const error_code& error)
    {
        ++errors;
        seen = error;
    }
};

/// Gives the child a descriptor under another number.
struct as_77 {
    int number;

    error_code on_setup(v2::posix::default_launcher& launcher, const v2::filesystem::path&,
                        const char* const*&) const
    {
        launcher.fd_whitelist.push_back(77);
        return {};
    }

    error_code on_exec_setup(v2::posix::default_launcher&, const v2::filesystem::path&,
                             const char* const*&) const
    {
        return {::dup2(number, 77) == 77 ? 0 : errno, boost::system::system_category()};
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(boost_launcher)

BOOST_AUTO_TEST_CASE(a_process_runs_and_can_be_waited_for)
{
    asio::io_context loop;
    launcher_type launcher;
    v2::process process(launcher(loop.get_executor(), BELAY_TEST_PROBE, strings{"exit", "7"}));
    BOOST_TEST(process.id() == launcher.pid);
    int code = -1;
    process.async_wait([&](error_code error, int status) {
        BOOST_TEST(!error);
        code = status;
    });
    loop.run();
    BOOST_TEST(code == 7);
    BOOST_TEST(!test::has_children());
}

BOOST_AUTO_TEST_CASE(a_process_can_be_ended)
{
    asio::io_context loop;
    v2::process process(launcher_type{}(loop, BELAY_TEST_PROBE, strings{"sleep", forever}));
    BOOST_TEST(process.running());
    process.terminate();
    process.wait();
    BOOST_TEST(process.native_exit_code() == SIGKILL);
    BOOST_TEST(!test::has_children());
}

BOOST_AUTO_TEST_CASE(a_launcher_can_be_used_again)
{
    launcher_type launcher;
    BOOST_TEST(output_of(launcher, {"json", "first"}) == "first");
    BOOST_TEST(output_of(launcher, {"json", "second"}) == "second");
}

BOOST_AUTO_TEST_CASE(a_program_that_is_missing_is_an_error_and_leaves_nothing)
{
    asio::io_context loop;
    launcher_type{}(loop, BELAY_TEST_PROBE, strings{"exit", "0"})
        .wait();  // the loop has its own now
    const auto descriptors = test::open_descriptors();
    launcher_type launcher;
    counting init;
    error_code error;
    for (int i = 0; i < 5; ++i) {
        auto by_context = launcher(loop, error, "/nonexistent/program", strings{}, init);
        BOOST_TEST(error.value() == ENOENT);
        BOOST_TEST(!by_context.is_open());
        auto by_executor =
            launcher(loop.get_executor(), error, "/nonexistent/program", strings{}, init);
        BOOST_TEST(error.value() == ENOENT);
        BOOST_TEST(!by_executor.is_open());
    }
    BOOST_TEST(init.errors == 10);
    BOOST_TEST(init.successes == 0);
    BOOST_TEST((init.seen == error));
    BOOST_CHECK_THROW(launcher(loop, "/nonexistent/program", strings{}),
                      boost::system::system_error);
    BOOST_CHECK_THROW(launcher(loop.get_executor(), "/nonexistent/program", strings{}),
                      boost::system::system_error);
    BOOST_TEST(!test::has_children());
    BOOST_TEST((test::open_descriptors() == descriptors));
}

BOOST_AUTO_TEST_CASE(a_failed_launch_runs_nothing_of_the_hosts_end)
{
    static int ended_in = 0;
    std::atexit([] { ended_in = static_cast<int>(::getpid()); });
    asio::io_context loop;
    error_code error;
    launcher_type{}(loop, error, "/nonexistent/program", strings{});
    BOOST_TEST(ended_in == 0);

    // And the reactor is the one that it was: descriptors and timers go on.
    asio::readable_pipe read(loop);
    asio::writable_pipe write(loop);
    asio::connect_pipe(read, write);
    bool has_read = false;
    bool has_waited = false;
    char byte = 0;
    read.async_read_some(asio::buffer(&byte, 1),
                         [&](error_code failure, std::size_t) { has_read = !failure; });
    asio::steady_timer timer(loop, 5ms);
    timer.async_wait([&](error_code failure) {
        has_waited = !failure;
        asio::write(write, asio::buffer("x", 1));
    });
    loop.run();
    BOOST_TEST(has_read);
    BOOST_TEST(has_waited);
}

BOOST_AUTO_TEST_CASE(stdio_goes_where_it_is_sent)
{
    const test::scratch_folder folder;
    asio::io_context loop;
    asio::writable_pipe in(loop);
    const v2::filesystem::path file(folder / "out");
    v2::process process(launcher_type{}(loop, BELAY_TEST_PROBE,
                                        strings{"echo", "say-err", "unseen"},
                                        v2::process_stdio{in, file, nullptr}));
    asio::write(in, asio::buffer("a line\n", 7));
    in.close();
    process.wait();
    BOOST_TEST(process.exit_code() == 0);
    BOOST_TEST(test::read_file(folder / "out") == "a line\n");
}

BOOST_AUTO_TEST_CASE(stdio_that_cannot_be_opened_is_an_error)
{
    asio::io_context loop;
    counting init;
    error_code error;
    launcher_type{}(loop, error, BELAY_TEST_PROBE, strings{"exit", "0"},
                    v2::process_stdio{v2::filesystem::path("/nonexistent/input"), {}, {}}, init);
    BOOST_TEST(error.value() == EBADF);
    BOOST_TEST(init.errors == 1);
    BOOST_TEST(!test::has_children());
}

BOOST_AUTO_TEST_CASE(the_child_starts_in_the_directory_asked_for)
{
    const test::scratch_folder folder;
    const std::string there = std::filesystem::canonical(folder.path()).string();
    BOOST_TEST(output_of({"cwd"}, v2::process_start_dir(there)) == '"' + there + '"');

    asio::io_context loop;
    error_code error;
    launcher_type{}(loop, error, BELAY_TEST_PROBE, strings{},
                    v2::process_start_dir("/nonexistent"));
    BOOST_TEST(error.value() == ENOENT);
    BOOST_TEST(!test::has_children());
}

BOOST_AUTO_TEST_CASE(no_descriptor_is_passed_on_but_those_asked_for)
{
    const int open = ::open("/dev/null", O_RDONLY);  // without close-on-exec
    BOOST_TEST(output_of({"fds"}) == "[0,1,2]");
    BOOST_TEST(output_of({"fds"}, as_77{open}) == "[0,1,2,77]");
    ::close(open);
}

BOOST_AUTO_TEST_CASE(no_signal_is_inherited_as_ignored)
{
    const test::changed_disposition ignored(SIGPIPE, SIG_IGN);
    BOOST_TEST(output_of({"signals"}).find(R"("SigIgn":"0000000000000000")") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(initialisers_are_called_in_the_host_and_in_the_child)
{
    asio::io_context loop;
    launcher_type launcher;
    counting init;
    v2::process process(launcher(loop, BELAY_TEST_PROBE, strings{"exit", "0"}, init));
    process.wait();
    BOOST_TEST(init.setups == 1);
    BOOST_TEST(init.successes == 1);
    BOOST_TEST(init.errors == 0);
    BOOST_TEST(init.child == launcher.pid);
}

BOOST_AUTO_TEST_CASE(an_initialiser_may_refuse_in_the_host)
{
    asio::io_context loop;
    counting init;
    init.refuse_setup = EDOM;
    error_code error;
    launcher_type{}(loop, error, BELAY_TEST_PROBE, strings{}, init);
    BOOST_TEST((error == boost::system::errc::argument_out_of_domain));
    BOOST_TEST(init.child == -1);
    BOOST_TEST(init.errors == 1);
}

BOOST_AUTO_TEST_CASE(an_initialiser_may_refuse_in_the_child_and_its_error_arrives)
{
    asio::io_context loop;
    counting init;
    init.refuse_in_child = EDOM;
    error_code error;
    launcher_type{}(loop, error, BELAY_TEST_PROBE, strings{}, init);
    BOOST_TEST((error.category() == boost::system::generic_category()));
    BOOST_TEST(error.value() == EDOM);
    BOOST_TEST(init.child > 0);
    BOOST_TEST(init.errors == 1);
    BOOST_TEST(!test::has_children());
}

BOOST_AUTO_TEST_CASE(the_environment_is_the_one_that_the_launcher_was_given)
{
    const char* const variables[] = {"A=1", nullptr};
    launcher_type launcher;
    launcher.env = variables;
    BOOST_TEST(output_of(launcher, {"env"}) == R"(["A=1"])");
}

BOOST_AUTO_TEST_CASE(the_child_leads_a_group_when_asked_to)
{
    for (const bool own_group : {true, false}) {
        asio::io_context loop;
        launcher_type launcher;
        launcher.own_group = own_group;
        v2::process process(launcher(loop, BELAY_TEST_PROBE, strings{"sleep", forever}));
        BOOST_TEST(::getpgid(process.id()) == (own_group ? process.id() : ::getpgrp()));
        process.terminate();
        process.wait();
    }
}

BOOST_AUTO_TEST_SUITE_END()
