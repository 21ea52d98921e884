#ifndef BELAY_TEST_CONFORMANCE_VEYYON_LOADING_HPP
#define BELAY_TEST_CONFORMANCE_VEYYON_LOADING_HPP

// What is done for a vector of discovery or loading: with real files, and real shared libraries.

#include <belay/modules/capability.hpp>
#include <belay/modules/discovery.hpp>
#include <belay/modules/events.hpp>
#include <belay/modules/loader.hpp>
#include <belay/modules/runner.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_from.hpp>

#include "suite.hpp"
#include "vectors.hpp"
#include "veyyon_compare.hpp"
#include "veyyon_files.hpp"
#include "veyyon_plays.hpp"
#include "veyyon_stage.hpp"
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conformance {

template <class Read>
void for_each(reader& from, std::string_view key, Read&& read)
{
    const auto* list = from.find(key);
    if (list == nullptr || list->is_null()) return;
    if (!list->is_array()) throw malformed(from.path_of(key) + ": must be an array");
    for (std::size_t i = 0; i != list->get_array().size(); ++i) {
        reader one(list->get_array()[i], from.path_of(key) + "[" + std::to_string(i) + "]");
        read(one);
        one.finish();
    }
}

inline modules::item_level read_level(reader& from, const char* key)
{
    const auto said = from.find_text(key).value_or("user");
    if (said == "user") return modules::item_level::user;
    if (said == "project") return modules::item_level::project;
    throw malformed(from.path_of(key) + ": there is no \"" + said + "\"");
}

inline void read_item(reader& from, modules::hook_file& item)
{
    item.type = from.find_text("type").value_or("");
    item.tool = from.find_text("tool").value_or("");
}

inline void read_item(reader&, modules::extension_module&) {}

/// `place` makes the real path of one of the vector's.
template <class Item, class Place>
std::vector<modules::capability_provider<Item>> read_providers(reader& from, std::string_view key,
                                                               Place place)
{
    std::vector<modules::capability_provider<Item>> providers;
    for_each(from, key, [&](reader& one) {
        modules::capability_provider<Item> made;
        made.id = one.text("id");
        made.priority =
            static_cast<int>(one.find_integer("priority", -1'000'000, 1'000'000).value_or(0));
        const auto* throws = one.find("throws");
        modules::provided_items<Item> items;
        for_each(one, "items", [&](reader& item) {
            if (item.has("_source") || item.has("source") || item.has("noSource")) {
                throw inapplicable("that an item has a provider is not the item's to say");
            }
            auto& read = items.items.emplace_back();
            read.name = item.find_text("name").value_or("");
            read.path = place(item.find_text("path").value_or(""));
            read.level = read_level(item, "level");
            read_item(item, read);
        });
        if (throws == nullptr) {
            made.load = [items] { return items; };
        } else {
            made.load = [why = throws->is_string() ? reader::as_text(*throws, "")
                                                   : "failed"]() -> modules::provided_items<Item> {
                throw std::runtime_error(why);
            };
        }
        providers.push_back(std::move(made));
    });
    return providers;
}

/// `warningsContain`: each of its texts is in one of the warnings.
inline void compare_warnings(judgement& so_far, reader& expect,
                             const std::vector<std::string>& warnings)
{
    if (const auto* parts = expect.find("warningsContain")) {
        for (const auto& part : one_or_more(*parts, "expect.warningsContain")) {
            const bool found = std::ranges::any_of(warnings, [&](const std::string& one) {
                return one.find(part) != std::string::npos;
            });
            if (!found) {
                so_far.fail("expect.warningsContain: expected " + part + ", got " +
                            shown(json::value_from(warnings)));
            }
        }
    }
    if (const auto* count = expect.find("warningsCount")) {
        so_far.same(*count, warnings.size(), "expect.warningsCount");
    }
    if (const auto* exact = expect.find("warnings")) {
        so_far.same(*exact, json::value_from(warnings), "expect.warnings");
    }
}

// --- Discovery ----------------------------------------------------------------------------------

inline void play_load_hooks_capability(reader& given, reader& expect, judgement& so_far)
{
    const auto providers = read_providers<modules::hook_file>(
        given, "providers", [](const std::string& path) { return path; });
    const auto disabled =
        given.has("disabled") ? given.texts("disabled") : std::vector<std::string>();
    given.finish();
    const auto loaded = modules::load_hooks(providers, disabled);
    json::array items;
    json::array all;
    json::array shadowed;
    for (const auto& one : loaded.items) items.emplace_back(one.path);
    for (const auto& one : loaded.all) {
        all.emplace_back(one.item.path);
        if (one.shadowed) shadowed.emplace_back(one.item.path);
    }
    const std::map<std::string, json::array> seen{
        {"items", items}, {"all", all}, {"shadowed", shadowed}};
    for (const auto& [key, value] : seen) {
        if (const auto* expected = expect.find(key)) {
            so_far.same(*expected, value, expect.path_of(key));
        }
    }
    compare_warnings(so_far, expect, loaded.warnings);
}

/// Installs a plugin.
inline modules::plugin read_plugin(reader& from, const scratch_folder& scratch,
                                   const std::string& home, const std::string& cwd)
{
    modules::plugin made;
    made.name = from.text("name");
    made.level = read_level(from, from.has("scope") ? "scope" : "level");
    const auto root = made.level == modules::item_level::user ? home : cwd + "/.veyyon";
    made.path = root + "/plugins/node_modules/" + made.name;
    made.enabled = from.find_bool("enabled").value_or(true) &&
                   !from.find_bool("disabled").value_or(false) &&
                   !from.find_bool("projectDisabled").value_or(false);
    if (const auto* features = from.find("enabledFeatures"); features && !features->is_null()) {
        made.enabled_features = reader::as_texts(*features, from.path_of("enabledFeatures"));
    }
    if (const auto* manifest = from.find("manifest")) {
        scratch.make(made.path + "/package.json",
                     json::object{{"name", made.name}, {"veyyon", *manifest}});
    }
    if (const auto* files = from.find("files")) {
        for (const auto& [path, what] : files->as_object()) {
            scratch.make(made.path + "/" + std::string(path), what);
        }
    }
    return made;
}

inline void play_discover(reader& given, reader& expect, judgement& so_far)
{
    const scratch_folder scratch;
    const auto real = [&](const std::string& path) { return scratch.real(path); };
    if (const auto* files = given.find("files")) {
        for (const auto& [path, what] : files->as_object()) {
            scratch.make(real(std::string(path)), what);
        }
    }
    modules::discovery_options options;
    options.cwd = real(given.find_text("cwd").value_or("/v/proj"));
    options.home = real(given.find_text("home").value_or("/v/home"));
    std::filesystem::create_directories(options.cwd);
    options.suffixes = {".ts", ".js"};
    options.extension_modules =
        read_providers<modules::extension_module>(given, "extensionModules", real);
    options.hooks = read_providers<modules::hook_file>(given, "hooks", real);
    for_each(given, "plugins", [&](reader& one) {
        options.plugins.push_back(read_plugin(one, scratch, options.home, options.cwd));
    });
    if (given.has("disabled")) options.disabled = given.texts("disabled");
    std::vector<std::string> configured;
    if (given.has("configured")) {
        for (const auto& path : given.texts("configured")) configured.push_back(real(path));
    }
    given.finish();

    const auto found = modules::discover_extension_paths(configured, options);
    json::array paths;
    for (const auto& path : found.paths) paths.emplace_back(scratch.virtual_text(path));
    if (const auto* expected = expect.find("paths")) {
        so_far.same(*expected, paths, "expect.paths");
    }
    std::vector<std::string> warnings;
    for (const auto& one : found.warnings) warnings.push_back(scratch.virtual_text(one));
    compare_warnings(so_far, expect, warnings);
}

inline void play_resolve_path(reader& given, reader& expect, judgement& so_far)
{
    const auto path = given.text("path");
    const auto cwd = given.text("cwd");
    const auto home = given.find_text("home").value_or("/v/home");
    given.finish();
    if (const auto* expected = expect.find("resolved")) {
        so_far.same(*expected, json::string(modules::resolve_path(path, cwd, home)),
                    "expect.resolved");
    }
}

// --- Loading ------------------------------------------------------------------------------------

inline void link_library(const char* library, const std::string& path)
{
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::filesystem::remove(path);
    std::filesystem::create_symlink(std::filesystem::path(BELAY_TEST_LIBRARIES) / library, path);
}

inline bool has_any(const std::string& text, std::initializer_list<const char*> words)
{
    return std::ranges::any_of(
        words, [&](const char* word) { return text.find(word) != std::string::npos; });
}

/// Makes the module that a vector's `kind` speaks of.
inline void make_module(reader& from, const scratch_folder& scratch, const std::string& path)
{
    const auto kind = from.text("kind");
    const auto message = from.find_text("message").value_or("");
    const auto module_that = [&](const char* what) {
        link_library("told.so", path);
        scratch.make(path + ".does", json::string(std::string(what) + "\n" + message));
    };
    if (has_any(kind, {"exit"})) {
        throw inapplicable("a module that ends the process ends it");
    }
    if (has_any(kind, {"commonjs", "cjs", "module_exports", "require", "class"})) {
        throw inapplicable("what a library exports is one symbol, and its type is known");
    }
    if (has_any(kind, {"async", "reject", "promise", "returns"})) {
        throw inapplicable("a factory returns nothing, and so no promise");
    }
    if (has_any(kind, {"import", "top_level", "module_throws"})) {
        throw inapplicable("what a library throws while it is opened ends the process");
    }
    if (kind == "missing") return;
    if (kind == "default_function" || kind == "factory") return module_that("return");
    if (has_any(kind,
                {"default_object", "default_string", "default_number", "default_undefined",
                 "default_null", "no_default", "no_export", "no_factory", "named", "empty"})) {
        return link_library("no_module.so", path);
    }
    if (kind == "factory_throws") return module_that("throw");
    if (kind == "factory_throws_value") return module_that("throw_text");
    if (has_any(kind, {"then_throws", "registers_and_throws"})) return module_that("throw");
    if (kind == "factory_calls_sendMessage") return module_that("send_message");
    if (kind == "factory_calls_appendEntry") return module_that("append_entry");
    if (kind == "factory_calls_exec") return module_that("exec");
    if (kind == "other_build") return link_library("other_build.so", path);
    if (has_any(kind, {"syntax_error", "not_a_module", "declaration", "text"})) {
        return scratch.make(path, "this is no shared library");
    }
    if (kind == "directory") {
        std::filesystem::create_directories(path);
        return;
    }
    if (kind.starts_with("factory_calls_")) {
        throw inapplicable("the document names no " + kind.substr(14) + " of the API");
    }
    throw malformed(from.path_of("kind") + ": the runner does not know \"" + kind + "\"");
}

inline void play_load(reader& given, reader& expect, judgement& so_far)
{
    const scratch_folder scratch;
    const auto host = std::make_shared<recording_agent>();
    host->directory = scratch.real(given.find_text("cwd").value_or("/v/proj"));
    std::filesystem::create_directories(host->directory);
    std::vector<std::string> paths;
    for_each(given, "modules", [&](reader& module) {
        const auto path = scratch.real(module.text("path"));
        // one that is relative is in the conversation's directory
        make_module(module, scratch,
                    modules::resolve_path(path, host->directory, modules::home_directory()));
        paths.push_back(path);
    });
    given.finish();

    stage on;
    modules::runner runner(on.io.get_executor(), {.agent = host,
                                                  .operator_channel =
                                                      [&](const modules::operator_notice& notice) {
                                                          on.notices.push_back(notice);
                                                      },
                                                  .time = &on.clock});
    const auto result = modules::load(runner, paths);
    json::array loaded;
    json::array errors;
    json::array error_paths;
    for (const auto& path : result.modules) loaded.emplace_back(scratch.virtual_text(path));
    for (const auto& one : result.errors) {
        errors.push_back(json::object{{"path", scratch.virtual_text(one.path)},
                                      {"error", scratch.virtual_text(one.message)}});
        error_paths.emplace_back(scratch.virtual_text(one.path));
    }
    if (const auto* expected = expect.find("loaded")) {
        so_far.same(*expected, loaded, "expect.loaded");
    }
    for (const auto* key : {"errors", "errorsLike"}) {
        if (const auto* expected = expect.find(key)) {
            compare_records(so_far, *expected, errors, expect.path_of(key));
        }
    }
    if (const auto* expected = expect.find("errorPaths")) {
        so_far.same(*expected, error_paths, "expect.errorPaths");
    }
    // whatever is expected: the operator hears of each error, and each module that was loaded, and no
    // other, has a handler, which fails
    if (on.notices.size() != errors.size()) {
        so_far.fail("the operator heard of " + std::to_string(on.notices.size()) + " errors, not " +
                    std::to_string(errors.size()));
    }
    const auto outcome = emitted(on, runner, modules::session_start{});
    std::vector<std::string> heard;
    for (const auto& why : outcome.failures) heard.push_back(why.handler.name);
    if (heard != result.modules) {
        so_far.fail("handlers of " + shown(json::value_from(heard)) + " are there, not of " +
                    shown(loaded));
    }
    on.io.restart();
    on.io.run_for(std::chrono::seconds(60));  // programs that a factory runs
}

}  // namespace conformance

#endif
