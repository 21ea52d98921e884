#ifndef BELAY_HOOKS_IMPL_ASK_OP_IPP
#define BELAY_HOOKS_IMPL_ASK_OP_IPP

#include <belay/hooks/detail/activation.hpp>
#include <belay/hooks/detail/ask_op.hpp>
#include <belay/hooks/extension.hpp>
#include <belay/hooks/session.hpp>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <exception>
#include <string_view>
#include <utility>

namespace belay::hooks::detail {

BELAY_DECL ask_op::ask_op(const session_state& session, std::string question, handler_ptr handler)
    : executor_(session.host->executor),
      model_(session.host->options.ask_model),
      books_(session.host->options.usage),
      asked_{session.fsm.who().id, session.last_request->request, session.last_request->settings,
             std::move(question)},
      handler_(std::move(handler)),
      timer_(session.host->time.make_timer(executor_))
{}

BELAY_DECL void ask_op::start()
{
    handler_->on_cancel([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->cancel(errc::cancelled);
    });
    timer_->async_wait(clock::time_point::max(), loop_guard<ask_op>(shared_from_this()));
    std::optional<said> thrown;
    try {
        model_(asked_, host_reply<model_answer>(shared_from_this()));
    } catch (...) {
        thrown = belay::detail::message_of(std::current_exception());
    }
    const std::lock_guard lock(mutex_);
    // A reply that it took down with it has failed, too, but says less.
    if (thrown && !(said_ && std::holds_alternative<model_answer>(*said_))) said_ = thrown;
    starting_ = false;
    send();
}

BELAY_DECL void ask_op::cancel(error_code why)
{
    if (!handler_->pending()) return;
    handler_->complete(
        why, {.error = why == errc::closed ? "session " + asked_.session_id + " was closed"
                                           : "the question was cancelled"});
    {
        const std::lock_guard lock(mutex_);
        if (said_) return;  // what the slot was bound to may be gone
    }
    stop_.emit(boost::asio::cancellation_type::terminal);
}

BELAY_DECL void ask_op::answer(model_answer what) noexcept
{
    settle(std::move(what));
}

BELAY_DECL void ask_op::fail(std::exception_ptr why) noexcept
{
    settle(belay::detail::message_of(std::move(why)));
}

BELAY_DECL void ask_op::settle(said what) noexcept
{
    const std::lock_guard lock(mutex_);
    if (said_) return;
    said_.emplace(std::move(what));
    send();
}

// Under the lock: the operation ends before its executor does.
BELAY_DECL void ask_op::send() noexcept
{
    if (starting_ || over_ || !said_) return;
    over_ = true;
    boost::asio::post(executor_, [self = shared_from_this(), what = std::move(*said_)]() mutable {
        self->conclude(std::move(what));
    });
}

BELAY_DECL void ask_op::conclude(said what)
{
    timer_.reset();
    if (const auto* why = std::get_if<std::string>(&what)) {
        if (handler_->pending()) handler_->complete(errc::unreachable, {.error = *why});
        return;
    }
    auto& got = std::get<model_answer>(what);
    if (books_ != nullptr) {
        books_->on_usage(
            {.session_id = asked_.session_id, .model = got.model, .usage = std::move(got.usage)});
    }
    if (!handler_->pending()) return;  // nobody waits any more
    side_answer result;
    if (got.model != asked_.settings.model) {
        const auto who = got.model.empty() ? std::string("a model without a name") : got.model;
        result.error = "the question was answered by " + who + ", not by the session's model " +
                       asked_.settings.model;
    } else if (!got.calls.empty()) {
        result.error = "the model asked for the tool " + got.calls.front().name +
                       ", and a side question runs none";
    } else {
        result.text = std::move(got.text);
    }
    const auto ec = result.error.empty() ? error_code() : error_code(errc::invalid_answer);
    handler_->complete(ec, std::move(result));
}

// The event loop is being destroyed.
BELAY_DECL void ask_op::drop() noexcept
{
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    timer_.reset();
    handler_->forget();
}

// Why a session cannot be asked.
inline std::optional<diagnosis> why_not_asked(const session_state& session)
{
    const auto who = "session " + session.fsm.who().id;
    if (session.fsm.is_closed()) return diagnosis{errc::closed, who + " is closed"};
    if (!session.host->options.ask_model) {
        return diagnosis{errc::unreachable, "this host has no model for side questions"};
    }
    if (!session.last_request) {
        return diagnosis{errc::not_begun, who + " has not called its model yet"};
    }
    return std::nullopt;
}

// `find` gets the session, on the executor.
template <class Find>
void launch_ask(const boost::asio::any_io_executor& executor, Find find, std::string question,
                session_handler<side_answer> handler)
{
    auto waiting = waiting_handler<side_answer>::make(executor, std::move(handler));
    boost::asio::dispatch(executor, [waiting = std::move(waiting), find = std::move(find),
                                     question = std::move(question)]() mutable {
        try {
            const checked<state_ptr> session = find();
            const auto why = session ? why_not_asked(**session) : session.error();
            if (why) return waiting->complete(why->code, {.error = why->message});
            const auto op = std::make_shared<ask_op>(**session, std::move(question), waiting);
            auto& open = (*session)->questions;
            std::erase_if(open, [](const auto& one) { return one.expired(); });
            open.push_back(op);
            op->start();
        } catch (...) {
            if (!waiting->pending()) throw;
            waiting->complete(errc::threw,
                              {.error = belay::detail::message_of(std::current_exception())});
        }
    });
}

BELAY_DECL void ask_session(state_ptr state, std::string question,
                            session_handler<side_answer> handler)
{
    const auto executor = state->host->executor;
    launch_ask(
        executor, [state = std::move(state)]() -> checked<state_ptr> { return state; },
        std::move(question), std::move(handler));
}

// Why an extension may not ask a session now.
inline std::optional<diagnosis> why_it_may_not_ask(const activation& self)
{
    constexpr std::string_view capability = "sessions.ask";
    if (self.stage == activation::state::over) {
        return self.blame(errc::closed, "it is not active any more");
    }
    if (!self.declares(capability)) return self.blame(errc::undeclared, needed(capability));
    return std::nullopt;
}

BELAY_DECL void ask_for_extension(
    const activation_ptr& extension, std::string session_id, std::string question,
    boost::asio::any_completion_handler<void(error_code, side_answer)> handler)
{
    auto find = [extension,
                 id = std::move(session_id)]() -> checked<std::shared_ptr<session_state>> {
        if (auto why = why_it_may_not_ask(*extension)) return *std::move(why);
        const auto host = extension->host.lock();
        if (auto found = host ? host->find(id) : nullptr) return found;
        return diagnosis{errc::closed, "no session " + id + " is open"};
    };
    launch_ask(extension->executor, std::move(find), std::move(question), std::move(handler));
}

}  // namespace belay::hooks::detail

#endif
