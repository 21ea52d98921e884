#ifndef BELAY_HOOKS_IMPL_SESSION_IPP
#define BELAY_HOOKS_IMPL_SESSION_IPP

#include <belay/hooks/detail/batch_op.hpp>
#include <belay/hooks/detail/complete.hpp>
#include <belay/hooks/detail/session_state.hpp>
#include <belay/hooks/session.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>

#include <memory>
#include <string_view>
#include <utility>

namespace belay::hooks {
namespace detail {

// Asks the hooks of one phase. `conclude` gets their outcome unless the operation was cancelled.
template <class E, class Conclude>
class phase_op final : public session_operation,
                       public std::enable_shared_from_this<phase_op<E, Conclude>> {
public:
    using outcome = outcome_of<E>;

    phase_op(state_ptr session, session_handler<outcome> handler, Conclude conclude)
        : session_(std::move(session)),
          handler_(session_->host->executor, std::move(handler)),
          conclude_(std::move(conclude))
    {}

    void start(E event)
    {
        const auto self = this->shared_from_this();
        session_->running = self;
        handler_.on_cancel([weak = this->weak_from_this()] {
            const auto op = weak.lock();
            if (op && op->session_->running.lock() == op) op->session_->cancel_operation();
        });
        auto done = [self](error_code ec, outcome said) {
            if (!ec) self->conclude(std::move(said));
        };
        session_->hooks->template hooks_of<E>().async_dispatch(
            std::move(event), boost::asio::bind_cancellation_slot(stop_.slot(), std::move(done)));
    }

    void cancel() override
    {
        stop_.emit(boost::asio::cancellation_type::terminal);
        handler_.complete(errc::cancelled, {});
    }

private:
    void conclude(outcome said)
    {
        if (!handler_.pending()) return;  // it was cancelled
        session_->running.reset();
        conclude_(*session_, said);
        handler_.complete({}, std::move(said));
    }

    const state_ptr session_;
    waiting_handler<outcome> handler_;
    Conclude conclude_;
    boost::asio::cancellation_signal stop_;
};

template <class E, class Conclude>
void ask_hooks(const state_ptr& session, E event, session_handler<outcome_of<E>> handler,
               Conclude conclude)
{
    std::make_shared<phase_op<E, Conclude>>(session, std::move(handler), std::move(conclude))
        ->start(std::move(event));
}

template <class Outcome>
void complete(const state_ptr& session, session_handler<Outcome> handler, error_code ec,
              Outcome outcome = {})
{
    waiting_handler<Outcome>(session->host->executor, std::move(handler))
        .complete(ec, std::move(outcome));
}

inline std::string_view name_of(session_start::cause reason) noexcept
{
    switch (reason) {
    case session_start::cause::start: return "start";
    case session_start::cause::resume: return "resume";
    case session_start::cause::compacted: return "compacted";
    }
    return "";
}

inline void ask_at_start(const state_ptr& session, session_start::cause reason,
                         session_handler<session_start::outcome> handler)
{
    auto conclude = [reason](session_state& here, session_start::outcome& said) {
        reason == session_start::cause::compacted ? here.fsm.end_restart() : here.fsm.end_start();
        for (const auto& one : said.failures) {
            auto occasion = here.occasion();
            occasion.emplace("reason", name_of(reason));
            log_failure(here.host->options.log, session_start::event_name, one,
                        std::move(occasion));
        }
    };
    ask_hooks(session, session->fsm.start_event(reason), std::move(handler), conclude);
}

inline void ask_about_prompt(const state_ptr& session, bool first, bool arrived_during_turn,
                             session_handler<pre_turn::outcome> handler)
{
    auto conclude = [](session_state& here, pre_turn::outcome& said) {
        auto* log = here.host->options.log;
        for (const auto& one : said.ignored) {
            log_failure(log, pre_turn::event_name, one, here.occasion(), "ignored");
        }
        if (said.failed) {
            log_failure(log, pre_turn::event_name, *said.failed, here.occasion(), "blocked");
        }
        here.tell(here.fsm.end_prompt(said));
    };
    ask_hooks(session, session->fsm.prompt_event(first, arrived_during_turn), std::move(handler),
              conclude);
}

// Operations may be started anywhere, and begin on the executor.
template <class F>
void on_executor(const state_ptr& session, F&& f)
{
    boost::asio::dispatch(session->host->executor, std::forward<F>(f));
}

BELAY_DECL void start_session(state_ptr state, session_start::cause reason,
                              session_handler<session_start::outcome> handler)
{
    on_executor(state, [state, reason, handler = std::move(handler)]() mutable {
        if (const auto ec = state->fsm.begin_start()) {
            return complete(state, std::move(handler), ec);
        }
        ask_at_start(state, reason, std::move(handler));
    });
}

BELAY_DECL void begin_turn(state_ptr state, std::optional<std::string> prompt,
                           turn_settings settings, session_handler<pre_turn::outcome> handler)
{
    on_executor(state, [state, prompt = std::move(prompt), settings = std::move(settings),
                        handler = std::move(handler)]() mutable {
        const bool asks = prompt.has_value();
        if (const auto ec = state->fsm.begin_turn(std::move(prompt), std::move(settings))) {
            return complete(state, std::move(handler), ec);
        }
        if (asks) return ask_about_prompt(state, true, false, std::move(handler));
        complete(state, std::move(handler), {}, {.blocked = std::nullopt});
    });
}

BELAY_DECL void add_prompt(state_ptr state, std::string prompt, arrival how,
                           session_handler<pre_turn::outcome> handler)
{
    on_executor(state,
                [state, prompt = std::move(prompt), how, handler = std::move(handler)]() mutable {
                    if (const auto ec = state->fsm.add_prompt(std::move(prompt), how)) {
                        return complete(state, std::move(handler), ec);
                    }
                    ask_about_prompt(state, false, how == arrival::during_turn, std::move(handler));
                });
}

BELAY_DECL void run_tools(state_ptr state, model_reply reply, tool_host host,
                          session_handler<batch_outcome> handler)
{
    on_executor(state, [state, reply = std::move(reply), host = std::move(host),
                        handler = std::move(handler)]() mutable {
        if (const auto ec = state->fsm.begin_tools(reply.text)) {
            return complete(state, std::move(handler), ec);
        }
        auto batch = std::make_shared<batch_op>(state, std::move(reply.calls), std::move(host),
                                                std::move(handler));
        state->running = batch;
        batch->start();
    });
}

BELAY_DECL void end_turn(state_ptr state, model_reply reply,
                         session_handler<turn_ending::outcome> handler)
{
    on_executor(state, [state, reply = std::move(reply), handler = std::move(handler)]() mutable {
        if (const auto ec = state->fsm.begin_ending(reply)) {
            return complete(state, std::move(handler), ec);
        }
        if (!session_fsm::is_final(reply)) {
            state->tell(state->fsm.end_without_hooks(reply.stop));
            return complete(state, std::move(handler), {});
        }
        auto conclude = [](session_state& here, turn_ending::outcome& said) {
            auto* log = here.host->options.log;
            for (const auto& one : said.ignored) {
                log_failure(log, turn_ending::event_name, one, here.occasion(), "ignored");
            }
            if (said.failed) {
                log_failure(log, turn_ending::event_name, *said.failed, here.occasion(),
                            "turn_ended");
            }
            here.tell(here.fsm.end_ending(said));
        };
        ask_hooks(state, state->fsm.ending_event(reply.text), std::move(handler), conclude);
    });
}

BELAY_DECL void finish_compaction(state_ptr state, session_handler<session_start::outcome> handler)
{
    on_executor(state, [state, handler = std::move(handler)]() mutable {
        if (const auto ec = state->fsm.end_compaction(true)) {
            return complete(state, std::move(handler), ec);
        }
        ask_at_start(state, session_start::cause::compacted, std::move(handler));
    });
}

}  // namespace detail

BELAY_DECL session::session(detail::state_ptr state) noexcept : state_(std::move(state)) {}

BELAY_DECL session::executor_type session::get_executor() const noexcept
{
    return state_->host->executor;
}

BELAY_DECL const std::string& session::id() const noexcept
{
    return state_->fsm.who().id;
}
BELAY_DECL bool session::spawned() const noexcept
{
    return state_->fsm.who().spawned;
}
BELAY_DECL bool session::bare() const noexcept
{
    return state_->fsm.who().bare;
}

BELAY_DECL bool session::cancel_turn()
{
    return state_->cancel_turn();
}
BELAY_DECL bool session::turn_running() const noexcept
{
    return state_->fsm.turn_running();
}

BELAY_DECL const turn_settings& session::settings() const noexcept
{
    return state_->fsm.settings();
}

BELAY_DECL std::uint64_t session::turns() const noexcept
{
    return state_->fsm.turns();
}

BELAY_DECL error_code session::begin_compaction(pre_compact::cause reason, std::uint64_t tokens,
                                                std::optional<std::uint64_t> capacity)
{
    if (const auto ec = state_->fsm.begin_compaction()) return ec;
    const auto& who = state_->fsm.who();
    state_->tell(pre_compact{who.id, who.workspace, reason, tokens, capacity, who.spawned});
    return {};
}

BELAY_DECL error_code session::fail_compaction()
{
    return state_->fsm.end_compaction(false);
}

BELAY_DECL result<session> session::create_subagent(subagent_options options)
{
    if (state_->fsm.is_closed()) return error_code(errc::closed);
    const auto& who = state_->fsm.who();
    auto made = std::make_shared<detail::session_state>(
        state_->host, state_->hooks,
        session_options{.id = std::move(options.id),
                        .workspace = std::move(options.workspace).value_or(who.workspace),
                        .spawned = true,
                        .bare = who.bare});
    made->starter = who.id;
    made->is_subagent = true;
    made->background = options.background;
    std::erase_if(state_->subagents, [](const auto& one) { return one.expired(); });
    state_->subagents.push_back(made);
    return session(std::move(made));
}

BELAY_DECL error_code session::hand_back(subagent_finished::result result, std::string text)
{
    if (!state_->is_subagent) return errc::not_begun;
    if (const auto ec = state_->fsm.may_hand_back()) return ec;
    const auto& who = state_->fsm.who();
    state_->tell(subagent_finished{state_->starter, who.id, who.workspace, state_->background,
                                   result, std::move(text)});
    return {};
}

BELAY_DECL bool session::close(session_end::cause reason)
{
    return state_->close(reason);
}

}  // namespace belay::hooks

#endif
