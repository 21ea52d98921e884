#ifndef BELAY_TEST_CONFORMANCE_VEYYON_COMPARE_HPP
#define BELAY_TEST_CONFORMANCE_VEYYON_COMPARE_HPP

// What was seen of a vector, compared with what it expects.

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_from.hpp>

#include "suite.hpp"
#include "vectors.hpp"
#include "veyyon_stage.hpp"
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conformance {

/// What is expected of a text: `key` is it, `keyContains` all of its parts, `keyNonEmpty`.
struct text_keys {
    const json::value* exact = nullptr;
    std::vector<std::string> parts{};
    bool non_empty = false;

    bool any() const { return exact != nullptr || !parts.empty() || non_empty; }
};

inline std::vector<std::string> one_or_more(const json::value& value, const std::string& path)
{
    if (value.is_string()) return {reader::as_text(value, path)};
    return reader::as_texts(value, path);
}

inline text_keys read_text_keys(reader& expect, const std::string& key)
{
    text_keys keys;
    keys.exact = expect.find(key);
    if (const auto* parts = expect.find(key + "Contains")) {
        keys.parts = one_or_more(*parts, expect.path_of(key + "Contains"));
    }
    keys.non_empty = expect.find_bool(key + "NonEmpty").value_or(false);
    return keys;
}

inline void compare_text(judgement& so_far, const text_keys& keys,
                         const std::optional<std::string>& text, const std::string& path)
{
    if (keys.exact != nullptr) {
        so_far.same(*keys.exact, text ? json::value(json::string(*text)) : json::value(), path);
    }
    for (const auto& part : keys.parts) {
        if (!text || text->find(part) == std::string::npos) {
            so_far.fail(path + ": expected one with \"" + part + "\", got " +
                        (text ? "\"" + *text + "\"" : std::string("none")));
        }
    }
    if (keys.non_empty && (!text || text->empty())) so_far.fail(path + ": expected one, got none");
}

/// Each key of `expected` as it is in `actual`. Null stands for a key that is not there.
inline void compare_partial(judgement& so_far, const json::value& expected,
                            const json::object& actual, const std::string& path)
{
    if (!expected.is_object()) throw malformed(path + ": must be an object");
    for (const auto& member : expected.get_object()) {
        const auto* value = actual.if_contains(member.key());
        so_far.same(member.value(), value ? *value : json::value(),
                    path + "." + std::string(member.key()));
    }
}

/// Records that are listed in part: a key, or `keyContains` or `keyPrefix` of it.
inline void compare_records(judgement& so_far, const json::value& expected,
                            const json::array& actual, const std::string& path)
{
    if (!expected.is_array()) throw malformed(path + ": must be an array");
    const auto& all = expected.get_array();
    if (all.size() != actual.size()) {
        return so_far.fail(path + ": expected " + std::to_string(all.size()) + ", got " +
                           shown(actual));
    }
    for (std::size_t i = 0; i != all.size(); ++i) {
        const auto place = path + "[" + std::to_string(i) + "]";
        if (!all[i].is_object()) throw malformed(place + ": must be an object");
        const auto& record = actual[i].as_object();
        for (const auto& member : all[i].get_object()) {
            const std::string key(member.key());
            const auto inner = place + "." + key;
            if (const auto* value = record.if_contains(key)) {
                so_far.same(member.value(), *value, inner);
                continue;
            }
            const auto end = key.ends_with("Contains") ? key.size() - 8
                             : key.ends_with("Prefix") ? key.size() - 6
                                                       : 0;
            const auto* value = record.if_contains(key.substr(0, end));
            if (end == 0 || value == nullptr) {
                throw malformed(inner + ": the runner does not know this key");
            }
            const std::string text(view(value->as_string()));
            for (const auto& part : one_or_more(member.value(), inner)) {
                const auto found = text.find(part);
                const bool fine = key.ends_with("Prefix") ? found == 0 : found != std::string::npos;
                if (!fine) so_far.fail(inner + ": expected " + part + ", got " + text);
            }
        }
    }
}

inline void compare_absent(judgement& so_far, const json::value& keys, const json::object& actual,
                           const std::string& path)
{
    for (const auto& key : reader::as_texts(keys, path)) {
        if (const auto* value = actual.if_contains(key)) {
            so_far.fail(path + ": expected no " + key + ", got " + shown(*value));
        }
    }
}

/// What can be expected of handlers, whatever calls them.
inline void compare_handlers(judgement& so_far, reader& expect, const stage& on)
{
    if (const auto* calls = expect.find("calls")) {
        so_far.same(*calls, json::value_from(on.calls), "expect.calls");
    }
    if (const auto* errors = expect.find("errors")) {
        so_far.same(*errors, on.errors, "expect.errors");
    }
    if (const auto* errors = expect.find("errorsLike")) {
        compare_records(so_far, *errors, on.errors, "expect.errorsLike");
    }
    if (const auto* seen = expect.find("seen")) {
        if (!seen->is_object()) throw malformed("expect.seen: must be an object");
        for (const auto& member : seen->get_object()) {
            const auto path = "expect.seen." + std::string(member.key());
            const auto found = on.seen.find(std::string(member.key()));
            if (found == on.seen.end()) {
                so_far.fail(path + ": this handler was not called");
            } else {
                compare_partial(so_far, member.value(), found->second, path);
            }
        }
    }
}

/// `absentKeys`, of what was returned, or, by the ids of handlers, of the events that they got.
inline void compare_absent_keys(judgement& so_far, reader& expect, const stage& on,
                                const json::object* returned)
{
    const auto* keys = expect.find("absentKeys");
    if (keys == nullptr) return;
    if (keys->is_object()) {
        for (const auto& member : keys->get_object()) {
            const auto path = "expect.absentKeys." + std::string(member.key());
            const auto found = on.seen.find(std::string(member.key()));
            if (found == on.seen.end()) {
                so_far.fail(path + ": this handler was not called");
            } else {
                compare_absent(so_far, member.value(), found->second, path);
            }
        }
    } else if (returned != nullptr) {
        compare_absent(so_far, *keys, *returned, "expect.absentKeys");
    } else if (on.seen.size() == 1) {
        compare_absent(so_far, *keys, on.seen.begin()->second, "expect.absentKeys");
    } else {
        so_far.fail("expect.absentKeys: nothing was returned, and not one handler was called");
    }
}

}  // namespace conformance

#endif
