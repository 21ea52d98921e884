#ifndef BELAY_MODULES_RENDER_HPP
#define BELAY_MODULES_RENDER_HPP

// How a custom message is shown.

#include <belay/config.hpp>
#include <belay/modules/message.hpp>

#include <boost/json/object.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace belay::modules {

/// How a message is to be shown.
struct render_options {
    bool expanded = false;
    boost::json::object theme{};  ///< as from `ui::theme`
};

/// Makes lines of a message, or nothing for the default card.
using message_renderer = std::function<std::optional<std::vector<std::string>>(
    const custom_message& message, const render_options& options)>;

/// Lines of a renderer beyond this many are not shown, and a last line says how many there were.
inline constexpr std::size_t rendered_lines_limit = 10;

/// What a message without a renderer looks like: its type, then its text blocks.
[[nodiscard]] BELAY_DECL std::vector<std::string> default_card(const custom_message& message);

}  // namespace belay::modules

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/impl/render.ipp>
#endif

#endif
