#include <belay/modules/message.hpp>
#include <belay/modules/render.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace json = boost::json;
using namespace belay;
using namespace belay::modules;
using namespace belay::test;
using strings = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(message)

BOOST_AUTO_TEST_CASE(a_bare_text_is_shown_and_the_agents)
{
    const auto it = text_message("warn");
    BOOST_TEST(it.custom_type == "custom-message");
    BOOST_TEST(it.content == json::value("warn"));
    BOOST_TEST(it.display);
    BOOST_TEST(it.attribution.value_or("") == "agent");
}

BOOST_AUTO_TEST_CASE(a_message_without_anything_is_empty_and_hidden)
{
    const custom_message it;
    BOOST_TEST(it.custom_type == "custom-message");
    BOOST_TEST(it.content == json::value(""));
    BOOST_TEST(!it.display);
    BOOST_TEST(!it.details);
}

BOOST_AUTO_TEST_CASE(the_text_of_a_member_is_empty_unless_it_is_a_string)
{
    const json::object fields{{"command", "ls"}, {"n", 1}, {"none", nullptr}};
    BOOST_TEST(text_in(fields, "command") == "ls");
    BOOST_TEST(text_in(fields, "n") == "");
    BOOST_TEST(text_in(fields, "none") == "");
    BOOST_TEST(text_in(fields, "other") == "");
}

BOOST_AUTO_TEST_CASE(a_message_goes_where_its_options_say)
{
    using place = delivery::place;
    const auto at_work = [](delivery_options options) { return plan_delivery(options, true); };
    const auto idle = [](delivery_options options) { return plan_delivery(options, false); };

    // while the model is at work
    BOOST_TEST((at_work({}) == delivery{place::steering}));
    BOOST_TEST((at_work({.as = deliver_as::steer}) == delivery{place::steering}));
    BOOST_TEST((at_work({.as = deliver_as::follow_up}) == delivery{place::follow_up}));
    BOOST_TEST((at_work({.trigger_turn = true}) == delivery{place::steering}));
    BOOST_TEST((at_work({.as = deliver_as::next_turn}) == delivery{place::hidden_next_turn}));
    BOOST_TEST((at_work({.as = deliver_as::next_turn, .trigger_turn = true}) ==
                delivery{place::hidden_next_turn, false, true}));

    // idle
    for (const auto as :
         {std::optional<deliver_as>(), std::optional(deliver_as::steer),
          std::optional(deliver_as::follow_up), std::optional(deliver_as::next_turn)}) {
        BOOST_TEST((idle({.as = as}) == delivery{place::context}));
        BOOST_TEST(
            (idle({.as = as, .trigger_turn = true}) == delivery{place::context, true, false}));
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(rendering, module_host)

BOOST_AUTO_TEST_CASE(a_renderer_that_keeps_a_handle_of_its_module_goes_with_the_runner)
{
    const auto kept = std::make_shared<int>();
    add("a", [&](api& its) {
        its.register_message_renderer("note",
                                      [its, kept](const custom_message&, const render_options&) {
                                          return strings{its.name()};
                                      });
    });
    BOOST_TEST(runner->render({.custom_type = "note"}) == strings{"a"},
               boost::test_tools::per_element());
    runner.reset();
    BOOST_TEST(kept.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_renderer_may_register_renderers)  // under AddressSanitizer
{
    std::optional<api> kept;
    int calls = 0;
    const auto other = [](const custom_message&, const render_options&) { return strings{}; };
    add("a", [&](api& its) {
        kept = its;
        its.register_message_renderer("note", [&](const custom_message&, const render_options&) {
            for (int i = 0; i != 8; ++i) kept->register_message_renderer("other", other);
            return strings{std::to_string(++calls)};
        });
    });
    BOOST_TEST(runner->render({.custom_type = "note"}) == strings{"1"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(without_a_renderer_a_message_is_its_type_and_its_text)
{
    BOOST_TEST(runner->render({.custom_type = "note", .content = "two\nlines"}) ==
                   (strings{"note", "two", "lines"}),
               boost::test_tools::per_element());
    const json::array blocks{text_block("a"),
                             {{"type", "image"}, {"data", "..."}, {"text", "not this"}},
                             text_block("b\nc"),
                             "no block"};
    BOOST_TEST(runner->render({.custom_type = "note", .content = blocks}) ==
                   (strings{"note", "a", "b", "c"}),
               boost::test_tools::per_element());
    BOOST_TEST(runner->render({.custom_type = "note"}) == strings{"note"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_first_module_wins_and_of_one_module_the_last)
{
    const auto says = [](std::string text) {
        return [text](const custom_message&, const render_options&) { return strings{text}; };
    };
    add("a", [&](api& its) {
        its.register_message_renderer("note", says("a1"));
        its.register_message_renderer("note", says("a2"));
    });
    add("b", [&](api& its) {
        its.register_message_renderer("note", says("b"));
        its.register_message_renderer("other", says("b"));
    });
    BOOST_TEST(runner->render({.custom_type = "note"}) == strings{"a2"},
               boost::test_tools::per_element());
    BOOST_TEST(runner->render({.custom_type = "other"}) == strings{"b"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_that_returns_nothing_or_throws_leaves_it_to_the_default_card)
{
    add("a", [&](api& its) {
        its.register_message_renderer(
            "none", [](const auto&, const auto&) { return std::optional<strings>(); });
        its.register_message_renderer("bad",
                                      [](const auto&, const auto&) -> std::optional<strings> {
                                          throw std::runtime_error("x");
                                      });
    });
    BOOST_TEST(runner->render({.custom_type = "none", .content = "x"}) == (strings{"none", "x"}),
               boost::test_tools::per_element());
    BOOST_TEST(runner->render({.custom_type = "bad", .content = "x"}) == (strings{"bad", "x"}),
               boost::test_tools::per_element());
    BOOST_TEST(errors.empty());
}

BOOST_AUTO_TEST_CASE(it_sees_how_the_message_is_to_be_shown_and_at_most_ten_lines_are)
{
    add("a", [&](api& its) {
        its.register_message_renderer("note", [](const custom_message&, const render_options& how) {
            BOOST_TEST(how.expanded);
            BOOST_TEST(how.theme == (json::object{{"accent", "blue"}}));
            return strings(12, "line");
        });
    });
    const auto lines =
        runner->render({.custom_type = "note"}, {.expanded = true, .theme = {{"accent", "blue"}}});
    BOOST_REQUIRE_EQUAL(lines.size(), 11u);
    BOOST_TEST(lines[9] == "line");
    BOOST_TEST(lines[10] == "(2 more lines)");
}

BOOST_AUTO_TEST_CASE(ten_lines_are_shown_without_a_note)
{
    add("a", [&](api& its) {
        its.register_message_renderer("note", [](const custom_message&, const render_options&) {
            return strings(10, "line");
        });
    });
    BOOST_TEST(runner->render({.custom_type = "note"}) == strings(10, "line"),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_that_leaves_it_leaves_it_to_the_card_and_to_no_other_module)
{
    add("a", [&](api& its) {
        its.register_message_renderer(
            "note", [](const auto&, const auto&) { return std::optional<strings>(); });
    });
    add("b", [&](api& its) {
        its.register_message_renderer(
            "note", [](const auto&, const auto&) { return strings{"not asked"}; });
    });
    BOOST_TEST(runner->render({.custom_type = "note", .content = "x"}) == (strings{"note", "x"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_empty_renderer_is_refused)
{
    const auto refused = runner->add(
        "a", [](api& its) { its.register_message_renderer("note", message_renderer()); });
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().message ==
               "Failed to load extension: the renderer of note is empty");
}

BOOST_AUTO_TEST_SUITE_END()
