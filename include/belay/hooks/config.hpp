#ifndef BELAY_HOOKS_CONFIG_HPP
#define BELAY_HOOKS_CONFIG_HPP

// The hooks and the extensions that a config document names, in its order.

#include <belay/config.hpp>
#include <belay/core/error.hpp>
#include <belay/hooks/executable.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace belay::hooks {

/// An entry of the `extensions` list: which extension, and its own configuration.
struct extension_entry {
    std::filesystem::path path{};  ///< absolute, without "." and ".." and a slash at its end
    boost::json::value config = boost::json::object();  ///< as it is in the entry; it is not judged
    std::string where{};  ///< for messages: the document and the entry
};

namespace detail {

// Without ".", ".." and a slash at its end, by its text alone.
BELAY_DECL std::filesystem::path plain_path(const std::filesystem::path& written);

}  // namespace detail

/// A config document, `config.json`, as far as hooks are concerned; other keys are not looked at
/// (spec: Vera, "Add a hook"). A default-constructed one has no hooks.
///
/// Loading is all or nothing: each entry needs a phase and protocol that are known, an argv of
/// non-empty strings whose program lies inside `<home>/hooks`, and a timeout that is a positive whole
/// number. It may say that it is a worker, how many events that may have `in_flight`, and which tools it
/// is for (doc/hooks.md, "A first hook"). The other limits are judged when a session starts its hooks: see `executables`. An entry of
/// `extensions` needs an absolute `path`, each another one; what else it holds is the extension's.
class config {
public:
    config() = default;

    /// Reads a document. `home` is the directory that holds the document and `hooks/`; relative to the
    /// working directory if it is not absolute. Neither is looked at: the program's path is resolved
    /// by its text alone, and symbolic links are not followed. `file` is what messages call the
    /// document.
    ///
    /// The diagnosis is `errc::invalid_config` and names the entry, the field and the value. A key that
    /// is given twice is refused where one of them would be lost: `hooks`, the fields of its entries, and
    /// all of `extensions`.
    [[nodiscard]] BELAY_DECL static checked<config> parse(std::string_view text,
                                                          const std::filesystem::path& home,
                                                          std::string_view file = "config.json",
                                                          protocols known = default_protocols());

    /// The same, of a document that somebody else has parsed: of a key that was given twice, one is
    /// lost, and nobody can tell.
    [[nodiscard]] BELAY_DECL static checked<config> from_json(
        boost::json::value document, const std::filesystem::path& home,
        std::string_view file = "config.json", protocols known = default_protocols());

    /// The hooks in their order, for a session that starts: the program's path is absolute, the name is
    /// its file name. The diagnosis names the first entry whose argv has more than 16 elements or takes
    /// more than 8 KiB as JSON, or whose timeout is over 30000 ms.
    [[nodiscard]] BELAY_DECL checked<std::vector<executable>> executables() const;

    /// The extensions that it names, in their order (spec: Vera, "Register from an extension"). For
    /// `extensions_for`.
    const std::vector<extension_entry>& extensions() const noexcept { return extensions_; }

    /// What is in the document and means nothing, one sentence for each: keys that an entry does not
    /// have, as in a misspelt `timeout_ms`, what is nearly `hooks` or `extensions`, and in `tools` what
    /// cannot be the name of a tool. They are no errors. `registry::follow` logs them.
    const std::vector<std::string>& warnings() const noexcept { return warnings_; }

    /// How many hooks there are.
    std::size_t size() const noexcept { return hooks_.size(); }

    /// The document as it was written, for a program that changes another part of it: in it, the
    /// programs of hooks are still relative. Null for a default-constructed config.
    const boost::json::value& document() const noexcept { return document_; }

private:
    boost::json::value document_;
    std::string file_ = "config.json";
    std::vector<std::string> warnings_;
    std::vector<extension_entry> extensions_;
    std::vector<executable> hooks_;  // limits not judged; a timeout may be the greatest there is
};

}  // namespace belay::hooks

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/config.ipp>
#endif

#endif
