#ifndef BELAY_MODULES_MESSAGE_HPP
#define BELAY_MODULES_MESSAGE_HPP

// Messages that modules put into a conversation, and how they get there.

#include <belay/config.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace belay::modules {

/// A message of a module: kept in the session, and part of the model's context but for its details.
struct custom_message {
    std::string custom_type = "custom-message";   ///< the module's own name for this kind
    boost::json::value content = "";              ///< a string, or an array of content blocks
    bool display = false;                         ///< whether people see it
    std::optional<boost::json::value> details{};  ///< for renderers; the model does not see it
    std::optional<std::string> attribution{};     ///< "user" or "agent"; absent: the host's choice
};

/// The message that a bare text stands for: shown to people, and the agent's.
[[nodiscard]] BELAY_DECL custom_message text_message(std::string_view text);

/// A content block, `{"type": "text", "text": ...}`.
[[nodiscard]] BELAY_DECL boost::json::object text_block(std::string_view text);

/// The text of a member, such as `command` of a tool's input; empty if it is no string, or not there.
[[nodiscard]] BELAY_DECL std::string_view text_in(const boost::json::object& fields,
                                                  std::string_view key) noexcept;

/// When the model sees a message that is sent while it is at work.
enum class deliver_as : unsigned char {
    steer,      ///< as soon as it can be interrupted
    follow_up,  ///< when the run is over
    next_turn,  ///< with the next prompt, unseen until then
};

/// What `api::send_message` may ask for.
struct delivery_options {
    std::optional<deliver_as> as{};
    bool trigger_turn = false;  ///< begin a turn with it when the agent is idle
};

/// Where a message goes. What the document leaves to the host, in one place.
struct delivery {
    enum class place : unsigned char {
        context,           ///< into context and session, at once
        steering,          ///< the queue of what steers the run
        follow_up,         ///< the queue of what follows it
        hidden_next_turn,  ///< the hidden queue of the next prompt
    };

    place where = place::context;
    bool starts_turn = false;             ///< a turn begins with it now
    bool schedules_continuation = false;  ///< one, once the run is over

    friend bool operator==(const delivery&, const delivery&) = default;
};

/// How a host delivers a message, `streaming` or idle.
[[nodiscard]] BELAY_DECL delivery plan_delivery(const delivery_options& options,
                                                bool streaming) noexcept;

}  // namespace belay::modules

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/impl/message.ipp>
#endif

#endif
