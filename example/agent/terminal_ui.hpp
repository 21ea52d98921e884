#ifndef BELAY_EXAMPLE_AGENT_TERMINAL_UI_HPP
#define BELAY_EXAMPLE_AGENT_TERMINAL_UI_HPP

// The person of a conversation, as modules speak with them.

#include <belay/modules/status_line.hpp>
#include <belay/modules/ui.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "transcript.hpp"
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agent {

/// Whether a person is there: stdin and stdout are a terminal.
bool has_terminal();

/// Dialogs are answered by the script, while it has answers, and then at the terminal, if there is one.
/// One dialog is shown at a time.
class terminal_ui final : public belay::modules::ui {
public:
    using answer = std::optional<std::string>;  ///< none: the person does not answer

    /// `show` must outlive this.
    terminal_ui(boost::asio::any_io_executor executor, transcript& show);

    /// What the person of the script says to the next dialogs.
    void expect(const std::vector<answer>& answers);
    std::size_t answers_left() const noexcept { return answers_.size(); }

    void select(std::string_view title, const std::vector<belay::modules::select_option>& options,
                text_reply reply) override;
    void confirm(std::string_view title, std::string_view message,
                 belay::host_reply<bool> reply) override;
    void input(std::string_view title, std::string_view placeholder, text_reply reply) override;

    /// A line, like `input`: what the text begins as is shown above it.
    void editor(std::string_view title, std::string_view prefill, text_reply reply) override;

    void notify(std::string_view text, belay::modules::notice about) override;
    void set_status(std::string_view key, std::optional<std::string> text) override;

    /// Shows the status line, if it is another than the last time.
    void show_status();

private:
    struct dialog {
        std::string title;
        std::string text;
        std::vector<belay::modules::select_option> options;
    };

    template <class T, class Meaning>
    void ask(dialog what, belay::host_reply<T> reply, Meaning meaning);
    boost::asio::awaitable<answer> answer_to(dialog what);
    boost::asio::awaitable<answer> type();

    boost::asio::any_io_executor executor_;
    transcript& show_;
    std::deque<answer> answers_;
    std::optional<boost::asio::posix::stream_descriptor> keyboard_;
    bool asking_ = false;
    boost::asio::steady_timer free_;  // cancelled when the next dialog may be shown
    belay::modules::status_line status_;
    std::vector<std::string> status_shown_;
};

}  // namespace agent

#endif
