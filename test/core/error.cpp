#include <belay/core/error.hpp>

#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>
#include <boost/test/unit_test.hpp>

#include <set>
#include <string>

using namespace belay;

BOOST_AUTO_TEST_SUITE(error)

BOOST_AUTO_TEST_CASE(every_code_has_a_sentence_of_its_own)
{
    std::set<std::string> sentences;
    const int last = static_cast<int>(errc::unreadable);
    for (int code = 1; code <= last; ++code) {
        const auto text = error_category().message(code);
        BOOST_TEST(text != "unknown belay error", "code " << code);
        sentences.insert(text);
    }
    BOOST_TEST(sentences.size() == static_cast<std::size_t>(last));
    BOOST_TEST(error_category().message(last + 1) == "unknown belay error");
    BOOST_TEST(error_category().message(0) == "unknown belay error");
}

BOOST_AUTO_TEST_CASE(a_code_converts_to_an_error_code_that_tests_true)
{
    const error_code ec = errc::spawn_failed;
    BOOST_TEST(ec.failed());
    BOOST_TEST(ec.category().name() == std::string("belay"));
    BOOST_TEST((ec == errc::spawn_failed));
    BOOST_TEST((ec != errc::bad_cwd));
}

BOOST_AUTO_TEST_CASE(cancelled_and_late_are_the_generic_conditions)
{
    namespace generic = boost::system::errc;
    BOOST_TEST((error_code(errc::cancelled) == generic::operation_canceled));
    BOOST_TEST((error_code(errc::timed_out) == generic::timed_out));
    BOOST_TEST((error_code(errc::deadline) == generic::timed_out));
    BOOST_TEST((error_code(errc::exited) != generic::timed_out));
}

BOOST_AUTO_TEST_CASE(the_message_fits_the_buffer_it_is_given)
{
    char small[8];
    BOOST_TEST(error_category().message(static_cast<int>(errc::exited), small, sizeof small) ==
               std::string("the exe"));
}

BOOST_AUTO_TEST_CASE(a_diagnosis_throws_with_its_code_and_its_sentence)
{
    const checked<int> none(diagnosis{errc::invalid_config, "hooks[2].argv is empty"});
    BOOST_TEST(!none.has_value());
    BOOST_CHECK_EXCEPTION((void)none.value(), boost::system::system_error, [](const auto& e) {
        return e.code() == errc::invalid_config &&
               std::string(e.what()).find("hooks[2].argv is empty") != std::string::npos;
    });
}

BOOST_AUTO_TEST_SUITE_END()
