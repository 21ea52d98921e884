#ifndef BELAY_MODULES_IMPL_RENDER_IPP
#define BELAY_MODULES_IMPL_RENDER_IPP

#include <belay/modules/render.hpp>

#include <boost/json/array.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <string_view>

namespace belay::modules {
namespace detail {

inline void append_lines(std::vector<std::string>& lines, std::string_view text)
{
    for (;;) {
        const auto end = text.find('\n');
        lines.emplace_back(text.substr(0, end));
        if (end == text.npos) return;
        text.remove_prefix(end + 1);
    }
}

// The text of a content block, if it is one of text.
inline const boost::json::string* text_of(const boost::json::value& block)
{
    const auto* fields = block.if_object();
    if (fields == nullptr) return nullptr;
    const auto* type = fields->if_contains("type");
    const auto* text = fields->if_contains("text");
    return type != nullptr && *type == "text" && text != nullptr ? text->if_string() : nullptr;
}

}  // namespace detail

BELAY_DECL std::vector<std::string> default_card(const custom_message& message)
{
    std::vector<std::string> lines{message.custom_type};
    if (const auto* text = message.content.if_string()) {
        if (!text->empty()) detail::append_lines(lines, *text);
    } else if (const auto* blocks = message.content.if_array()) {
        for (const auto& one : *blocks) {
            if (const auto* line = detail::text_of(one)) detail::append_lines(lines, *line);
        }
    }
    return lines;
}

}  // namespace belay::modules

#endif
