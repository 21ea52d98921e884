#include <belay/hooks/transcript.hpp>

#include <boost/test/unit_test.hpp>

using namespace belay::hooks;

BOOST_AUTO_TEST_SUITE(transcript)

BOOST_AUTO_TEST_CASE(the_default_rows_name_the_hook_and_not_the_text)
{
    const added_context added{.source = "recall", .context = "secret"};
    BOOST_TEST(added_context_row(added).line() == "recall added context");
    BOOST_TEST(continued_turn_row(added).line() == "recall continued the turn");
    BOOST_TEST(added_context_row(added).source.empty());
}

BOOST_AUTO_TEST_CASE(a_display_line_stands_in_place_of_the_default_and_the_source_can_be_dimmed)
{
    const added_context added{.source = "lookout",
                              .context = "secret",
                              .display = "Spotted: treasure under the third palm"};
    for (const auto& row : {added_context_row(added), continued_turn_row(added)}) {
        BOOST_TEST(row.text == "Spotted: treasure under the third palm");
        BOOST_TEST(row.source == "lookout");
        BOOST_TEST(row.line() == "Spotted: treasure under the third palm \xc2\xb7 lookout");
    }
}

BOOST_AUTO_TEST_CASE(a_source_that_is_unknown_is_a_hook)
{
    BOOST_TEST(added_context_row({.context = "x"}).line() == "A hook added context");
    BOOST_TEST(continued_turn_row({.context = "x"}).line() == "A hook continued the turn");
}

BOOST_AUTO_TEST_SUITE_END()
