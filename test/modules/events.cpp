#include <belay/core/chain.hpp>
#include <belay/modules/events.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include "host.hpp"
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace json = boost::json;
using namespace belay;
using namespace belay::modules;
using namespace belay::test;
using strings = std::vector<std::string>;

namespace {

// The names that the document lists under "Event surfaces", and what it says a handler may return.
struct documented {
    std::string_view name;
    bool can_answer;
};
constexpr documented document[] = {
    {"session_start", false},
    {"session_before_switch", true},
    {"session_switch", false},
    {"session_before_branch", true},
    {"session_branch", false},
    {"session_before_compact", true},
    {"session_compacting", true},
    {"session_compact", false},
    {"session_before_tree", true},
    {"session_tree", false},
    {"session_shutdown", false},
    {"context", true},
    {"before_agent_start", true},
    {"agent_start", false},
    {"agent_end", false},
    {"turn_start", false},
    {"turn_end", false},
    {"auto_compaction_start", false},
    {"auto_compaction_end", false},
    {"auto_retry_start", false},
    {"auto_retry_end", false},
    {"ttsr_triggered", false},
    {"todo_reminder", false},
    {"tool_call", true},
    {"tool_result", true},
};

template <class F, class... E>
void each(std::tuple<E...>*, F f)
{
    (f(std::type_identity<E>()), ...);
}

// Calls `f` with every event, as a std::type_identity.
template <class F>
void for_each_event(F f)
{
    each(static_cast<all_events*>(nullptr), f);
}

json::array text(std::string_view of)
{
    return {{{"type", "text"}, {"text", of}}};
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(events, module_host)

BOOST_AUTO_TEST_CASE(there_is_an_event_for_every_name_in_the_document_and_no_other)
{
    std::vector<std::string_view> names;
    for_each_event([&]<class E>(std::type_identity<E>) { names.push_back(E::event_name); });
    std::vector<std::string_view> expected;
    for (const auto& one : document) expected.push_back(one.name);
    BOOST_TEST(names == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_handler_may_answer_exactly_where_the_document_says_so)
{
    std::size_t i = 0;
    for_each_event([&]<class E>(std::type_identity<E>) {
        BOOST_TEST((std::variant_size_v<typename E::answer> > 1) == document[i].can_answer,
                   E::event_name);
        ++i;
    });
    BOOST_TEST(i == std::size(document));
}

BOOST_AUTO_TEST_CASE(every_event_reaches_its_handlers_in_order_and_no_other)
{
    strings seen;
    for (const auto* module : {"first", "second"}) {
        add(module, [&seen, module](api& its) {
            for_each_event([&]<class E>(std::type_identity<E>) {
                its.on<E>([&seen, module](const E&) {
                    seen.push_back(std::string(module) + " " + std::string(E::event_name));
                });
            });
        });
    }
    for_each_event([&]<class E>(std::type_identity<E>) {
        seen.clear();
        BOOST_TEST(runner->has_handlers<E>());
        std::ignore = emit(E());
        const auto name = std::string(E::event_name);
        BOOST_TEST(seen == (strings{"first " + name, "second " + name}),
                   boost::test_tools::per_element());
    });
    BOOST_TEST(errors.empty());
}

BOOST_AUTO_TEST_CASE(no_event_has_a_handler_without_a_module)
{
    for_each_event([&]<class E>(std::type_identity<E>) {
        BOOST_TEST(!runner->has_handlers<E>());
        std::ignore = emit(E());
    });
}

BOOST_AUTO_TEST_CASE(a_handler_that_throws_is_reported_for_every_event_and_only_tool_call_stops)
{
    strings seen;
    add("bad", [&](api& its) {
        for_each_event([&]<class E>(std::type_identity<E>) {
            its.on<E>([](const E&) { throw std::runtime_error("kaboom"); });
        });
    });
    add("good", [&](api& its) {
        for_each_event([&]<class E>(std::type_identity<E>) {
            its.on<E>([&](const E&) { seen.emplace_back(E::event_name); });
        });
    });
    for_each_event([&]<class E>(std::type_identity<E>) {
        seen.clear();
        errors.clear();
        std::ignore = emit(E());
        const auto name = std::string(E::event_name);
        BOOST_TEST(errors == (strings{"bad | " + name + " | kaboom"}),
                   boost::test_tools::per_element());
        BOOST_TEST(seen == (name == "tool_call" ? strings{} : strings{name}),
                   boost::test_tools::per_element());
    });
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(tool_call_event)

BOOST_AUTO_TEST_CASE(nobody_who_blocks_means_that_it_is_allowed)
{
    chain<tool_call> handlers;
    handlers.add({.name = "a"}, [](const tool_call&) {});
    const auto said = handlers.dispatch({.tool_name = "bash"});
    BOOST_TEST(said.allowed);
    BOOST_TEST(said.reason == "");
    BOOST_TEST(said.decided_by == "");
}

BOOST_AUTO_TEST_CASE(the_first_block_ends_it_with_exactly_its_reason)
{
    chain<tool_call> handlers;
    handlers.add({.name = "a"}, [](const tool_call&) { return block{"first"}; });
    handlers.add({.name = "b"}, [](const tool_call&) -> block {
        BOOST_ERROR("asked after a block");
        return {};
    });
    const auto said = handlers.dispatch({});
    BOOST_TEST(!said.allowed);
    BOOST_TEST(said.reason == "first");
    BOOST_TEST(said.decided_by == "a");
}

BOOST_AUTO_TEST_CASE(a_block_without_a_reason_names_the_module)
{
    chain<tool_call> handlers;
    handlers.add({.name = "/ext/a.so"}, [](const tool_call&) { return block{}; });
    const auto said = handlers.dispatch({});
    BOOST_TEST(!said.allowed);
    BOOST_TEST(said.reason == "Tool execution was blocked by extension /ext/a.so");
}

BOOST_AUTO_TEST_CASE(a_throw_blocks_with_a_reason_that_names_the_module)
{
    chain<tool_call> handlers;
    handlers.add({.name = "/ext/a.so"},
                 [](const tool_call&) { throw std::runtime_error("kaboom"); });
    const auto said = handlers.dispatch({});
    BOOST_TEST(!said.allowed);
    BOOST_TEST(said.reason == "Extension /ext/a.so failed: kaboom");
    BOOST_TEST(said.decided_by == "/ext/a.so");
}

BOOST_AUTO_TEST_CASE(a_dispatch_that_came_to_nothing_allows_nothing)
{
    BOOST_TEST(!tool_call::outcome().allowed);
    BOOST_TEST(last_result<session_before_switch::result>().cancelled);
}

BOOST_AUTO_TEST_CASE(a_block_counts_also_of_a_module_without_a_name)
{
    chain<tool_call> handlers;
    handlers.add({}, [](const tool_call&) { return block{"no"}; });
    const auto said = handlers.dispatch({});
    BOOST_TEST(!said.allowed);
    BOOST_TEST(said.reason == "no");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(tool_result_event)

BOOST_AUTO_TEST_CASE(each_field_keeps_its_own_last_value_and_later_handlers_see_it)
{
    chain<tool_result> handlers;
    handlers.add({}, [](const tool_result& event) {
        BOOST_TEST(event.content == text("raw"));
        return tool_result::result{.content = text("one"), .is_error = true};
    });
    handlers.add({}, [](const tool_result& event) {
        BOOST_TEST(event.content == text("one"));
        BOOST_TEST(event.is_error);
        BOOST_TEST(event.details == json::value(1));
        return tool_result::result{.details = 2};
    });
    handlers.add({}, [](const tool_result& event) {
        BOOST_TEST(event.details == json::value(2));
        return tool_result::result{.content = text("two")};
    });
    const auto said = handlers.dispatch({.content = text("raw"), .details = 1});
    BOOST_TEST(said.overridden);
    BOOST_TEST(said.content == text("two"));
    BOOST_TEST(said.details == json::value(2));
    BOOST_TEST(said.is_error);
}

BOOST_AUTO_TEST_CASE(the_error_state_is_overridden_both_ways)
{
    for (const bool failed : {false, true}) {
        chain<tool_result> handlers;
        handlers.add({},
                     [&](const tool_result&) { return tool_result::result{.is_error = !failed}; });
        const auto said = handlers.dispatch({.content = text("x"), .is_error = failed});
        BOOST_TEST(said.overridden);
        BOOST_TEST(said.is_error == !failed);
        BOOST_TEST(said.content == text("x"));
    }
}

BOOST_AUTO_TEST_CASE(a_result_without_a_field_is_no_override)
{
    chain<tool_result> handlers;
    handlers.add({}, [](const tool_result&) { return tool_result::result{}; });
    BOOST_TEST(!handlers.dispatch({.content = text("x")}).overridden);
}

BOOST_AUTO_TEST_CASE(no_content_is_a_content)
{
    chain<tool_result> handlers;
    handlers.add({},
                 [](const tool_result&) { return tool_result::result{.content = json::array()}; });
    const auto said = handlers.dispatch({.content = text("x")});
    BOOST_TEST(said.overridden);
    BOOST_TEST(said.content.empty());
}

BOOST_AUTO_TEST_CASE(a_handler_that_throws_has_no_opinion)
{
    chain<tool_result> handlers;
    handlers.add({}, [](const tool_result&) { return tool_result::result{.details = 1}; });
    handlers.add({}, [](const tool_result&) { throw std::runtime_error("bad"); });
    handlers.add({}, [](const tool_result& event) { BOOST_TEST(event.details == json::value(1)); });
    const auto said = handlers.dispatch({});
    BOOST_TEST(said.overridden);
    BOOST_TEST(said.details == json::value(1));
}

BOOST_AUTO_TEST_CASE(null_details_are_an_override_that_later_handlers_see)
{
    chain<tool_result> handlers;
    handlers.add({}, [](const tool_result&) { return tool_result::result{.details = nullptr}; });
    handlers.add({}, [](const tool_result& event) { BOOST_TEST(event.details.is_null()); });
    const auto said = handlers.dispatch({.details = 1});
    BOOST_TEST(said.overridden);
    BOOST_TEST(said.details.is_null());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(context_event)

BOOST_AUTO_TEST_CASE(each_handler_sees_the_messages_that_the_one_before_left)
{
    chain<context> handlers;
    for (const auto* one : {"A", "B"}) {
        handlers.add({}, [one](const context& event) {
            auto messages = event.messages;
            messages.emplace_back(one);
            return context::result{std::move(messages)};
        });
    }
    const json::array before{"u"};
    const context event{before};
    const auto said = handlers.dispatch(event);
    BOOST_TEST(said.replaced);
    BOOST_TEST(said.messages == (json::array{"u", "A", "B"}));
    BOOST_TEST(event.messages == before);  // the session's own
}

BOOST_AUTO_TEST_CASE(an_empty_list_replaces_and_none_does_not)
{
    chain<context> empties;
    empties.add({}, [](const context&) { return context::result{json::array()}; });
    const auto emptied = empties.dispatch({json::array{"u"}});
    BOOST_TEST(emptied.replaced);
    BOOST_TEST(emptied.messages.empty());

    chain<context> nothing;
    nothing.add({}, [](const context&) { return context::result{}; });
    BOOST_TEST(!nothing.dispatch({json::array{"u"}}).replaced);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(before_agent_start_event)

BOOST_AUTO_TEST_CASE(every_message_is_kept_in_order)
{
    chain<before_agent_start> handlers;
    for (const auto* one : {"one", "two"}) {
        handlers.add({}, [one](const before_agent_start&) {
            return before_agent_start::result{.message = custom_message{.content = one}};
        });
    }
    const auto said = handlers.dispatch({.prompt = "hi"});
    BOOST_REQUIRE_EQUAL(said.messages.size(), 2u);
    BOOST_TEST(said.messages[0].content == json::value("one"));
    BOOST_TEST(said.messages[1].content == json::value("two"));
    BOOST_TEST(!said.system_prompt.has_value());
}

BOOST_AUTO_TEST_CASE(the_system_prompt_is_the_last_ones_who_saw_the_earlier)
{
    chain<before_agent_start> handlers;
    for (const auto* one : {"A", "B"}) {
        handlers.add({}, [one](const before_agent_start& event) {
            auto lines = event.system_prompt;
            lines.emplace_back(one);
            return before_agent_start::result{.system_prompt = std::move(lines)};
        });
    }
    const auto said = handlers.dispatch({.system_prompt = {"base"}});
    BOOST_REQUIRE(said.system_prompt.has_value());
    BOOST_TEST(*said.system_prompt == (strings{"base", "A", "B"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(session_before_events)

BOOST_AUTO_TEST_CASE(a_cancel_ends_it)
{
    chain<session_before_switch> handlers;
    handlers.add({.name = "a"},
                 [](const session_before_switch&) { return session_before_switch::result{false}; });
    handlers.add({.name = "b"},
                 [](const session_before_switch&) { return session_before_switch::result{true}; });
    handlers.add({.name = "c"},
                 [](const session_before_switch&) { BOOST_ERROR("asked after a cancel"); });
    const auto said = handlers.dispatch({});
    BOOST_TEST(said.cancelled);
    BOOST_TEST(said.decided_by == "b");
}

BOOST_AUTO_TEST_CASE(the_last_result_counts_whole_and_an_empty_one_takes_an_earlier_back)
{
    chain<session_before_compact> handlers;
    handlers.add({.name = "a"}, [](const session_before_compact&) {
        return session_before_compact::result{.compaction = compaction_result{.summary = "S"}};
    });
    auto said = handlers.dispatch({});
    BOOST_TEST(!said.cancelled);
    BOOST_REQUIRE(said.said && said.said->compaction);
    BOOST_TEST(said.said->compaction->summary == "S");

    handlers.add({.name = "b"},
                 [](const session_before_compact&) { return session_before_compact::result{}; });
    said = handlers.dispatch({});
    BOOST_REQUIRE(said.said);
    BOOST_TEST(!said.said->compaction);
    BOOST_TEST(said.decided_by == "b");
}

BOOST_AUTO_TEST_CASE(a_cancel_may_come_with_a_compaction)
{
    chain<session_before_compact> handlers;
    handlers.add({}, [](const session_before_compact&) {
        return session_before_compact::result{.cancel = true,
                                              .compaction = compaction_result{.summary = "S"}};
    });
    const auto said = handlers.dispatch({});
    BOOST_TEST(said.cancelled);
    BOOST_TEST(said.said->compaction->summary == "S");
}

BOOST_AUTO_TEST_CASE(nobody_who_speaks_leaves_it_to_the_host)
{
    chain<session_before_tree> handlers;
    handlers.add({}, [](const session_before_tree&) {});
    handlers.add({}, [](const session_before_tree&) { throw std::runtime_error("nope"); });
    const auto said = handlers.dispatch({});
    BOOST_TEST(!said.cancelled);
    BOOST_TEST(!said.said.has_value());
}

BOOST_AUTO_TEST_CASE(a_compacting_result_is_not_merged_and_stops_nobody)
{
    chain<session_compacting> handlers;
    handlers.add(
        {}, [](const session_compacting&) { return session_compacting::result{.prompt = "p"}; });
    handlers.add({}, [](const session_compacting&) {
        return session_compacting::result{.context = strings{"c"}};
    });
    const auto said = handlers.dispatch({});
    BOOST_TEST(!said.cancelled);
    BOOST_REQUIRE(said.said.has_value());
    BOOST_TEST(!said.said->prompt.has_value());
    BOOST_TEST(*said.said->context == strings{"c"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(who_cancels_is_told_with_it_and_what_was_said_before_is_gone)
{
    chain<session_before_tree> handlers;
    handlers.add({.name = "a"}, [](const session_before_tree&) {
        return session_before_tree::result{.summary = branch_summary{.summary = "S"}};
    });
    handlers.add({.name = "b"}, [](const session_before_tree&) {
        return session_before_tree::result{.cancel = true};
    });
    const auto said = handlers.dispatch({});
    BOOST_TEST(said.cancelled);
    BOOST_TEST(said.decided_by == "b");
    BOOST_TEST(!said.said->summary.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
