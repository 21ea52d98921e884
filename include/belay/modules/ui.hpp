#ifndef BELAY_MODULES_UI_HPP
#define BELAY_MODULES_UI_HPP

// How modules speak with the person, if there is one.

#include <belay/core/host_function.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::modules {

/// One thing to choose.
struct select_option {
    std::string label{};        ///< what is shown, and what comes back
    std::string description{};  ///< shown beside it; may be empty
};

/// What a notification is about.
enum class notice : unsigned char { info, warning, error };

/// The face of the agent that modules see: a host derives from it, and overrides what its people can
/// see. What it does not override does what it does without a UI: `select`, `input`, `editor` and
/// `custom` give nothing, `confirm` says no, `editor_text` is empty, the others do nothing (spec:
/// Veyyon, "UI interactions").
///
/// Texts are a module's, or the model's: a terminal shows them without what could control it
/// (`sanitize_status`).
///
/// Everything is called on the runner's executor. A dialog may answer later, through its reply, whose
/// cancellation slot fires when nobody waits for the answer any more. What a dialog throws, or fails
/// with, reaches the one who asked.
class ui {
public:
    using text_reply = host_reply<std::optional<std::string>>;

    virtual ~ui() = default;

    /// The label of the option that was chosen.
    virtual void select(std::string_view title, const std::vector<select_option>& options,
                        text_reply reply)
    {
        (void)title, (void)options;
        reply(std::nullopt);
    }

    virtual void confirm(std::string_view title, std::string_view message, host_reply<bool> reply)
    {
        (void)title, (void)message;
        reply(false);
    }

    /// One line.
    virtual void input(std::string_view title, std::string_view placeholder, text_reply reply)
    {
        (void)title, (void)placeholder;
        reply(std::nullopt);
    }

    /// A longer text, which begins as `prefill`.
    virtual void editor(std::string_view title, std::string_view prefill, text_reply reply)
    {
        (void)title, (void)prefill;
        reply(std::nullopt);
    }

    /// Something that host and module have agreed on; null: nothing.
    virtual void custom(const boost::json::value& what, host_reply<boost::json::value> reply)
    {
        (void)what;
        reply(nullptr);
    }

    virtual void notify(std::string_view text, notice about) { (void)text, (void)about; }

    /// The text of a key in the status line, as it was given; none removes the key.
    virtual void set_status(std::string_view key, std::optional<std::string> text)
    {
        (void)key, (void)text;
    }

    /// What the person is writing.
    virtual void set_editor_text(std::string text) { (void)text; }
    virtual std::string editor_text() const { return {}; }

    /// The host's colours, by names that are its own.
    virtual boost::json::object theme() const { return {}; }
};

}  // namespace belay::modules

#endif
