#include <belay/modules/discovery.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

using namespace belay::modules;
using strings = std::vector<std::string>;
namespace fs = std::filesystem;

namespace {

// A folder with files; paths in it are written without it.
struct temporary_folder {
    temporary_folder()
    {
        std::string name = (fs::temp_directory_path() / "belay-test-XXXXXX").string();
        BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
        root = fs::canonical(name).string();
        options.cwd = root;
        options.home = root + "/home";
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder()
    {
        std::error_code ignored;
        fs::remove_all(root, ignored);
    }

    std::string at(const std::string& path) const { return root + "/" + path; }

    void file(const std::string& path, std::string_view text = "") const
    {
        fs::create_directories(fs::path(at(path)).parent_path());
        std::ofstream(at(path), std::ios::binary) << text;
    }

    void link(const std::string& path, const std::string& to) const
    {
        fs::create_directories(fs::path(at(path)).parent_path());
        fs::create_symlink(at(to), at(path));
    }

    std::string without_root(std::string text) const
    {
        for (auto found = text.find(root); found != text.npos; found = text.find(root)) {
            text.erase(found, root.size() + 1);
        }
        return text;
    }

    // The paths that are found; the warnings are kept.
    strings find(const strings& configured = {})
    {
        const auto found = discover_extension_paths(configured, options);
        warnings.clear();
        for (const auto& one : found.warnings) warnings.push_back(without_root(one));
        strings paths;
        for (const auto& one : found.paths) paths.push_back(without_root(one));
        return paths;
    }

    // A plugin in a folder of its name.
    plugin& add_plugin(const std::string& name, const std::string& manifest)
    {
        file(name + "/package.json", R"({"veyyon":)" + manifest + "}");
        options.plugins.push_back({.name = name, .path = at(name)});
        return options.plugins.back();
    }

    void add_module(const std::string& provider, const std::string& path)
    {
        options.extension_modules.push_back({provider, 100, [path = at(path)] {
                                                 return provided_items<extension_module>{
                                                     {{module_name(path), path}}};
                                             }});
    }

    void add_hook(const std::string& name)
    {
        options.hooks.push_back({"native", 100, [name, path = at("hooks/" + name)] {
                                     return provided_items<hook_file>{
                                         {{"pre", fs::path(name).stem().string(), name, path}}};
                                 }});
    }

    std::string root;
    discovery_options options;
    strings warnings;
};

}  // namespace

#define BELAY_TEST_LIST(found, ...) \
    BOOST_TEST((found) == (strings{__VA_ARGS__}), boost::test_tools::per_element())

BOOST_FIXTURE_TEST_SUITE(discovery_suite, temporary_folder)

// --- Paths ---------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_absolute_path_is_used_as_it_is)
{
    BOOST_TEST(resolve_path("/a/./b/../c.so", "/cwd", "/home/me") == "/a/./b/../c.so");
}

BOOST_AUTO_TEST_CASE(a_tilde_is_the_home_directory)
{
    BOOST_TEST(resolve_path("~/a.so", "/cwd", "/home/me") == "/home/me/a.so");
    BOOST_TEST(resolve_path("~", "/cwd", "/home/me") == "/home/me");
    BOOST_TEST(resolve_path("~//x/../a.so", "/cwd", "/home/me/") == "/home/me/a.so");
}

BOOST_AUTO_TEST_CASE(a_tilde_and_a_name_is_no_other_persons_home)
{
    BOOST_TEST(resolve_path("~root/a.so", "/cwd", "/home/me") == "/home/me/root/a.so");
}

BOOST_AUTO_TEST_CASE(a_relative_path_is_relative_to_the_working_directory)
{
    BOOST_TEST(resolve_path("a.so", "/cwd", "/home/me") == "/cwd/a.so");
    BOOST_TEST(resolve_path("./a.so", "/cwd", "/home/me") == "/cwd/a.so");
    BOOST_TEST(resolve_path("../a.so", "/cwd/x/", "/home/me") == "/cwd/a.so");
    BOOST_TEST(resolve_path("a~/b.so", "/cwd", "/home/me") == "/cwd/a~/b.so");
    BOOST_TEST(resolve_path("", "/cwd", "/home/me") == "/cwd");
}

BOOST_AUTO_TEST_CASE(without_a_home_directory_a_tilde_is_a_name)
{
    BOOST_TEST(resolve_path("~/a.so", "/cwd", "") == "/cwd/~/a.so");
}

BOOST_AUTO_TEST_CASE(a_module_is_called_by_its_file_and_an_index_by_its_folder)
{
    BOOST_TEST(module_name("/m/guard.so") == "guard");
    BOOST_TEST(module_name("/m/guard.v2.so") == "guard.v2");
    BOOST_TEST(module_name("/m/guard/index.so") == "guard");
    BOOST_TEST(module_name("/m/guard/index.js") == "index");
    BOOST_TEST(module_name("/m/guard/index.js", {".ts", ".js"}) == "guard");
}

// --- The order of the stages -----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(modules_then_hooks_then_plugins_then_what_is_configured)
{
    add_hook("bash.so");
    add_module("native", "n/one.so");
    file("p/e.so");
    file("p/h.so");
    file("q/h.so");
    add_plugin("p", R"({"hooks":"./h.so","extensions":["./e.so"]})");
    add_plugin("q", R"({"hooks":["h.so"]})");
    file("x.so");
    BELAY_TEST_LIST(find({"x.so"}), "n/one.so", "hooks/bash.so", "p/e.so", "p/h.so", "q/h.so",
                    "x.so");
    BOOST_TEST(warnings.empty());
}

BOOST_AUTO_TEST_CASE(what_is_there_twice_stands_at_its_first_place_as_it_is_spelled_there)
{
    add_module("native", "n/./one.so");
    add_hook("../n/one.so");
    file("x.so");
    BELAY_TEST_LIST(find({at("n/../n/one.so"), "./x.so", at("y/../x.so"), "x.so"}), "n/./one.so",
                    "x.so");
}

BOOST_AUTO_TEST_CASE(a_link_to_a_module_is_another_module)
{
    file("x.so");
    link("y.so", "x.so");
    BELAY_TEST_LIST(find({"x.so", "y.so"}), "x.so", "y.so");
}

BOOST_AUTO_TEST_CASE(only_native_providers_are_asked_for_modules)
{
    add_module("claude", "c/one.so");
    options.extension_modules.push_back({"other", 200, []() -> provided_items<extension_module> {
                                             BOOST_FAIL("it is asked");
                                             return {};
                                         }});
    add_module("native", "n/one.so");
    BELAY_TEST_LIST(find(), "n/one.so");
}

BOOST_AUTO_TEST_CASE(of_hooks_only_those_with_a_suffix_of_a_module_are_loaded)
{
    for (const auto* name : {"a.so", "b.sh", "c.so.1", "d"}) add_hook(name);
    BELAY_TEST_LIST(find(), "hooks/a.so");
    options.suffixes = {".sh", ".1"};
    BELAY_TEST_LIST(find(), "hooks/b.sh", "hooks/c.so.1");
}

BOOST_AUTO_TEST_CASE(
    a_disabled_module_is_left_out_of_folders_and_plugins_but_no_hook_and_no_configured_file)
{
    add_module("native", "n/guard.so");
    add_hook("guard.so");
    for (const auto* path :
         {"p/guard.so", "p/h/index.so", "d/guard.so", "d/other.so", "guard.so", "guard/index.so"}) {
        file(path);
    }
    add_plugin("p", R"({"extensions":["guard.so"],"hooks":["h"]})");
    options.disabled = {"extension-module:guard", "extension-module:h"};
    BELAY_TEST_LIST(find({"guard.so", "d", "guard"}), "hooks/guard.so", "guard.so", "d/other.so");
}

BOOST_AUTO_TEST_CASE(a_disabled_hook_is_left_out)
{
    add_hook("a.so");
    add_hook("b.so");
    options.disabled = {"hook:pre:a:a.so"};
    BELAY_TEST_LIST(find(), "hooks/b.so");
}

BOOST_AUTO_TEST_CASE(warnings_of_providers_are_those_of_the_discovery)
{
    options.warnings = {"before"};
    add_hook("");
    find();
    BOOST_REQUIRE(warnings.size() == 2u);
    BOOST_TEST(warnings[0] == "before");
    BOOST_TEST(warnings[1].starts_with("[native] Invalid item "));
}

// --- What is configured ----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_configured_file_is_taken_whatever_its_suffix)
{
    file("x.module");
    BELAY_TEST_LIST(find({"x.module"}), "x.module");
}

BOOST_AUTO_TEST_CASE(a_configured_path_that_does_not_exist_stays_and_fails_at_load)
{
    file("x");
    BELAY_TEST_LIST(find({"gone.so", "x/below_a_file.so", "local://x.so"}), "gone.so",
                    "x/below_a_file.so", "local:/x.so");
    BOOST_TEST(warnings.empty());
}

BOOST_AUTO_TEST_CASE(home_and_working_directory_have_defaults)
{
    const auto found = discover_extension_paths({"gone.so", "~/gone.so"});
    BELAY_TEST_LIST(found.paths, fs::current_path().string() + "/gone.so",
                    home_directory() + "/gone.so");
}

BOOST_AUTO_TEST_CASE(of_a_folder_the_manifest_counts_before_its_index)
{
    file("d/package.json", R"({"veyyon":{"extensions":["./m.so","./gone.so","sub","no_index"]}})");
    for (const auto* path : {"d/m.so", "d/index.so", "d/sub/index.so", "d/no_index/x.so"})
        file(path);
    BELAY_TEST_LIST(find({"d"}), "d/m.so", "d/sub/index.so");
    BELAY_TEST_LIST(warnings,
                    R"(d/package.json: "extensions" lists "./gone.so", which is not there)");
}

BOOST_AUTO_TEST_CASE(a_path_with_a_NUL_lists_no_other_module)
{
    file("d/package.json", R"({"veyyon":{"extensions":["m.so\u0000x"]}})");
    file("d/m.so");
    file("d/index.so");
    BELAY_TEST_LIST(find({"d"}), "d/index.so");
    BOOST_TEST(warnings.size() == 1u);
}

BOOST_AUTO_TEST_CASE(of_a_folder_the_index_counts_if_nothing_that_its_manifest_lists_is_there)
{
    file("d/package.json", R"({"veyyon":{"extensions":["./gone.so"]}})");
    file("d/index.so");
    file("d/other.so");
    BELAY_TEST_LIST(find({"d"}), "d/index.so");
}

BOOST_AUTO_TEST_CASE(the_index_with_the_first_suffix_counts)
{
    options.suffixes = {".ts", ".js"};
    for (const auto* path : {"d/index.js", "d/index.ts", "d/index.so", "e/index.js"}) file(path);
    BELAY_TEST_LIST(find({"d", "e"}), "d/index.ts", "e/index.js");
}

BOOST_AUTO_TEST_CASE(else_the_modules_in_a_folder_count_sorted_by_name)
{
    for (const auto* path :
         {"d/z.so", "d/B.so", "d/a.so", "d/readme.md", "d/m/index.so", "d/none/x.so",
          "d/deep/er/index.so", "d/.hidden.so", "d/.folder/index.so"}) {
        file(path);
    }
    file("d/l/package.json", R"({"pi":{"extensions":["one.so","two.so"]}})");
    file("d/l/two.so");
    file("d/l/one.so");
    BELAY_TEST_LIST(find({"d"}), "d/B.so", "d/a.so", "d/l/one.so", "d/l/two.so", "d/m/index.so",
                    "d/z.so");
    BOOST_TEST(warnings.empty());
}

BOOST_AUTO_TEST_CASE(a_folder_in_a_folder_has_no_index_if_its_manifest_lists_anything)
{
    file("d/s/package.json", R"({"veyyon":{"extensions":["./gone.so"]}})");
    file("d/s/index.so");
    file("d/t/package.json", R"({"veyyon":{"extensions":[]}})");
    file("d/t/index.so");
    BELAY_TEST_LIST(find({"d"}), "d/t/index.so");
}

BOOST_AUTO_TEST_CASE(links_count_and_those_to_nothing_do_not)
{
    file("else/m.so");
    file("else/index.so");
    link("d/file.so", "else/m.so");
    link("d/folder", "else");
    link("d/dangling.so", "gone.so");
    link("d/dangling", "gone");
    link("e", "else");
    BELAY_TEST_LIST(find({"d", "e"}), "d/file.so", "d/folder/index.so", "e/index.so");
    BOOST_TEST(warnings.empty());
}

BOOST_AUTO_TEST_CASE(a_folder_with_nothing_in_it_gives_nothing)
{
    file("d/readme.md");
    BELAY_TEST_LIST(find({"d"}));
    BOOST_TEST(warnings.empty());
}

// --- Manifests -------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_first_key_of_a_manifest_counts_also_without_extensions)
{
    for (const auto* path : {"d/m.so", "d/n.so", "d/o.so", "d/index.so"}) file(path);
    file(
        "d/package.json",
        R"({"pi":{"extensions":["o.so"]},"omp":{"extensions":["n.so"]},"veyyon":{"extensions":["m.so"]}})");
    BELAY_TEST_LIST(find({"d"}), "d/m.so");
    file("d/package.json", R"({"pi":{"extensions":["o.so"]},"omp":{"extensions":["n.so"]}})");
    BELAY_TEST_LIST(find({"d"}), "d/n.so");
    file("d/package.json", R"({"pi":{"extensions":["o.so"]},"veyyon":null})");
    BELAY_TEST_LIST(find({"d"}), "d/o.so");
    file("d/package.json", R"({"pi":{"extensions":["o.so"]},"veyyon":{}})");
    BELAY_TEST_LIST(find({"d"}), "d/index.so");
}

BOOST_AUTO_TEST_CASE(a_manifest_that_is_wrong_is_a_warning_and_no_manifest)
{
    file("d/index.so");
    const auto warning_of = [&](std::string_view text) {
        file("d/package.json", text);
        BELAY_TEST_LIST(find({"d"}), "d/index.so");
        BOOST_REQUIRE(warnings.size() == 1u);
        return warnings[0];
    };
    BOOST_TEST(warning_of("{").starts_with("d/package.json: it is not JSON: "));
    BOOST_TEST(warning_of("[]") == "d/package.json: it is not an object");
    BOOST_TEST(warning_of(R"({"omp":3})") == R"(d/package.json: "omp" is not an object)");
    BOOST_TEST(warning_of(R"({"omp":{"extensions":[7]}})") ==
               R"(d/package.json: "extensions" has an entry that is not a path)");
    BOOST_TEST(warning_of(R"({"omp":{"extensions":{}}})") ==
               R"(d/package.json: "extensions" has an entry that is not a path)");
}

BOOST_AUTO_TEST_CASE(a_package_that_is_no_file_is_no_manifest)
{
    file("d/index.so");
    fs::create_directory(at("d/package.json"));
    BELAY_TEST_LIST(find({"d"}), "d/index.so");
    BOOST_TEST(warnings.empty());
}

// --- Plugins -----------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_folder_of_a_plugins_extensions_gives_its_modules_one_of_its_hooks_its_index)
{
    for (const auto* path : {"p/e/b.so", "p/e/a.so", "p/h/x.so", "p/i/index.so"}) file(path);
    add_plugin("p", R"({"extensions":"e","hooks":["h","i"]})");
    BELAY_TEST_LIST(find(), "p/e/a.so", "p/e/b.so", "p/i/index.so");
}

BOOST_AUTO_TEST_CASE(what_a_plugin_lists_and_is_not_there_is_left_out_with_a_warning)
{
    file("p/e.so");
    add_plugin("p", R"({"extensions":["gone.so","e.so"]})");
    BELAY_TEST_LIST(find(), "p/e.so");
    BELAY_TEST_LIST(warnings,
                    R"(p/package.json: "extensions" lists "gone.so", which is not there)");
}

BOOST_AUTO_TEST_CASE(features_that_are_on_add_to_a_plugins_entries)
{
    for (const auto* path : {"p/b.so", "p/x.so", "p/y.so", "p/h.so"}) file(path);
    auto& installed = add_plugin("p", R"({"extensions":["b.so"],"features":{
        "y":{"default":false,"extensions":["y.so"]},"x":{"default":true,"extensions":["x.so"],"hooks":"h.so"}}})");
    BELAY_TEST_LIST(find(), "p/b.so", "p/x.so", "p/h.so");
    installed.enabled_features = strings{"x", "y", "unknown"};
    BELAY_TEST_LIST(find(), "p/b.so", "p/y.so", "p/x.so", "p/h.so");
    installed.enabled_features = strings{};
    BELAY_TEST_LIST(find(), "p/b.so");
    BOOST_TEST(warnings.empty());
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_no_plugin_has_no_features)
{
    for (const auto* path : {"d/a.so", "d/x.so"}) file(path);
    file("d/package.json", R"({"veyyon":{"extensions":["a.so"],
        "features":{"x":{"default":true,"extensions":["x.so"]}}}})");
    BELAY_TEST_LIST(find({"d"}), "d/a.so");
}

BOOST_AUTO_TEST_CASE(a_plugin_without_a_manifest_gives_nothing)
{
    file("p/index.so");
    options.plugins = {{.name = "p", .path = at("p")}, {.name = "gone", .path = at("gone")}};
    BELAY_TEST_LIST(find());
    BOOST_TEST(warnings.empty());
}

BOOST_AUTO_TEST_CASE(a_disabled_plugin_gives_nothing)
{
    file("p/e.so");
    add_plugin("p", R"({"extensions":["e.so"]})").enabled = false;
    BELAY_TEST_LIST(find());
}

BOOST_AUTO_TEST_CASE(a_plugin_of_the_project_takes_the_place_of_one_of_the_user)
{
    for (const auto* path : {"p/e.so", "q/e.so", "r/e.so"}) file(path);
    add_plugin("p", R"({"extensions":["e.so"]})").name = "same";
    add_plugin("r", R"({"extensions":["e.so"]})");
    auto& of_project = add_plugin("q", R"({"extensions":["e.so"]})");
    of_project.name = "same";
    BELAY_TEST_LIST(find(), "p/e.so", "r/e.so");
    of_project.level = item_level::project;
    BELAY_TEST_LIST(find(), "q/e.so", "r/e.so");
    of_project.enabled = false;
    BELAY_TEST_LIST(find(), "p/e.so", "r/e.so");
}

// --- An agent's own folder -------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_agents_own_folder_has_modules_hooks_and_plugins)
{
    for (const auto* path :
         {"me/extensions/b.so", "me/extensions/a/index.so", "me/hooks/post/z.so",
          "me/hooks/pre/bash.so", "me/hooks/pre/any.sh", "me/plugins/node_modules/q/e.so",
          "me/plugins/node_modules/@s/p/e.so", "me/plugins/node_modules/no_plugin/e.so",
          "me/index.so", "me/hooks/other/x.so"}) {
        file(path);
    }
    for (const auto* path : {"me/plugins/node_modules/q", "me/plugins/node_modules/@s/p"}) {
        file(std::string(path) + "/package.json", R"({"veyyon":{"extensions":["e.so"]}})");
    }
    options = native_discovery(at("me"));
    BELAY_TEST_LIST(find(), "me/extensions/a/index.so", "me/extensions/b.so",
                    "me/hooks/pre/bash.so", "me/hooks/post/z.so",
                    "me/plugins/node_modules/@s/p/e.so", "me/plugins/node_modules/q/e.so");
    BOOST_TEST(warnings.empty());
    options.disabled = {"extension-module:a", "hook:post:z:z.so"};
    options.plugins.clear();
    BELAY_TEST_LIST(find(), "me/extensions/b.so", "me/hooks/pre/bash.so");
}

BOOST_AUTO_TEST_CASE(nothing_of_a_working_tree_is_read)
{
    for (const auto* path : {".veyyon/hooks/pre/bash.so", ".veyyon/extensions/a.so",
                             "hooks/pre/bash.so", "extensions/a.so"}) {
        file(path);
    }
    options = native_discovery(at("me"));
    options.cwd = root;
    BELAY_TEST_LIST(find());
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_not_there_gives_nothing)
{
    options = native_discovery(at("gone"));
    BELAY_TEST_LIST(find());
    BOOST_TEST(warnings.empty());
}

BOOST_AUTO_TEST_CASE(what_should_be_a_folder_and_is_a_file_is_a_warning)
{
    file("me/hooks/pre");
    options = native_discovery(at("me"));
    BELAY_TEST_LIST(find());
    BELAY_TEST_LIST(warnings, "[native] me/hooks/pre: the folder cannot be read: Not a directory");
}

BOOST_AUTO_TEST_CASE(native_hooks_are_files_whose_tool_is_their_name_and_no_links)
{
    for (const auto* path : {"me/hooks/pre/bash.so", "me/hooks/pre/*.so", "me/hooks/post/read.sh",
                             "me/hooks/pre/.hidden.so", "me/hooks/pre/folder/x.so", "else.so"}) {
        file(path);
    }
    link("me/hooks/pre/link.so", "else.so");
    strings found;
    for (const auto& one : native_hooks(at("me")).load().items) {
        found.push_back(one.type + " " + one.tool + " " + one.name + " " + without_root(one.path));
        BOOST_TEST((one.level == item_level::user));
    }
    BELAY_TEST_LIST(found, "pre * *.so me/hooks/pre/*.so", "pre bash bash.so me/hooks/pre/bash.so",
                    "post read read.sh me/hooks/post/read.sh");
    BOOST_TEST(native_hooks(at("me")).id == "native");
    BOOST_TEST(native_hooks(at("me")).priority == 100);
}

BOOST_AUTO_TEST_SUITE_END()
