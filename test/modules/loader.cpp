#include <belay/modules/discovery.hpp>
#include <belay/modules/loader.hpp>
#include <belay/modules/module.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include <chrono>
#include <dlfcn.h>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace belay;
using namespace belay::modules;
using namespace belay::test;
using namespace std::chrono_literals;
using strings = std::vector<std::string>;

namespace {

std::string library(const std::string& name)
{
    return BELAY_TEST_LIBRARIES "/" + name + ".so";
}

const std::string no_factory = "Extension does not export a valid factory function: ";
const std::string failed = "Failed to load extension: ";

// A library that the process has opened; there is none if it is not open.
struct open_library {
    explicit open_library(const std::string& path)
        : handle(::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD))
    {}
    open_library(const open_library&) = delete;
    open_library& operator=(const open_library&) = delete;
    ~open_library()
    {
        if (handle != nullptr) ::dlclose(handle);
    }

    int& variable(const char* name) const
    {
        BOOST_REQUIRE(handle != nullptr);
        auto* found = static_cast<int*>(::dlsym(handle, name));
        BOOST_REQUIRE(found != nullptr);
        return *found;
    }

    void* handle;
};

struct loader_host : module_host {
    using module_host::module_host;

    load_result load(const strings& paths) { return modules::load(*runner, paths); }

    // The message about the only path, which was not loaded, and that the operator was told once.
    std::string why_not(const std::string& path)
    {
        const auto loaded = load({path});
        BOOST_TEST(loaded.modules.empty());
        BOOST_TEST(runner->modules().empty());
        BOOST_REQUIRE(loaded.errors.size() == 1u);
        BOOST_TEST(loaded.errors[0].path == path);
        BOOST_TEST(told == strings{path + ": " + loaded.errors[0].message},
                   boost::test_tools::per_element());
        return loaded.errors[0].message;
    }

    // Why the guard blocks the tool `bash`; empty if it does not.
    std::string block_of_bash()
    {
        tool_call event;
        event.tool_name = "bash";
        return emit(std::move(event)).reason;
    }
};

struct agent_in_libraries : agent {
    std::string cwd() const override { return BELAY_TEST_LIBRARIES; }
};

struct host_in_libraries : loader_host {
    host_in_libraries() : loader_host({.agent = std::make_shared<agent_in_libraries>()}) {}
};

struct agent_without_folder : agent {
    std::string cwd() const override { throw std::runtime_error("there is no folder"); }
};

struct host_without_folder : loader_host {
    host_without_folder() : loader_host({.agent = std::make_shared<agent_without_folder>()}) {}
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(loader_suite, loader_host)

BOOST_AUTO_TEST_CASE(a_library_is_a_module_called_by_its_path)
{
    const auto loaded = load({library("guard")});
    BOOST_TEST(loaded.modules == strings{library("guard")}, boost::test_tools::per_element());
    BOOST_TEST(loaded.errors.empty());
    BOOST_TEST(told.empty());
    BOOST_TEST(runner->modules() == strings{library("guard")}, boost::test_tools::per_element());
    BOOST_TEST(block_of_bash() == "blocked by policy");
}

BOOST_AUTO_TEST_CASE(a_missing_file_is_an_error_in_the_words_of_the_system)
{
    const auto path = library("gone");
    BOOST_TEST(why_not(path) ==
               failed + path + ": cannot open shared object file: No such file or directory");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_library_is_an_error_in_the_words_of_the_system)
{
    const std::string path = BELAY_TEST_SOURCE_DIR "/modules/libraries/guard.cpp";
    const auto why = why_not(path);
    BOOST_TEST(why.starts_with(failed + path + ": "), why);
    BOOST_TEST(why.size() > (failed + path + ": ").size());
}

BOOST_AUTO_TEST_CASE(a_folder_is_no_library)
{
    BOOST_TEST(why_not(BELAY_TEST_LIBRARIES).starts_with(failed + BELAY_TEST_LIBRARIES ": "));
}

BOOST_AUTO_TEST_CASE(a_pipe_is_not_waited_for)
{
    const std::string path =
        std::filesystem::temp_directory_path() / ("belay-pipe-" + std::to_string(::getpid()));
    BOOST_TEST_REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    BOOST_TEST(why_not(path) == failed + path + ": it is no file");
    std::filesystem::remove(path);
}

BOOST_AUTO_TEST_CASE(a_path_with_a_NUL_names_no_other_library)
{
    const auto path = library("guard") + '\0' + "x";
    BOOST_TEST(why_not(path) == failed + "its path contains a NUL");
}

BOOST_AUTO_TEST_CASE(a_path_that_is_nothing_is_an_error_like_any_other)
{
    BOOST_TEST(why_not("local://x.so").starts_with(failed));
}

BOOST_AUTO_TEST_CASE(a_library_that_exports_no_module_has_no_factory)
{
    BOOST_TEST(why_not(library("no_module")) == no_factory + library("no_module"));
}

BOOST_AUTO_TEST_CASE(something_else_called_like_our_symbol_is_not_called)
{
    for (const auto* name : {"other_symbol", "function_symbol", "small_symbol"}) {
        told.clear();
        BOOST_TEST(why_not(library(name)) == no_factory + library(name));
    }
}

BOOST_AUTO_TEST_CASE(the_program_itself_has_no_factory)
{
    BOOST_TEST(why_not("/proc/self/exe") == no_factory + "/proc/self/exe");
}

BOOST_AUTO_TEST_CASE(a_module_of_another_build_is_not_called_and_both_builds_are_named)
{
    BOOST_TEST(why_not(library("other_build")) ==
               failed + "it was built with \"belay 99.0.0, Boost 9_99\", and its host with \"" +
                   build_id + "\"");
}

#if defined(__GLIBCXX__)
BOOST_AUTO_TEST_CASE(a_module_with_another_layout_of_strings_is_not_called)
{
    BOOST_TEST(why_not(library("old_string")) ==
               failed + "it was built with \"" + build_id +
                   " with the old std::string\", and its host with \"" + build_id + "\"");
}
#endif

BOOST_AUTO_TEST_CASE(a_module_that_shares_nothing_with_its_host_is_not_called)
{
    BOOST_TEST(why_not(library("own_copy")) ==
               failed +
                   "it would have its own copy of what it must share with its host: link the "
                   "host with -rdynamic (CMake: ENABLE_EXPORTS), and compile neither with "
                   "hidden visibility");
}

BOOST_AUTO_TEST_CASE(a_module_may_have_a_pipe_of_its_own)
{
    load({library("pipes")});
    std::string reason;
    runner->async_emit(tool_call{},
                       [&](error_code, const tool_call::outcome& said) { reason = said.reason; });
    io.restart();
    io.run();
    BOOST_TEST(reason == "it came");
}

BOOST_AUTO_TEST_CASE(a_factory_that_throws_is_an_error_and_leaves_nothing_behind)
{
    BOOST_TEST(why_not(library("throws")) == failed + "init");
    BOOST_TEST(!runner->has_handlers<turn_start>());
}

BOOST_AUTO_TEST_CASE(a_factory_must_not_act)
{
    BOOST_TEST(why_not(library("sends")) ==
               failed +
                   "Extension runtime not initialized. Action methods cannot be called during "
                   "extension loading.");
}

BOOST_AUTO_TEST_CASE(loading_goes_on_after_an_error)
{
    const auto loaded = load({library("gone"), library("guard"), library("throws"), library("gone"),
                              library("no_module")});
    BOOST_TEST(loaded.modules == strings{library("guard")}, boost::test_tools::per_element());
    strings failed_ones;
    for (const auto& error : loaded.errors) failed_ones.push_back(error.path);
    BOOST_TEST(failed_ones == (strings{library("gone"), library("throws"), library("gone"),
                                       library("no_module")}),
               boost::test_tools::per_element());
    BOOST_TEST(told.size() == 4u);
    BOOST_TEST(block_of_bash() == "blocked by policy");
}

BOOST_AUTO_TEST_CASE(a_path_that_is_there_twice_is_loaded_twice)
{
    const auto loaded = load({library("guard"), library("guard")});
    BOOST_TEST(loaded.modules == (strings{library("guard"), library("guard")}),
               boost::test_tools::per_element());
    BOOST_TEST(runner->modules() == loaded.modules, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_runner_has_a_module_of_its_own)
{
    loader_host other;
    BOOST_TEST(other.load({library("guard")}).errors.empty());
    BOOST_TEST(!runner->has_handlers<tool_call>());
    BOOST_TEST(load({library("guard")}).errors.empty());
    BOOST_TEST(block_of_bash() == "blocked by policy");
    BOOST_TEST(other.block_of_bash() == "blocked by policy");
}

BOOST_AUTO_TEST_CASE(runners_of_several_threads_load_at_the_same_time)
{
    std::vector<std::thread> threads;
    std::vector<std::size_t> loaded(4);
    for (auto& count : loaded) {
        threads.emplace_back([&count] {
            boost::asio::io_context context;
            modules::runner mine(context.get_executor());
            count = modules::load(mine, {library("guard"), library("throws")}).modules.size();
        });
    }
    for (auto& one : threads) one.join();
    BOOST_TEST(loaded == std::vector<std::size_t>(4, 1), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_relative_path_is_one_of_the_conversation, host_in_libraries)
{
    const auto loaded = load({"./guard.so", "gone.so"});
    BOOST_TEST(loaded.modules == strings{"./guard.so"}, boost::test_tools::per_element());
    BOOST_REQUIRE(loaded.errors.size() == 1u);
    BOOST_TEST(loaded.errors[0].path == "gone.so");
    BOOST_TEST(loaded.errors[0].message.starts_with(failed + library("gone") + ": "));
}

BOOST_FIXTURE_TEST_CASE(an_agent_that_throws_is_an_error_of_the_path, host_without_folder)
{
    BOOST_TEST(why_not("guard.so") == failed + "there is no folder");
}

BOOST_AUTO_TEST_CASE(a_library_stays_open_for_what_still_runs_when_its_runner_is_gone)
{
    BOOST_TEST(load({library("lingers")}).errors.empty());
    runner->async_emit(turn_start{}, [](error_code, const notified&) {});
    poll();
    runner.reset();
    const open_library lingers(library("lingers"));
    BOOST_TEST(lingers.variable("lingers_ended") == 0);
    io.restart();
    io.run_for(60s);
    BOOST_TEST(lingers.variable("lingers_ended") == 2);
}

// Compilers keep most C++ libraries open by themselves, but not this one.
BOOST_AUTO_TEST_CASE(a_library_stays_open_when_its_runner_and_event_loop_are_gone)
{
    {
        loader_host short_lived;
        BOOST_TEST(short_lived.load({library("no_module")}).errors.size() == 1u);
    }
    BOOST_TEST(open_library(library("no_module")).handle != nullptr);
}

BOOST_AUTO_TEST_CASE(a_tilde_is_the_home_directory_also_of_a_path_that_is_loaded)
{
    BOOST_TEST(
        why_not("~/belay_gone.so").starts_with(failed + home_directory() + "/belay_gone.so: "));
}

BOOST_AUTO_TEST_SUITE_END()
