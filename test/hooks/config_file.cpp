#include <belay/hooks/config_file.hpp>

#include <boost/system/system_category.hpp>
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

using namespace belay;
using namespace belay::hooks;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

const std::string one_hook = R"({"hooks":[{"phase":"pre_turn","argv":["a"]}]})";
const std::string two_hooks =
    R"({"hooks":[{"phase":"pre_turn","argv":["a"]},{"phase":"pre_turn","argv":["b"]}]})";

struct home_folder {
    home_folder()
    {
        std::string name = (fs::temp_directory_path() / "belay-test-XXXXXX").string();
        BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
        path = name;
        file = path / "config.json";
    }
    home_folder(const home_folder&) = delete;
    home_folder& operator=(const home_folder&) = delete;
    ~home_folder()
    {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }

    // Each writing has a modification time of its own.
    void write(std::string_view text)
    {
        std::ofstream(file, std::ios::binary) << text;
        fs::last_write_time(file, fs::file_time_type::clock::now() + ++writings_ * 10s);
    }

    fs::path path;
    fs::path file;

private:
    int writings_ = 0;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(config_file_suite, home_folder)

BOOST_AUTO_TEST_CASE(there_is_no_config_before_the_first_load)
{
    write(one_hook);
    config_file config(file);
    BOOST_TEST(!config.current());
    BOOST_TEST(!config.fault().has_value());
}

BOOST_AUTO_TEST_CASE(hooks_lie_beside_the_file)
{
    write(one_hook);
    config_file config(file);
    BOOST_REQUIRE(config.load().has_value());
    BOOST_REQUIRE(config.current()->size() == 1U);
    BOOST_TEST(config.current()->executables()->at(0).argv[0] == (path / "hooks/a").string());
}

BOOST_AUTO_TEST_CASE(a_file_that_never_was_is_a_config_without_hooks)
{
    config_file config(file);
    BOOST_REQUIRE(config.load().has_value());
    BOOST_REQUIRE(config.current());
    BOOST_TEST(config.current()->size() == 0U);
    BOOST_REQUIRE(config.refresh().has_value());
    BOOST_TEST(!*config.refresh());

    write(one_hook);
    const auto changed = config.refresh();
    BOOST_REQUIRE(changed.has_value());
    BOOST_TEST(*changed);
    BOOST_TEST(config.current()->size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_change_is_seen_by_the_size_alone_or_by_the_time_alone)
{
    write(one_hook);
    config_file config(file);
    BOOST_REQUIRE(config.load().has_value());
    BOOST_TEST(!*config.refresh());

    const auto time = fs::last_write_time(file);
    write(two_hooks);
    fs::last_write_time(file, time);
    BOOST_TEST(*config.refresh());
    BOOST_TEST(config.current()->size() == 2U);

    auto other = two_hooks;
    other.replace(other.find("\"b\""), 3, "\"c\"");
    write(other);
    BOOST_TEST(*config.refresh());
    BOOST_TEST(config.current()->executables()->at(1).name == "c");
    BOOST_TEST(!*config.refresh());
}

BOOST_AUTO_TEST_CASE(a_file_that_could_not_be_read_for_a_moment_is_read_again_and_told_of_once)
{
    write(R"({"hooks":[{"phase":"pre_turn","argv":["a"]}]})");
    config_file config(file);
    BOOST_REQUIRE(config.load().has_value());
    write(R"({"hooks":[]})");
    {
        // No descriptor is to be had. (UndefinedBehaviorSanitizer wants one when it meets a class for
        // the first time, so it meets this one before.)
        BOOST_TEST(!error_code(EMFILE, boost::system::system_category()).message().empty());
        rlimit usual{};
        BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
        auto none = usual;
        none.rlim_cur = 0;
        BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
        const auto first = config.refresh();
        const auto second = config.refresh();
        BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
        BOOST_REQUIRE(!first);
        BOOST_TEST((first.error().code == errc::unreadable));
        BOOST_REQUIRE(second.has_value());
        BOOST_TEST(!*second);
        BOOST_TEST(config.fault().has_value());
        BOOST_TEST(config.current()->size() == 1U);
    }
    const auto third = config.refresh();
    BOOST_REQUIRE(third.has_value());
    BOOST_TEST(*third);
    BOOST_TEST(!config.fault().has_value());
    BOOST_TEST(config.current()->size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_link_to_nothing_is_a_fault_and_not_a_config_without_hooks)
{
    std::filesystem::create_symlink(path / "elsewhere.json", file);
    config_file config(file);
    const auto loaded = config.load();
    BOOST_REQUIRE(!loaded);
    BOOST_TEST((loaded.error().code == errc::unreadable));
    BOOST_TEST(!config.current());
}

BOOST_AUTO_TEST_CASE(no_path_is_a_file_that_is_not_there)
{
    config_file config{std::filesystem::path()};
    BOOST_TEST(config.load().has_value());
    BOOST_TEST(config.current()->size() == 0U);
}

BOOST_AUTO_TEST_CASE(the_first_load_of_an_invalid_file_gives_no_config)
{
    write(R"({"hooks":[{"phase":"on_start","argv":["a"]}]})");
    config_file config(file);
    const auto loaded = config.load();
    BOOST_REQUIRE(!loaded);
    BOOST_TEST((loaded.error().code == errc::invalid_config));
    BOOST_TEST(loaded.error().message ==
               (file.string() + ": hooks[0].phase: Unknown command hook phase: on_start"));
    BOOST_TEST(!config.current());
    BOOST_REQUIRE(config.fault().has_value());
    BOOST_TEST(config.fault()->message == loaded.error().message);
}

BOOST_AUTO_TEST_CASE(the_last_valid_config_is_kept_while_the_file_is_half_written_or_invalid)
{
    write(one_hook);
    config_file config(file);
    BOOST_REQUIRE(config.load().has_value());
    const auto valid = config.current();

    for (const std::string& bad :
         {std::string(), two_hooks.substr(0, 40), std::string(R"({"hooks":null})")}) {
        write(bad);
        const auto refused = config.refresh();
        BOOST_REQUIRE(!refused);
        BOOST_TEST((refused.error().code == errc::invalid_config));
        BOOST_TEST((config.current() == valid));
        BOOST_TEST(config.fault().has_value());
        // Said once, until the file changes again.
        const auto again = config.refresh();
        BOOST_REQUIRE(again.has_value());
        BOOST_TEST(!*again);
        BOOST_TEST(config.fault().has_value());
    }

    write(two_hooks);
    BOOST_TEST(*config.refresh());
    BOOST_TEST(config.current()->size() == 2U);
    BOOST_TEST(!config.fault().has_value());
    BOOST_TEST(valid->size() == 1U);  // who holds it keeps it
}

BOOST_AUTO_TEST_CASE(a_config_over_a_session_limit_is_valid)
{
    write(R"({"hooks":[{"phase":"pre_turn","argv":["a"],"timeout_ms":30001}]})");
    config_file config(file);
    BOOST_TEST(config.load().has_value());
}

BOOST_AUTO_TEST_CASE(the_last_valid_config_is_kept_when_the_file_disappears)
{
    write(one_hook);
    config_file config(file);
    BOOST_REQUIRE(config.load().has_value());
    fs::remove(file);
    const auto gone = config.refresh();
    BOOST_REQUIRE(!gone);
    BOOST_TEST((gone.error().code == errc::unreadable));
    BOOST_TEST(gone.error().message.starts_with(file.string() + " cannot be read: "));
    BOOST_TEST(config.current()->size() == 1U);
    BOOST_TEST(!config.load().has_value());
    BOOST_TEST(config.current()->size() == 1U);
}

BOOST_AUTO_TEST_CASE(what_is_no_regular_file_is_refused_at_once)
{
    const auto refused = [&] {
        config_file config(file);
        const auto loaded = config.load();
        BOOST_REQUIRE(!loaded);
        BOOST_TEST((loaded.error().code == errc::unreadable));
        BOOST_TEST(loaded.error().message.ends_with("it is not a regular file"),
                   loaded.error().message);
    };
    fs::create_directory(file);
    refused();
    fs::remove(file);
    BOOST_REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
    refused();
}

BOOST_AUTO_TEST_CASE(a_file_over_8_mib_is_refused)
{
    const std::string open = "{\"x\":\"";
    const std::string close = "\"}";
    const auto filler = config_file::size_limit - open.size() - close.size();
    config_file config(file);
    write(open + std::string(filler, 'x') + close);
    BOOST_TEST(config.load().has_value());
    write(open + std::string(filler + 1, 'x') + close);
    const auto loaded = config.load();
    BOOST_REQUIRE(!loaded);
    BOOST_TEST((loaded.error().code == errc::unreadable));
    BOOST_TEST(loaded.error().message.ends_with("it is larger than 8388608 bytes"));
}

BOOST_AUTO_TEST_CASE(a_file_that_may_not_be_read_is_unreadable)
{
    write(one_hook);
    BOOST_REQUIRE(::chmod(file.c_str(), 0) == 0);
    if (::access(file.c_str(), R_OK) == 0) return;  // as root, everything may be read
    config_file config(file);
    const auto loaded = config.load();
    BOOST_REQUIRE(!loaded);
    BOOST_TEST((loaded.error().code == errc::unreadable));
}

BOOST_AUTO_TEST_CASE(messages_call_the_file_by_its_path)
{
    file = path / "settings.json";
    write("[]");
    config_file config(file);
    BOOST_TEST(config.load().error().message ==
               (file.string() + ": the document must be an object, not an array"));
}

BOOST_AUTO_TEST_SUITE_END()
