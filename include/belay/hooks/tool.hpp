#ifndef BELAY_HOOKS_TOOL_HPP
#define BELAY_HOOKS_TOOL_HPP

// A tool call of the model, and what the tool gave back.

#include <belay/config.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <string>
#include <string_view>

namespace belay::hooks {

/// A call that the model asked for. No hook changes its id or its name.
struct tool_call {
    std::string id{};
    std::string name{};
    boost::json::object input{};
};

/// What a tool gave back, or what stands in its place.
struct tool_result {
    /// Items as the model sees them: `{"type":"text","text":...}`, and from tools, not from hooks,
    /// other types (images).
    boost::json::array content{};
    bool is_error = false;
};

/// A result of one text item.
[[nodiscard]] BELAY_DECL tool_result text_result(std::string_view text, bool is_error = false);

/// The text items of `content`, joined by line breaks.
[[nodiscard]] BELAY_DECL std::string text_of(const boost::json::array& content);

/// Whether `content` holds only objects whose `type` is "text" and whose `text` is a string.
[[nodiscard]] BELAY_DECL bool is_text_only(const boost::json::array& content) noexcept;

}  // namespace belay::hooks

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/tool.ipp>
#endif

#endif
