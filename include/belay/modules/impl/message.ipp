#ifndef BELAY_MODULES_IMPL_MESSAGE_IPP
#define BELAY_MODULES_IMPL_MESSAGE_IPP

#include <belay/modules/message.hpp>

#include <boost/json/string.hpp>

namespace belay::modules {

BELAY_DECL custom_message text_message(std::string_view text)
{
    return {.content = boost::json::string(text), .display = true, .attribution = "agent"};
}

BELAY_DECL boost::json::object text_block(std::string_view text)
{
    return {{"type", "text"}, {"text", text}};
}

BELAY_DECL std::string_view text_in(const boost::json::object& fields,
                                    std::string_view key) noexcept
{
    const auto* member = fields.if_contains(key);
    const auto* text = member != nullptr ? member->if_string() : nullptr;
    return text != nullptr ? std::string_view(*text) : std::string_view();
}

BELAY_DECL delivery plan_delivery(const delivery_options& options, bool streaming) noexcept
{
    if (!streaming) {
        return {delivery::place::context, options.trigger_turn, false};
    }
    if (options.as == deliver_as::next_turn) {
        return {delivery::place::hidden_next_turn, false, options.trigger_turn};
    }
    if (options.as == deliver_as::follow_up) return {delivery::place::follow_up, false, false};
    return {delivery::place::steering, false, false};
}

}  // namespace belay::modules

#endif
