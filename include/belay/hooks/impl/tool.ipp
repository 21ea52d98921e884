#ifndef BELAY_HOOKS_IMPL_TOOL_IPP
#define BELAY_HOOKS_IMPL_TOOL_IPP

#include <belay/hooks/tool.hpp>

#include <boost/json/value.hpp>

#include <algorithm>

namespace belay::hooks {
namespace detail {

// The text of an item, or null if it is not a text item.
inline const boost::json::string* text_in(const boost::json::value& item) noexcept
{
    const auto* object = item.if_object();
    const auto* type = object ? object->if_contains("type") : nullptr;
    if (type == nullptr || !type->is_string() || type->get_string() != "text") return nullptr;
    const auto* text = object->if_contains("text");
    return text ? text->if_string() : nullptr;
}

}  // namespace detail

BELAY_DECL tool_result text_result(std::string_view text, bool is_error)
{
    boost::json::object item;
    item.emplace("type", "text");
    item.emplace("text", text);
    tool_result made;
    made.content.emplace_back(std::move(item));
    made.is_error = is_error;
    return made;
}

BELAY_DECL std::string text_of(const boost::json::array& content)
{
    std::string joined;
    bool first = true;
    for (const auto& item : content) {
        const auto* text = detail::text_in(item);
        if (text == nullptr) continue;
        if (!std::exchange(first, false)) joined += '\n';
        joined.append(text->data(), text->size());
    }
    return joined;
}

BELAY_DECL bool is_text_only(const boost::json::array& content) noexcept
{
    return std::ranges::all_of(content,
                               [](const auto& item) { return detail::text_in(item) != nullptr; });
}

}  // namespace belay::hooks

#endif
