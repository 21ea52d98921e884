#ifndef BELAY_MODULES_CONTEXT_HPP
#define BELAY_MODULES_CONTEXT_HPP

// What a handler of a module may look at and do (spec: Veyyon, "UI interactions").
//
//     api.on<tool_call>([](const tool_call& event, handler_context here)
//                           -> boost::asio::awaitable<tool_call::answer> {
//         if (!here.has_ui()) co_return belay::block{"nobody is here to ask"};
//         const bool fine = co_await here.ui().async_confirm("Run it?", event.tool_name);
//         if (!fine) co_return belay::block{"the person said no"};
//         co_return belay::observe{};
//     });

#include <belay/modules/agent.hpp>
#include <belay/modules/detail/module_link.hpp>
#include <belay/modules/ui.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::modules {

/// The person, as a module speaks with them. A handle: copies are the same.
///
/// Dialogs complete with `void(std::exception_ptr, T)`, through a post: what the person said, or what
/// the host's dialog threw. Without a token they are awaited, in a coroutine. One that is cancelled (by
/// any type, emitted where the completion handler runs), or whose time is over, completes as it would
/// without a UI: with nothing, or false.
class person {
public:
    explicit person(detail::link_ptr link) noexcept : link_(std::move(link)) {}

    /// The same person, who has this long for each dialog. Otherwise only the timeout of the handler
    /// that asks is a limit.
    person within(std::chrono::milliseconds limit) const
    {
        auto limited = *this;
        limited.limit_ = limit;
        return limited;
    }

    /// Gives the label of the option that was chosen, if any: `std::optional<std::string>`. Name a braced
    /// list of options first if you await it: g++ 12 cannot compile one there.
    template <class Token = boost::asio::use_awaitable_t<>>
    [[nodiscard]] auto async_select(std::string title, std::vector<select_option> options,
                                    Token&& token = Token()) const
    {
        return ask<written>(
            [title = std::move(title), options = std::move(options)](modules::ui& ui, auto reply) {
                ui.select(title, options, std::move(reply));
            },
            std::forward<Token>(token));
    }

    /// Gives a `bool`.
    template <class Token = boost::asio::use_awaitable_t<>>
    [[nodiscard]] auto async_confirm(std::string title, std::string message,
                                     Token&& token = Token()) const
    {
        return ask<bool>(
            [title = std::move(title), message = std::move(message)](modules::ui& ui, auto reply) {
                ui.confirm(title, message, std::move(reply));
            },
            std::forward<Token>(token));
    }

    /// Gives one line, if any: `std::optional<std::string>`.
    template <class Token = boost::asio::use_awaitable_t<>>
    [[nodiscard]] auto async_input(std::string title, std::string placeholder,
                                   Token&& token = Token()) const
    {
        return ask<written>(
            [title = std::move(title), placeholder = std::move(placeholder)](
                modules::ui& ui, auto reply) { ui.input(title, placeholder, std::move(reply)); },
            std::forward<Token>(token));
    }

    /// Gives a longer text, if any: `std::optional<std::string>`.
    template <class Token = boost::asio::use_awaitable_t<>>
    [[nodiscard]] auto async_editor(std::string title, std::string prefill,
                                    Token&& token = Token()) const
    {
        return ask<written>(
            [title = std::move(title), prefill = std::move(prefill)](modules::ui& ui, auto reply) {
                ui.editor(title, prefill, std::move(reply));
            },
            std::forward<Token>(token));
    }

    /// Shows what host and module have agreed on, and gives what came of it: a `boost::json::value`.
    template <class Token = boost::asio::use_awaitable_t<>>
    [[nodiscard]] auto async_custom(boost::json::value what, Token&& token = Token()) const
    {
        return ask<boost::json::value>(
            [what = std::move(what)](modules::ui& ui, auto reply) {
                ui.custom(what, std::move(reply));
            },
            std::forward<Token>(token));
    }

    void notify(std::string_view text, notice about = notice::info) const
    {
        link_->person()->notify(text, about);
    }

    /// Shows a text in the status line; none removes it.
    void set_status(std::string_view key, std::optional<std::string> text) const
    {
        link_->person()->set_status(key, std::move(text));
    }

    void set_editor_text(std::string text) const
    {
        link_->person()->set_editor_text(std::move(text));
    }
    std::string editor_text() const { return link_->person()->editor_text(); }

    boost::json::object theme() const { return link_->person()->theme(); }

private:
    using written = std::optional<std::string>;

    template <class T, class Show, class Token>
    auto ask(Show show, Token&& token) const
    {
        return detail::async_call_host<T>(
            link_, {.timeout = limit_, .if_cut = nullptr},
            [show = std::move(show)](detail::module_link& link, host_reply<T> reply) mutable {
                show(*link.person(), std::move(reply));
            },
            std::forward<Token>(token));
    }

    detail::link_ptr link_;
    std::optional<std::chrono::milliseconds> limit_;
};

/// What every handler may look at and do. A handle, which shows everything as it is at the moment of
/// the call: a handler may keep a copy. All members are called on the runner's executor. Once the
/// runner is gone they throw `std::logic_error`.
class handler_context {
public:
    explicit handler_context(detail::link_ptr link) noexcept : link_(std::move(link)) {}

    /// The person; without a UI, the answers are as `modules::ui` says.
    person ui() const noexcept { return person(link_); }
    bool has_ui() const { return link_->has_person(); }

    std::string cwd() const { return link_->host()->cwd(); }

    /// Never null.
    std::shared_ptr<const session_manager> session() const
    {
        auto given = link_->host()->session();
        return given ? std::move(given) : std::make_shared<session_manager>();
    }
    std::shared_ptr<const model_registry> models() const
    {
        auto given = link_->host()->models();
        return given ? std::move(given) : std::make_shared<model_registry>();
    }

    /// The model that is current now.
    std::optional<model_info> model() const { return link_->host()->model(); }

    bool is_idle() const { return link_->host()->is_idle(); }
    bool has_queued_messages() const { return link_->host()->has_queued_messages(); }

    /// Stops the run, and does not wait for its end.
    void abort() const { link_->host()->abort(); }

    boost::asio::any_io_executor get_executor() const noexcept { return link_->executor(); }

protected:
    const detail::link_ptr& link() const noexcept { return link_; }

private:
    detail::link_ptr link_;
};

/// What a slash command may do besides: change the session. A handler of an event, which runs in the
/// middle of something, must not.
///
/// These complete with `void(std::exception_ptr, T)`, through a post, and without a token they are
/// awaited: with what the host's function threw, or with `errc::cancelled`, as a
/// `boost::system::system_error`, after a cancellation (of any type, emitted where the completion
/// handler runs).
class command_context : public handler_context {
public:
    using handler_context::handler_context;

    /// Completes, with true, when the agent is idle.
    template <class Token = boost::asio::use_awaitable_t<>>
    [[nodiscard]] auto async_wait_for_idle(Token&& token = Token()) const
    {
        return ask<bool>([](agent& host, auto reply) { host.wait_for_idle(std::move(reply)); },
                         std::forward<Token>(token));
    }

    /// Begins a session, unless a handler of `session_before_switch` cancels it; `setup` runs only
    /// if nobody does. Gives a `session_change`.
    template <class Token = boost::asio::use_awaitable_t<>>
    [[nodiscard]] auto async_new_session(new_session_options options, Token&& token = Token()) const
    {
        return ask<session_change>(
            [options = std::move(options)](agent& host, auto reply) {
                host.new_session(options, std::move(reply));
            },
            std::forward<Token>(token));
    }

    /// Branches at an entry, which is a message of the user. Gives a `session_change`.
    template <class Token = boost::asio::use_awaitable_t<>>
    [[nodiscard]] auto async_branch(std::string entry_id, Token&& token = Token()) const
    {
        return ask<session_change>(
            [entry_id = std::move(entry_id)](agent& host, auto reply) {
                host.branch(entry_id, std::move(reply));
            },
            std::forward<Token>(token));
    }

    /// Goes to an entry of the session's tree. Gives a `session_change`.
    template <class Token = boost::asio::use_awaitable_t<>>
    [[nodiscard]] auto async_navigate_tree(std::string target_id, navigate_options options,
                                           Token&& token = Token()) const
    {
        return ask<session_change>(
            [target_id = std::move(target_id), options = std::move(options)](agent& host,
                                                                             auto reply) {
                host.navigate_tree(target_id, options, std::move(reply));
            },
            std::forward<Token>(token));
    }

private:
    template <class T, class Ask, class Token>
    auto ask(Ask to_do, Token&& token) const
    {
        return detail::async_call_host<T>(
            link(), {.timeout = std::nullopt, .if_cut = detail::was_cancelled()},
            [to_do = std::move(to_do)](detail::module_link& link, host_reply<T> reply) mutable {
                to_do(*link.host(), std::move(reply));
            },
            std::forward<Token>(token));
    }
};

}  // namespace belay::modules

#endif
