// The rules of each phase, by plain calls on a chain: what its fold accepts, refuses and concludes.

#include <belay/core/chain.hpp>
#include <belay/hooks/phase.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

using namespace belay;
using namespace belay::hooks;
namespace json = boost::json;

namespace {

json::object object(std::string_view text)
{
    return json::parse(text).as_object();
}

// A chain of hooks that each say what they were given to say.
template <class E>
struct hooks_of {
    chain<E> all;
    std::vector<std::string> ran;
    std::vector<E> saw;

    template <class Answer>
    hooks_of& add(std::string name, origin from, Answer answer)
    {
        all.add({.name = name, .from = from},
                [this, name, answer](const E& event) -> typename E::answer {
                    ran.push_back(name);
                    saw.push_back(event);
                    return answer;
                });
        return *this;
    }

    template <class Answer>
    hooks_of& config(std::string name, Answer answer)
    {
        return add(std::move(name), origin::config, std::move(answer));
    }

    template <class Answer>
    hooks_of& extension(std::string name, Answer answer)
    {
        return add(std::move(name), origin::extension, std::move(answer));
    }

    hooks_of& failing(std::string name, origin from)
    {
        all.add({.name = name, .from = from}, [this, name](const E&) {
            ran.push_back(name);
            throw std::runtime_error("boom");
        });
        return *this;
    }

    auto dispatch(const E& event = {}) { return all.dispatch(event); }
};

// Why a config hook that says this has failed; "" if it has not.
template <class E, class Answer>
std::string refusal(Answer answer, const E& event = {})
{
    hooks_of<E> hooks;
    hooks.config("guard", std::move(answer));
    const auto outcome = hooks.dispatch(event);
    if constexpr (requires { outcome.failed; }) {
        if (!outcome.failed) return {};
        BOOST_TEST((outcome.failed->code == errc::invalid_answer));
        return outcome.failed->message;
    } else {
        if (outcome.failures.empty()) return {};
        BOOST_TEST((outcome.failures[0].code == errc::invalid_answer));
        return outcome.failures[0].message;
    }
}

std::string times(std::size_t count, std::string_view unit)
{
    std::string text;
    while (count-- > 0) text += unit;
    return text;
}

using names = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_SUITE(pre_tool_use_rules)

using hooks = hooks_of<pre_tool_use>;

pre_tool_use make_test()
{
    pre_tool_use event;
    event.call = {.id = "c1", .name = "bash", .input = object(R"({"command":"make test"})")};
    return event;
}

BOOST_AUTO_TEST_CASE(a_call_that_nobody_minds_goes_on_unchanged)
{
    hooks all;
    all.config("a", observe{}).extension("b", observe{});
    const auto outcome = all.dispatch(make_test());
    BOOST_TEST(std::holds_alternative<observe>(outcome.decision));
    BOOST_TEST(!outcome.input.has_value());
    BOOST_TEST((all.ran == names{"a", "b"}));
    BOOST_TEST(std::holds_alternative<observe>(hooks().dispatch(make_test()).decision));
}

BOOST_AUTO_TEST_CASE(each_hook_sees_the_input_as_the_last_one_left_it)
{
    hooks all;
    all.config("a", pre_tool_use::mutate{object(R"({"command":"make lint"})")})
        .config("b", observe{})
        .config("c", pre_tool_use::mutate{object(R"({"timeout":5})")});
    const auto event = make_test();
    const auto outcome = all.dispatch(event);
    BOOST_TEST(std::holds_alternative<observe>(outcome.decision));
    // Replaced, not merged.
    BOOST_TEST((outcome.input == object(R"({"timeout":5})")));
    BOOST_TEST((outcome.changed_by == names{"a", "c"}));
    BOOST_TEST((all.saw[1].call.input == object(R"({"command":"make lint"})")));
    BOOST_TEST((all.saw[1].call.id == "c1" && all.saw[1].call.name == "bash"));
    BOOST_TEST((event.call.input == object(R"({"command":"make test"})")));
}

BOOST_AUTO_TEST_CASE(an_empty_input_is_an_input)
{
    hooks all;
    all.config("a", pre_tool_use::mutate{});
    BOOST_TEST((all.dispatch(make_test()).input == json::object()));
}

BOOST_AUTO_TEST_CASE(a_block_stops_the_chain_and_keeps_the_input_that_was_changed)
{
    hooks all;
    all.config("a", pre_tool_use::mutate{object(R"({"command":"make lint"})")})
        .config("b", block{"not now"})
        .config("c", observe{});
    const auto outcome = all.dispatch(make_test());
    BOOST_REQUIRE(std::holds_alternative<block>(outcome.decision));
    BOOST_TEST(std::get<block>(outcome.decision).reason == "not now");
    BOOST_TEST(outcome.decided_by == "b");
    BOOST_TEST((outcome.input == object(R"({"command":"make lint"})")));
    BOOST_TEST(!outcome.failed.has_value());
    BOOST_TEST((all.ran == names{"a", "b"}));
}

BOOST_AUTO_TEST_CASE(a_replacement_stops_the_chain_and_keeps_the_input_that_was_changed)
{
    hooks all;
    all.config("a", pre_tool_use::mutate{object(R"({"command":"make lint"})")})
        .config("b", pre_tool_use::replace{text_result("cached", true)})
        .config("c", block{"too late"});
    const auto outcome = all.dispatch(make_test());
    BOOST_REQUIRE(std::holds_alternative<pre_tool_use::replace>(outcome.decision));
    const auto& result = std::get<pre_tool_use::replace>(outcome.decision).result;
    BOOST_TEST(text_of(result.content) == "cached");
    BOOST_TEST(result.is_error);
    BOOST_TEST((outcome.input == object(R"({"command":"make lint"})")));
    BOOST_TEST((all.ran == names{"a", "b"}));
}

BOOST_AUTO_TEST_CASE(a_reason_may_be_blank_but_not_empty)
{
    BOOST_TEST(refusal<pre_tool_use>(block{" "}) == "");
    BOOST_TEST(refusal<pre_tool_use>(block{""}) ==
               "pre_tool_use block reason must be a non-empty string");
}

BOOST_AUTO_TEST_CASE(a_replacement_holds_text_items_only)
{
    const auto of = [](std::string_view content) {
        pre_tool_use::replace said;
        said.result.content = json::parse({content.data(), content.size()}).as_array();
        return refusal<pre_tool_use>(said);
    };
    BOOST_TEST(of("[]") == "");
    BOOST_TEST(of(R"([{"type":"text","text":""},{"type":"text","text":"b","x":1}])") == "");
    for (const auto* content :
         {R"([{"type":"image","data":"aa"}])", R"(["text"])", "[null]", R"([{"text":"a"}])",
          R"([{"type":"text"}])", R"([{"type":"text","text":1}])",
          R"([{"type":"text","text":"a"},{"type":"Text","text":"b"}])"}) {
        BOOST_TEST(of(content) == "pre_tool_use replacement content items must be text content",
                   content);
    }
}

BOOST_AUTO_TEST_CASE(a_failing_config_hook_blocks_the_call_with_its_original_input)
{
    hooks all;
    all.config("a", pre_tool_use::mutate{object(R"({"command":"make lint"})")})
        .failing("b", origin::config)
        .config("c", observe{});
    const auto outcome = all.dispatch(make_test());
    BOOST_REQUIRE(std::holds_alternative<block>(outcome.decision));
    BOOST_TEST(std::get<block>(outcome.decision).reason == "pre_tool_use hook failed: boom");
    BOOST_TEST(!outcome.input.has_value());
    BOOST_TEST(outcome.changed_by.empty());
    BOOST_TEST(outcome.decided_by == "b");
    BOOST_REQUIRE(outcome.failed.has_value());
    BOOST_TEST(outcome.failed->message == "boom");
    BOOST_TEST((all.ran == names{"a", "b"}));
}

BOOST_AUTO_TEST_CASE(a_failing_extension_is_ignored_and_what_was_said_before_stays)
{
    hooks all;
    all.config("a", pre_tool_use::mutate{object(R"({"command":"make lint"})")})
        .failing("b", origin::extension)
        .extension("c", block{""})
        .extension("d", block{"no"});
    const auto outcome = all.dispatch(make_test());
    BOOST_REQUIRE(std::holds_alternative<block>(outcome.decision));
    BOOST_TEST(std::get<block>(outcome.decision).reason == "no");
    BOOST_TEST((outcome.input == object(R"({"command":"make lint"})")));
    BOOST_TEST(!outcome.failed.has_value());
    BOOST_REQUIRE(outcome.ignored.size() == 2U);
    BOOST_TEST(outcome.ignored[0].handler.name == "b");
    BOOST_TEST((outcome.ignored[1].code == errc::invalid_answer));
}

BOOST_AUTO_TEST_CASE(an_outcome_that_nobody_concluded_is_a_block)
{
    BOOST_TEST(std::holds_alternative<block>(pre_tool_use::outcome().decision));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(post_tool_use_rules)

using hooks = hooks_of<post_tool_use>;

post_tool_use tested()
{
    post_tool_use event;
    event.call = {.id = "c1", .name = "bash"};
    event.result = text_result("42 passed");
    return event;
}

json::array texts(std::string_view text)
{
    return text_result(text).content;
}

BOOST_AUTO_TEST_CASE(patches_accumulate_and_what_is_absent_stays)
{
    hooks all;
    all.config("a", post_tool_use::mutate{.content = texts("short")})
        .config("b", observe{})
        .config("c", post_tool_use::mutate{.is_error = true});
    const auto outcome = all.dispatch(tested());
    BOOST_REQUIRE(outcome.result.has_value());
    BOOST_TEST(text_of(outcome.result->content) == "short");
    BOOST_TEST(outcome.result->is_error);
    BOOST_TEST((outcome.patched_by == names{"a", "c"}));
    BOOST_TEST(text_of(all.saw[1].result.content) == "short");
    BOOST_TEST(!all.saw[2].result.is_error);
}

BOOST_AUTO_TEST_CASE(a_patch_may_empty_the_content)
{
    hooks all;
    all.config("a", post_tool_use::mutate{.content = json::array()});
    const auto outcome = all.dispatch(tested());
    BOOST_REQUIRE(outcome.result.has_value());
    BOOST_TEST(outcome.result->content.empty());
    BOOST_TEST(!outcome.result->is_error);
}

BOOST_AUTO_TEST_CASE(a_patch_without_fields_changes_nothing)
{
    hooks all;
    all.config("a", post_tool_use::mutate{}).config("b", observe{});
    const auto outcome = all.dispatch(tested());
    BOOST_TEST(!outcome.result.has_value());
    BOOST_TEST(outcome.patched_by.empty());
    BOOST_TEST((all.ran == names{"a", "b"}));
}

BOOST_AUTO_TEST_CASE(a_patch_holds_text_items_only)
{
    BOOST_TEST(refusal<post_tool_use>(post_tool_use::mutate{
                   .content = json::parse(R"([{"type":"image"}])").as_array()}) ==
               "post_tool_use mutate patch content items must be text content");
}

BOOST_AUTO_TEST_CASE(a_failing_config_hook_drops_every_patch_and_stops)
{
    hooks all;
    all.config("a", post_tool_use::mutate{.is_error = true})
        .extension("b", post_tool_use::mutate{.content = texts("short")})
        .failing("c", origin::config)
        .config("d", observe{});
    const auto outcome = all.dispatch(tested());
    BOOST_TEST(!outcome.result.has_value());
    BOOST_TEST(outcome.patched_by.empty());
    BOOST_REQUIRE(outcome.failed.has_value());
    BOOST_TEST(outcome.failed->handler.name == "c");
    BOOST_TEST((all.ran == names{"a", "b", "c"}));
}

BOOST_AUTO_TEST_CASE(a_failing_extension_keeps_the_patches)
{
    hooks all;
    all.extension("a", post_tool_use::mutate{.content = texts("patched")})
        .failing("b", origin::extension)
        .extension("c", post_tool_use::mutate{.is_error = true});
    const auto outcome = all.dispatch(tested());
    BOOST_REQUIRE(outcome.result.has_value());
    BOOST_TEST(text_of(outcome.result->content) == "patched");
    BOOST_TEST(outcome.result->is_error);
    BOOST_TEST(outcome.ignored.size() == 1U);
    BOOST_TEST(!outcome.failed.has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(session_start_rules)

using hooks = hooks_of<session_start>;

BOOST_AUTO_TEST_CASE(contributions_are_numbered_among_all_hooks_so_silent_ones_leave_gaps)
{
    hooks all;
    all.config("a", observe{})
        .config("b", session_start::mutate{"one"})
        .failing("c", origin::config)
        .extension("d", session_start::mutate{""})
        .extension("e", session_start::mutate{"two"});
    const auto outcome = all.dispatch();
    BOOST_TEST(outcome.message() ==
               "## Session start hook 2\n\none\n\n## Session start hook 5\n\ntwo");
    BOOST_REQUIRE(outcome.contributions.size() == 2U);
    BOOST_TEST(outcome.contributions[1].source == "e");
    BOOST_TEST(all.ran.size() == 5U);
}

BOOST_AUTO_TEST_CASE(one_contribution_has_its_heading_too_and_none_is_no_message)
{
    hooks one;
    one.config("a", session_start::mutate{"x"});
    BOOST_TEST(one.dispatch().message() == "## Session start hook 1\n\nx");
    hooks none;
    none.config("a", observe{}).config("b", session_start::mutate{""});
    BOOST_TEST(none.dispatch().message() == "");
}

BOOST_AUTO_TEST_CASE(a_context_has_128_kib_counted_as_utf8)
{
    BOOST_TEST(refusal<session_start>(session_start::mutate{times(131072, "a")}) == "");
    BOOST_TEST(refusal<session_start>(session_start::mutate{times(65536, "\xC3\xA9")}) == "");
    BOOST_TEST(refusal<session_start>(session_start::mutate{times(65536, "\xC3\xA9") + "a"}) ==
               "session_start context exceeds 128 KiB");
    BOOST_TEST(refusal<session_start>(session_start::mutate{std::string(131072, '\0')}) == "");
}

BOOST_AUTO_TEST_CASE(a_failure_of_either_origin_is_only_kept_for_the_log)
{
    hooks all;
    all.failing("a", origin::config)
        .failing("b", origin::extension)
        .config("c", session_start::mutate{"x"});
    const auto outcome = all.dispatch();
    BOOST_REQUIRE(outcome.failures.size() == 2U);
    BOOST_TEST(outcome.failures[0].handler.position == 1U);
    BOOST_TEST(outcome.failures[1].message == "boom");
    BOOST_TEST(outcome.contributions.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(pre_turn_rules)

using hooks = hooks_of<pre_turn>;

pre_turn fix_the_parser()
{
    return {.prompt = "fix the parser", .model = "small", .tools = {"read", "bash", "write"}};
}

BOOST_AUTO_TEST_CASE(a_prompt_that_nobody_minds_goes_on)
{
    hooks all;
    all.config("a", observe{});
    const auto outcome = all.dispatch(fix_the_parser());
    BOOST_TEST(!outcome.blocked.has_value());
    BOOST_TEST(!outcome.mutated);
    BOOST_TEST((!outcome.tools && !outcome.model && !outcome.reasoning_effort));
    BOOST_TEST(outcome.blocked_text() == "");
}

BOOST_AUTO_TEST_CASE(a_mutation_of_nothing_is_valid)
{
    hooks all;
    all.config("a", pre_turn::mutate{});
    const auto outcome = all.dispatch(fix_the_parser());
    BOOST_TEST(!outcome.blocked.has_value());
    BOOST_TEST(outcome.mutated);
    BOOST_TEST(!outcome.tools.has_value());
}

BOOST_AUTO_TEST_CASE(contexts_are_kept_in_hook_order_with_their_source_and_display)
{
    hooks all;
    all.config("a", pre_turn::mutate{.context = "one", .display = "Spotted"})
        .config("b", pre_turn::mutate{.context = "", .display = "not shown"})
        .extension("c", pre_turn::mutate{.context = "two", .display = ""});
    const auto outcome = all.dispatch(fix_the_parser());
    BOOST_REQUIRE(outcome.contexts.size() == 2U);
    BOOST_TEST(outcome.contexts[0].source == "a");
    BOOST_TEST(outcome.contexts[0].context == "one");
    BOOST_TEST(outcome.contexts[0].display == "Spotted");
    BOOST_TEST(outcome.contexts[1].source == "c");
    BOOST_TEST(outcome.contexts[1].display == "");
}

BOOST_AUTO_TEST_CASE(tools_only_shrink_and_the_next_hook_sees_the_shrunken_list)
{
    hooks all;
    all.config("a", pre_turn::mutate{.tools = names{"bash", "read"}})
        .config("b", pre_turn::mutate{.tools = names{"write", "bash"}});
    const auto outcome = all.dispatch(fix_the_parser());
    BOOST_TEST((outcome.tools == names{"bash"}));
    BOOST_TEST((all.saw[1].tools == names{"bash", "read"}));  // in the order of the request
}

// Departure 12.
BOOST_AUTO_TEST_CASE(names_that_are_not_offered_are_dropped_and_when_none_is_left_none_is_offered)
{
    const auto offered = [](names asked) {
        hooks all;
        all.config("a", pre_turn::mutate{.tools = std::move(asked)});
        return all.dispatch(fix_the_parser()).tools;
    };
    BOOST_TEST((offered({"fly", "read"}) == names{"read"}));
    BOOST_TEST((offered({"fly", "swim"}) == names{}));
    BOOST_TEST((offered({}) == names{}));
    BOOST_TEST((offered({"read", "read"}) == names{"read", "read"}));
}

BOOST_AUTO_TEST_CASE(the_hooks_that_changed_tools_model_or_effort_are_named)
{
    hooks all;
    all.config("a", pre_turn::mutate{.model = "big"})
        .config("b", pre_turn::mutate{.context = "only context"})
        .config("c", pre_turn::mutate{.tools = names{"read"}});
    BOOST_TEST((all.dispatch(fix_the_parser()).changed_by == names{"a", "c"}));

    // A joining prompt cannot change the model, so nobody did.
    auto joining = fix_the_parser();
    joining.arrived_during_turn = true;
    BOOST_TEST((all.dispatch(joining).changed_by == names{"c"}));
}

BOOST_AUTO_TEST_CASE(later_hooks_see_the_model_and_the_effort_that_were_chosen)
{
    hooks all;
    all.config("a", pre_turn::mutate{.model = "big", .reasoning_effort = "high"})
        .config("b", pre_turn::mutate{.model = "huge"});
    const auto outcome = all.dispatch(fix_the_parser());
    BOOST_TEST((outcome.model == "huge"));
    BOOST_TEST((outcome.reasoning_effort == "high"));
    BOOST_TEST(all.saw[1].model == "big");
    BOOST_TEST((all.saw[1].reasoning_effort == "high"));
    BOOST_TEST(all.saw[1].prompt == "fix the parser");
}

BOOST_AUTO_TEST_CASE(a_joining_or_later_prompt_cannot_change_the_model_but_narrow_the_tools)
{
    for (const bool joining : {true, false}) {
        auto event = fix_the_parser();
        event.arrived_during_turn = joining;
        event.first_of_turn = joining;
        hooks all;
        all.config("a", pre_turn::mutate{.context = "c",
                                         .tools = names{"read"},
                                         .model = "big",
                                         .reasoning_effort = "high"})
            .config("b", observe{});
        const auto outcome = all.dispatch(event);
        BOOST_TEST(!outcome.failed.has_value());
        BOOST_TEST((!outcome.model && !outcome.reasoning_effort));
        BOOST_TEST(all.saw[1].model == "small");
        BOOST_TEST((outcome.tools == names{"read"}));
        BOOST_TEST(outcome.contexts.size() == 1U);
    }
}

BOOST_AUTO_TEST_CASE(a_block_stops_the_chain_and_drops_what_was_added)
{
    hooks all;
    all.config("a", pre_turn::mutate{.context = "note", .tools = names{}, .model = "big"})
        .config("b", block{"closed today"})
        .config("c", observe{});
    const auto outcome = all.dispatch(fix_the_parser());
    BOOST_REQUIRE(outcome.blocked.has_value());
    BOOST_TEST(outcome.blocked->reason == "closed today");
    BOOST_TEST(outcome.blocked_text() == "pre_turn hook blocked this turn: closed today");
    BOOST_TEST(outcome.decided_by == "b");
    BOOST_TEST((outcome.contexts.empty() && !outcome.tools && !outcome.model && !outcome.mutated));
    BOOST_TEST((all.ran == names{"a", "b"}));
}

BOOST_AUTO_TEST_CASE(a_failing_config_hook_blocks_the_prompt)
{
    hooks all;
    all.failing("x", origin::extension)
        .config("a", pre_turn::mutate{.context = "note"})
        .failing("b", origin::config)
        .config("c", observe{});
    const auto outcome = all.dispatch(fix_the_parser());
    BOOST_TEST(outcome.blocked.has_value());
    BOOST_TEST(outcome.blocked_text() == "pre_turn hook failed: boom");
    BOOST_TEST(outcome.decided_by == "b");
    BOOST_TEST(outcome.contexts.empty());
    BOOST_TEST(outcome.ignored.size() == 1U);
    BOOST_TEST((all.ran == names{"x", "a", "b"}));
}

BOOST_AUTO_TEST_CASE(a_failing_extension_is_ignored)
{
    hooks all;
    all.extension("a", pre_turn::mutate{.context = "x", .display = "a\nb"})
        .failing("b", origin::extension)
        .extension("c", pre_turn::mutate{.context = "kept"});
    const auto outcome = all.dispatch(fix_the_parser());
    BOOST_TEST(!outcome.blocked.has_value());
    BOOST_REQUIRE(outcome.contexts.size() == 1U);
    BOOST_TEST(outcome.contexts[0].context == "kept");
    BOOST_TEST(outcome.ignored.size() == 2U);
}

BOOST_AUTO_TEST_CASE(values_have_bounds)
{
    const auto of = [](pre_turn::mutate said) { return refusal<pre_turn>(std::move(said)); };
    BOOST_TEST(of({.context = times(43690, "\xE2\x82\xAC") + "ab"}) == "");
    BOOST_TEST(of({.context = times(43690, "\xE2\x82\xAC") + "abc"}) ==
               "pre_turn context exceeds 128 KiB");
    BOOST_TEST(of({.tools = names{"read", ""}}) ==
               "pre_turn mutate tools must be an array of non-empty strings");
    BOOST_TEST(of({.model = ""}) == "pre_turn mutate model must be a non-empty string");
    BOOST_TEST(of({.reasoning_effort = ""}) ==
               "pre_turn mutate reasoningEffort must be a non-empty string");
    BOOST_TEST(of({.context = "x", .display = times(200, "d")}) == "");
    const std::string rule = "pre_turn display must be one line of at most 200 characters";
    BOOST_TEST(of({.context = "x", .display = times(201, "d")}) == rule);
    // Also without a context to show.
    BOOST_TEST(of({.model = "m", .display = "a\nb"}) == rule);
    BOOST_TEST(refusal<pre_turn>(block{""}) == "pre_turn block reason must be a non-empty string");
}

BOOST_AUTO_TEST_CASE(an_outcome_that_nobody_concluded_is_a_block)
{
    BOOST_TEST(pre_turn::outcome().blocked.has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(turn_ending_rules)

using hooks = hooks_of<turn_ending>;

BOOST_AUTO_TEST_CASE(the_first_continue_wins_and_later_hooks_do_not_run)
{
    hooks all;
    all.config("a", observe{})
        .config("b", turn_ending::continue_turn{.context = "one", .display = "Land ho"})
        .config("c", turn_ending::continue_turn{.context = "two"});
    const auto outcome = all.dispatch();
    BOOST_REQUIRE(outcome.continuation.has_value());
    BOOST_TEST(outcome.continuation->source == "b");
    BOOST_TEST(outcome.continuation->context == "one");
    BOOST_TEST(outcome.continuation->display == "Land ho");
    BOOST_TEST((all.ran == names{"a", "b"}));
}

BOOST_AUTO_TEST_CASE(without_a_continue_the_turn_ends)
{
    hooks all;
    all.config("a", observe{});
    const auto outcome = all.dispatch();
    BOOST_TEST((!outcome.continuation && !outcome.failed));
}

BOOST_AUTO_TEST_CASE(a_continue_after_the_one_of_the_turn_is_ignored_and_stops_nobody)
{
    hooks all;
    all.config("a", turn_ending::continue_turn{.context = "again"}).config("b", observe{});
    const auto outcome = all.dispatch({.continuations = 1});
    BOOST_TEST((!outcome.continuation && !outcome.failed));
    BOOST_TEST((all.ran == names{"a", "b"}));
}

BOOST_AUTO_TEST_CASE(a_continue_that_is_ignored_must_still_be_valid)
{
    BOOST_TEST(refusal<turn_ending>(turn_ending::continue_turn{}, {.continuations = 1}) ==
               "turn_ending continue context must not be empty");
}

BOOST_AUTO_TEST_CASE(values_have_bounds)
{
    const auto of = [](turn_ending::continue_turn said) {
        return refusal<turn_ending>(std::move(said));
    };
    BOOST_TEST(of({.context = " "}) == "");
    BOOST_TEST(of({.context = ""}) == "turn_ending continue context must not be empty");
    BOOST_TEST(of({.context = times(131072, "a")}) == "");
    BOOST_TEST(of({.context = times(131073, "a")}) == "turn_ending context exceeds 128 KiB");
    BOOST_TEST(of({.context = "x", .display = "a\rb"}) ==
               "turn_ending display must be one line of at most 200 characters");
}

BOOST_AUTO_TEST_CASE(a_failing_config_hook_lets_the_turn_end_and_later_hooks_do_not_run)
{
    hooks all;
    all.failing("a", origin::config).config("b", turn_ending::continue_turn{.context = "x"});
    const auto outcome = all.dispatch();
    BOOST_TEST(!outcome.continuation.has_value());
    BOOST_REQUIRE(outcome.failed.has_value());
    BOOST_TEST(outcome.failed->handler.name == "a");
    BOOST_TEST((all.ran == names{"a"}));
}

BOOST_AUTO_TEST_CASE(a_failing_extension_is_ignored_and_a_later_one_may_continue)
{
    hooks all;
    all.failing("a", origin::extension)
        .extension("b", turn_ending::continue_turn{.context = ""})
        .extension("c", turn_ending::continue_turn{.context = "x"});
    const auto outcome = all.dispatch();
    BOOST_REQUIRE(outcome.continuation.has_value());
    BOOST_TEST(outcome.continuation->source == "c");
    BOOST_TEST(outcome.ignored.size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(phases)

BOOST_AUTO_TEST_CASE(an_observers_failure_stops_nobody)
{
    chain<session_end> all;
    int ran = 0;
    all.add({.name = "a"}, [](const session_end&) { throw std::runtime_error("boom"); });
    all.add({.name = "b"}, [&](const session_end&) { ++ran; });
    const auto outcome = all.dispatch({});
    BOOST_TEST(ran == 1);
    BOOST_REQUIRE(outcome.failures.size() == 1U);
    BOOST_TEST(outcome.failures[0].handler.name == "a");
}

BOOST_AUTO_TEST_CASE(have_the_names_of_the_document)
{
    const names expected{"pre_tool_use", "post_tool_use", "session_start", "pre_turn",
                         "turn_ending",  "pre_compact",   "session_end",   "subagent_finished"};
    for (std::size_t i = 0; i != phase_count; ++i) {
        BOOST_TEST(name_of(static_cast<phase>(i)) == expected[i]);
        BOOST_TEST((phase_named(expected[i]) == static_cast<phase>(i)));
    }
    BOOST_TEST(!phase_named("turn_finished").has_value());
    BOOST_TEST((phase_of<turn_ending> == phase::turn_ending));
}

BOOST_AUTO_TEST_CASE(that_return_context_may_write_more_and_the_last_three_only_observe)
{
    for (std::size_t i = 0; i != phase_count; ++i) {
        const auto which = static_cast<phase>(i);
        const bool context = which == phase::session_start || which == phase::pre_turn ||
                             which == phase::turn_ending;
        BOOST_TEST(stdout_limit(which) == (context ? 790528U : 65536U));
    }
    BOOST_TEST((belay::notification<pre_compact> && belay::notification<session_end> &&
                belay::notification<subagent_finished>));
    BOOST_TEST((!belay::notification<pre_tool_use> && !belay::notification<post_tool_use> &&
                !belay::notification<session_start> && !belay::notification<pre_turn> &&
                !belay::notification<turn_ending>));
}

BOOST_AUTO_TEST_SUITE_END()
