#ifndef BELAY_TEST_CONFORMANCE_SUITE_HPP
#define BELAY_TEST_CONFORMANCE_SUITE_HPP

// The vectors of one system: running those of a file, and saying what became of them.

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "vectors.hpp"
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace conformance {

/// A vector that means nothing here. The message says why. It is skipped.
struct inapplicable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// What is wrong with what was seen of one vector.
class judgement {
public:
    void fail(std::string why) { reasons_.push_back(std::move(why)); }
    void same(const json::value& expected, const json::value& actual, const std::string& path)
    {
        if (auto found = difference(expected, actual, path)) fail(*std::move(found));
    }
    const std::vector<std::string>& reasons() const noexcept { return reasons_; }

private:
    std::vector<std::string> reasons_;
};

using reasons = std::map<std::string, std::string, std::less<>>;

/// How the vectors of a system are run.
struct suite {
    std::string system{};  ///< its file is SYSTEM.json

    /// Runs one. What it throws is a failure, but for `inapplicable`.
    std::function<void(const json::value& vector, judgement& so_far)> play{};

    /// Vectors that are not to pass, each with the reason. One that passes all the same is a failure.
    reasons skipped{};

    /// Keys of `expect` that nothing can be compared with, each with the reason.
    reasons unchecked{};
};

inline std::string id_of(const json::value& vector, std::size_t place)
{
    const auto* object = vector.if_object();
    const auto* id = object ? object->if_contains("id") : nullptr;
    if (id && id->is_string() && !id->get_string().empty())
        return std::string(view(id->get_string()));
    return "(vector " + std::to_string(place + 1) + " of the file)";
}

namespace detail {

struct result {
    std::vector<std::string> reasons{};    // none: it has passed
    std::optional<std::string> skipped{};  // why
};

inline result run_vector(const suite& all, const json::value& vector, const std::string& id)
{
    judgement so_far;
    try {
        all.play(vector, so_far);
    } catch (const inapplicable& reason) {
        return {{}, reason.what()};
    } catch (const malformed& error) {
        so_far.fail(std::string("the vector cannot be run: ") + error.what());
    } catch (const std::exception& error) {
        so_far.fail(error.what());
    }
    const auto skip = all.skipped.find(id);
    if (skip == all.skipped.end()) return {so_far.reasons(), {}};
    if (!so_far.reasons().empty()) return {{}, skip->second};
    return {{"it is skipped, because " + skip->second + "; but now it passes"}, {}};
}

inline int run_file(const suite& all, const std::string& path, const std::set<std::string>& only)
{
    const auto vectors = read_vectors(path);
    std::size_t passed = 0;
    std::size_t failed = 0;
    std::vector<std::string> skipped;
    std::map<std::string, std::size_t> unchecked;
    std::set<std::string> missing = only;
    for (std::size_t i = 0; i != vectors.size(); ++i) {
        const auto id = id_of(vectors[i], i);
        if (!only.empty() && !only.contains(id)) continue;
        missing.erase(id);
        const auto* object = vectors[i].if_object();
        const auto* expect = object ? object->if_contains("expect") : nullptr;
        for (const auto& [key, why] : all.unchecked) {
            if (expect && expect->is_object() && expect->get_object().contains(key))
                ++unchecked[key];
        }
        const auto made = run_vector(all, vectors[i], id);
        if (made.skipped) {
            skipped.push_back(id + ": " + *made.skipped);
        } else if (made.reasons.empty()) {
            ++passed;
        } else {
            ++failed;
            for (const auto& why : made.reasons)
                std::printf("FAILED %s: %s: %s\n", path.c_str(), id.c_str(), why.c_str());
            std::fflush(stdout);
        }
    }
    for (const auto& id : missing) throw unusable_file(path + ": there is no vector " + id);
    for (const auto& [key, count] : unchecked) {
        std::printf("not checked: expect.%s of %zu: %s\n", key.c_str(), count,
                    all.unchecked.at(key).c_str());
    }
    for (const auto& one : skipped) std::printf("skipped %s\n", one.c_str());
    std::printf("%zu passed, %zu failed, %zu skipped\n", passed, failed, skipped.size());
    return failed == 0 ? 0 : 1;
}

}  // namespace detail

/// `[FILE.json [ID...]]`. Gives the exit status: 0 if no vector failed, 1 if one did, 2 if the file cannot
/// be used.
inline int run_suite(const suite& all, int argc, char** argv)
{
    try {
        const std::vector<std::string> given(argv + std::min(argc, 1), argv + argc);
        return detail::run_file(
            all, given.empty() ? BELAY_CONFORMANCE_DIR "/" + all.system + ".json" : given.front(),
            std::set<std::string>(given.begin() + (given.empty() ? 0 : 1), given.end()));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "conformance_%s: %s\n", all.system.c_str(), error.what());
        return 2;
    }
}

}  // namespace conformance

#endif
