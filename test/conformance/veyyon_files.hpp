#ifndef BELAY_TEST_CONFORMANCE_VEYYON_FILES_HPP
#define BELAY_TEST_CONFORMANCE_VEYYON_FILES_HPP

// A real folder for the files of a vector: what is /v there is in a folder of its own here.

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "vectors.hpp"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace conformance {

/// A temporary folder, in which the virtual paths of a vector are.
class scratch_folder {
public:
    scratch_folder()
    {
        auto name =
            (std::filesystem::canonical(std::filesystem::temp_directory_path()) / "veyyonXXXXXX")
                .string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error(name + ": cannot be made");
        root_ = name;
    }
    scratch_folder(const scratch_folder&) = delete;
    scratch_folder& operator=(const scratch_folder&) = delete;
    ~scratch_folder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }

    const std::string& root() const noexcept { return root_; }

    /// Where a path of the vector really is: one below /v or /ext; others are as they are.
    std::string real(std::string_view path) const
    {
        for (const std::string_view top : {"/v", "/ext"}) {
            if (path == top || path.starts_with(std::string(top) + "/")) {
                return root_ + std::string(path);
            }
        }
        return std::string(path);
    }

    /// The same of every text in `value`.
    json::value real_texts(const json::value& value) const
    {
        if (value.is_string()) return json::string(real(view(value.get_string())));
        if (const auto* array = value.if_array()) {
            json::array all;
            for (const auto& one : *array) all.push_back(real_texts(one));
            return all;
        }
        if (const auto* object = value.if_object()) {
            json::object all;
            for (const auto& [key, one] : *object) all.emplace(key, real_texts(one));
            return all;
        }
        return value;
    }

    /// A text with real paths, as the vector writes them.
    std::string virtual_text(std::string text) const
    {
        for (auto at = text.find(root_); at != text.npos; at = text.find(root_, at)) {
            text.erase(at, root_.size());
        }
        return text;
    }

    /// Makes a file, at a real path: a text, an object, which is JSON, or a link.
    void make(const std::string& path, const json::value& what) const
    {
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        if (const auto* object = what.if_object()) {
            if (const auto* target = object->if_contains("symlinkTo")) {
                const auto to = real(reader::as_text(*target, path + ".symlinkTo"));
                return std::filesystem::create_symlink(to, path);
            }
        }
        std::ofstream file(path, std::ios::binary);
        if (what.is_string()) {
            file << view(what.get_string());
        } else {
            file << json::serialize(real_texts(what));
        }
        if (!file.flush()) throw std::runtime_error(path + ": cannot be written");
    }

private:
    std::string root_;
};

}  // namespace conformance

#endif
