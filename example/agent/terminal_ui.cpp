#include "terminal_ui.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <exception>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace agent {

namespace asio = boost::asio;
using asio::use_awaitable;

namespace {

std::size_t terminal_columns()
{
    ::winsize size{};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
    return known ? size.ws_col : 80;
}

}  // namespace

bool has_terminal()
{
    return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
}

terminal_ui::terminal_ui(asio::any_io_executor executor, transcript& show)
    : executor_(std::move(executor)),
      show_(show),
      free_(executor_, asio::steady_timer::time_point::max())
{
    if (has_terminal()) keyboard_.emplace(executor_, ::dup(STDIN_FILENO));
}

void terminal_ui::expect(const std::vector<answer>& answers)
{
    answers_.assign(answers.begin(), answers.end());
}

// What the person says becomes the reply, by its meaning.
template <class T, class Meaning>
void terminal_ui::ask(dialog what, belay::host_reply<T> reply, Meaning meaning)
{
    const auto slot = reply.get_cancellation_slot();
    auto said = [reply = std::move(reply), meaning = std::move(meaning)](std::exception_ptr threw,
                                                                         answer text) mutable {
        threw ? reply.fail(std::move(threw)) : reply(meaning(std::move(text)));
    };
    asio::co_spawn(executor_, answer_to(std::move(what)),
                   asio::bind_cancellation_slot(slot, std::move(said)));
}

void terminal_ui::select(std::string_view title,
                         const std::vector<belay::modules::select_option>& options,
                         text_reply reply)
{
    ask({std::string(title), {}, options}, std::move(reply), [options](answer said) -> answer {
        for (std::size_t i = 0; said && i != options.size(); ++i) {
            if (*said == options[i].label || *said == std::to_string(i + 1)) {
                return options[i].label;
            }
        }
        return std::nullopt;
    });
}

void terminal_ui::confirm(std::string_view title, std::string_view message,
                          belay::host_reply<bool> reply)
{
    ask({std::string(title), std::string(message) + " (yes or no)", {}}, std::move(reply),
        [](const answer& said) { return said == "yes" || said == "y"; });
}

void terminal_ui::input(std::string_view title, std::string_view placeholder, text_reply reply)
{
    ask({std::string(title), std::string(placeholder), {}}, std::move(reply),
        [](answer said) { return said; });
}

void terminal_ui::editor(std::string_view title, std::string_view prefill, text_reply reply)
{
    input(title, prefill, std::move(reply));
}

asio::awaitable<terminal_ui::answer> terminal_ui::answer_to(dialog what)
{
    while (asking_) co_await free_.async_wait(asio::as_tuple(use_awaitable));
    show_.dialog(what.title, what.text, what.options);
    if (!answers_.empty()) {
        auto said = std::move(answers_.front());
        answers_.pop_front();
        show_.dialog_answer(said);
        co_return said;
    }
    if (!keyboard_) {
        show_.dialog_answer(std::nullopt);
        co_return std::nullopt;
    }
    asking_ = true;
    const auto [stopped, said] =
        co_await asio::co_spawn(executor_, type(), asio::as_tuple(use_awaitable));
    asking_ = false;
    free_.cancel();
    if (stopped) show_.dialog_answer(std::nullopt);
    co_return said;
}

// A terminal hands over whole lines.
asio::awaitable<terminal_ui::answer> terminal_ui::type()
{
    co_await keyboard_->async_wait(asio::posix::descriptor_base::wait_read, use_awaitable);
    char line[4096];
    const auto size = ::read(keyboard_->native_handle(), line, sizeof line);
    if (size <= 0) co_return std::nullopt;
    std::string text(line, static_cast<std::size_t>(size));
    if (text.ends_with('\n')) text.pop_back();
    co_return text;
}

void terminal_ui::notify(std::string_view text, belay::modules::notice about)
{
    about == belay::modules::notice::info ? show_.note(text) : show_.warning(text);
}

void terminal_ui::set_status(std::string_view key, std::optional<std::string> text)
{
    status_.set(key, std::move(text));
}

void terminal_ui::show_status()
{
    const auto lines = status_.render(terminal_columns() - 2);
    if (lines != status_shown_) show_.status(lines);
    status_shown_ = lines;
}

}  // namespace agent
