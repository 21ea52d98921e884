#include <belay/modules/capability.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace belay::modules;
using strings = std::vector<std::string>;

namespace {

using hooks = std::vector<hook_file>;

hook_file hook(std::string path, std::string tool = "bash", std::string name = "x.so")
{
    return {
        .type = "pre", .tool = std::move(tool), .name = std::move(name), .path = std::move(path)};
}

capability_provider<hook_file> provider(std::string id, int priority, hooks items,
                                        strings warnings = {})
{
    return {std::move(id), priority,
            [provided = provided_items<hook_file>{std::move(items), std::move(warnings)}] {
                return provided;
            }};
}

strings paths(const hooks& items)
{
    strings paths;
    for (const auto& one : items) paths.push_back(one.path);
    return paths;
}

strings shadowed(const capability_items<hook_file>& found)
{
    strings paths;
    for (const auto& one : found.all) {
        if (one.shadowed) paths.push_back(one.provider + " " + one.item.path);
    }
    return paths;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(capability_suite)

BOOST_AUTO_TEST_CASE(the_provider_of_higher_priority_comes_first_and_shadows)
{
    const auto found = load_hooks({
        provider("low", 10, {hook("/q/1"), hook("/q/2", "read")}),
        provider("high", 70, {hook("/p/1")}),
    });
    BOOST_TEST(paths(found.items) == (strings{"/p/1", "/q/2"}), boost::test_tools::per_element());
    BOOST_TEST(shadowed(found) == strings{"low /q/1"}, boost::test_tools::per_element());
    BOOST_TEST(found.all.size() == 3u);
    BOOST_TEST(found.warnings.empty());
}

BOOST_AUTO_TEST_CASE(providers_of_one_priority_keep_their_order)
{
    const auto found = load_hooks({
        provider("first", 50, {hook("/1")}),
        provider("second", 50, {hook("/2")}),
        provider("third", 50, {hook("/3", "read")}),
    });
    BOOST_TEST(paths(found.items) == (strings{"/1", "/3"}), boost::test_tools::per_element());
    BOOST_TEST(shadowed(found) == strings{"second /2"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_item_shadows_another_of_its_own_provider)
{
    const auto found = load_hooks({provider("one", 50, {hook("/a", "*"), hook("/b", "*")})});
    BOOST_TEST(paths(found.items) == strings{"/a"}, boost::test_tools::per_element());
    BOOST_TEST(shadowed(found) == strings{"one /b"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(type_tool_and_name_tell_hooks_apart)
{
    auto after = hook("/post");
    after.type = "post";
    const auto found = load_hooks({
        provider("one", 50,
                 {hook("/pre"), after, hook("/tool", "read"), hook("/name", "bash", "y.so")}),
    });
    BOOST_TEST(paths(found.items) == (strings{"/pre", "/post", "/tool", "/name"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_invalid_item_is_left_out_with_a_warning_that_says_what_is_wrong)
{
    auto of_no_type = hook("/type");
    of_no_type.type = "mid";
    const auto found = load_hooks({
        provider(
            "one", 50,
            {of_no_type, hook("", "p"), hook("/tool", ""), hook("/name", "n", ""), hook("/ok")}),
    });
    BOOST_TEST(paths(found.items) == strings{"/ok"}, boost::test_tools::per_element());
    BOOST_TEST(
        found.warnings ==
            (strings{
                "[one] Invalid item hook:mid:bash:x.so at \"/type\": Invalid type: \"mid\" is "
                "neither pre nor post",
                "[one] Invalid item hook:pre:p:x.so at \"\": Missing path",
                "[one] Invalid item hook:pre::x.so at \"/tool\": Missing tool",
                "[one] Invalid item hook:pre:n: at \"/name\": Missing name",
            }),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_invalid_item_shadows_a_valid_one)
{
    const auto found =
        load_hooks({provider("high", 70, {hook("")}), provider("low", 10, {hook("/ok")})});
    BOOST_TEST(found.items.empty());
    BOOST_TEST(shadowed(found) == strings{"low /ok"}, boost::test_tools::per_element());
    BOOST_TEST(found.warnings.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_provider_that_throws_is_a_warning_and_the_others_go_on)
{
    const auto throws = [](const std::string& id, auto what) {
        return capability_provider<hook_file>{
            id, 90, [what]() -> provided_items<hook_file> { throw what; }};
    };
    const auto found = load_hooks({
        throws("broken", std::runtime_error("no disk")),
        throws("odd", 3),
        capability_provider<hook_file>{.id = "empty", .priority = 90},
        provider("one", 50, {hook("/a")}, {"half of it is gone"}),
    });
    BOOST_TEST(paths(found.items) == strings{"/a"}, boost::test_tools::per_element());
    BOOST_REQUIRE(found.warnings.size() == 4u);
    BOOST_TEST(found.warnings[0] == "[broken] Failed to load: no disk");
    BOOST_TEST(found.warnings[1] == "[odd] Failed to load: an exception that is no std::exception");
    BOOST_TEST(found.warnings[2].starts_with("[empty] Failed to load: "));
    BOOST_TEST(found.warnings[3] == "[one] half of it is gone");
}

BOOST_AUTO_TEST_CASE(what_is_disabled_is_left_out_altogether)
{
    const std::vector providers{provider("one", 50, {hook("/a"), hook("/b", "read")})};
    const auto found = load_hooks(providers, {"hook:pre:bash:x.so"});
    BOOST_TEST(paths(found.items) == strings{"/b"}, boost::test_tools::per_element());
    BOOST_TEST(found.all.size() == 1u);
}

BOOST_AUTO_TEST_CASE(modules_are_told_apart_by_their_names)
{
    const capability_provider<extension_module> native{
        "native", 100, [] {
            return provided_items<extension_module>{
                {{"a", "/1/a.so"}, {"a", "/2/a.so"}, {"", "/3"}, {"b", ""}}};
        }};
    const auto found = load_extension_modules({native});
    BOOST_REQUIRE(found.items.size() == 1u);
    BOOST_TEST(found.items[0].path == "/1/a.so");
    BOOST_TEST(
        found.warnings == (strings{
                              "[native] Invalid item extension-module: at \"/3\": Missing name",
                              "[native] Invalid item extension-module:b at \"\": Missing path",
                          }),
        boost::test_tools::per_element());
    BOOST_TEST(load_extension_modules({native}, {"extension-module:a"}).items.empty());
}

BOOST_AUTO_TEST_SUITE_END()
