#ifndef BELAY_HOOKS_IMPL_SESSION_IPP
#define BELAY_HOOKS_IMPL_SESSION_IPP

#include <belay/hooks/detail/ask_op.hpp>
#include <belay/hooks/detail/batch_op.hpp>
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

// Asks the hooks of one phase. `conclude` gets their outcome, unless the operation was cancelled or
// has failed.
template <class E, class Conclude>
class phase_op final : public session_operation,
                       public std::enable_shared_from_this<phase_op<E, Conclude>> {
public:
    using outcome = outcome_of<E>;

    phase_op(state_ptr session, waiting_ptr<outcome> handler, Conclude conclude)
        : session_(std::move(session)), handler_(std::move(handler)), conclude_(std::move(conclude))
    {}

    void start(E event)
    {
        const auto self = this->shared_from_this();
        session_->running = self;
        handler_->on_cancel([weak = this->weak_from_this()] {
            const auto op = weak.lock();
            if (op && op->session_->running.lock() == op) op->session_->cancel_operation();
        });
        auto done = [self](error_code ec, outcome said) { self->conclude(ec, std::move(said)); };
        session_->hooks->template hooks_of<E>().async_dispatch(
            std::move(event), boost::asio::bind_cancellation_slot(stop_.slot(), std::move(done)));
    }

    void cancel(error_code why) override
    {
        stop_.emit(boost::asio::cancellation_type::terminal);
        handler_->complete(why, {});
    }

private:
    void conclude(error_code ec, outcome said)
    {
        if (!handler_->pending()) return;  // it was cancelled
        if (ec) return session_->fail_operation(ec);
        session_->running.reset();
        conclude_(*session_, said);
        handler_->complete({}, std::move(said));
    }

    const state_ptr session_;
    const waiting_ptr<outcome> handler_;
    Conclude conclude_;
    boost::asio::cancellation_signal stop_;
};

template <class E, class Conclude>
void ask_hooks(const state_ptr& session, E event, waiting_ptr<outcome_of<E>> handler,
               Conclude conclude)
{
    std::make_shared<phase_op<E, Conclude>>(session, std::move(handler), std::move(conclude))
        ->start(std::move(event));
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
                         waiting_ptr<session_start::outcome> handler)
{
    auto conclude = [reason](session_state& here, const session_start::outcome& said) {
        here.fsm.end_start();
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
                             waiting_ptr<pre_turn::outcome> handler)
{
    auto conclude = [](session_state& here, const pre_turn::outcome& said) {
        auto ended = here.fsm.end_prompt(said);  // first: the log may stop the turn
        log_failures<pre_turn>(
            here.host->options.log, said, [&] { return here.occasion(); }, "blocked");
        here.tell(std::move(ended));
    };
    ask_hooks(session, session->fsm.prompt_event(first, arrived_during_turn), std::move(handler),
              conclude);
}

// Operations may be started anywhere, and begin on the executor. `f` gets the session and the
// handler.
template <class Outcome, class F>
void launch(const state_ptr& session, session_handler<Outcome> handler, F f)
{
    const auto& executor = session->host->executor;
    auto waiting = waiting_handler<Outcome>::make(executor, std::move(handler));
    boost::asio::dispatch(executor,
                          [session, waiting = std::move(waiting), f = std::move(f)]() mutable {
                              try {
                                  f(session, waiting);
                              } catch (...) {
                                  // It had been accepted, or it would have been answered.
                                  if (!waiting->pending()) throw;
                                  session->fail_operation(errc::threw);
                                  if (waiting->pending()) waiting->complete(errc::threw, {});
                              }
                          });
}

BELAY_DECL void start_session(state_ptr state, session_start::cause reason,
                              session_handler<session_start::outcome> handler)
{
    launch(state, std::move(handler),
           [reason](const state_ptr& here, waiting_ptr<session_start::outcome> waiting) {
               if (const auto ec = here->fsm.begin_start()) return waiting->complete(ec, {});
               ask_at_start(here, reason, std::move(waiting));
           });
}

BELAY_DECL void begin_turn(state_ptr state, std::optional<std::string> prompt,
                           turn_settings settings, session_handler<pre_turn::outcome> handler)
{
    launch(state, std::move(handler),
           [prompt = std::move(prompt), settings = std::move(settings)](
               const state_ptr& here, waiting_ptr<pre_turn::outcome> waiting) mutable {
               const bool asks = prompt.has_value();
               if (const auto ec = here->fsm.begin_turn(std::move(prompt), std::move(settings))) {
                   return waiting->complete(ec, {});
               }
               if (asks) return ask_about_prompt(here, true, false, std::move(waiting));
               waiting->complete({}, {.blocked = std::nullopt});
           });
}

BELAY_DECL void add_prompt(state_ptr state, std::string prompt, arrival how,
                           session_handler<pre_turn::outcome> handler)
{
    launch(state, std::move(handler),
           [prompt = std::move(prompt), how](const state_ptr& here,
                                             waiting_ptr<pre_turn::outcome> waiting) mutable {
               if (const auto ec = here->fsm.add_prompt(std::move(prompt), how)) {
                   return waiting->complete(ec, {});
               }
               ask_about_prompt(here, false, how == arrival::during_turn, std::move(waiting));
           });
}

BELAY_DECL void run_tools(state_ptr state, model_reply reply, tool_host host,
                          session_handler<batch_outcome> handler)
{
    launch(state, std::move(handler),
           [reply = std::move(reply), host = std::move(host)](
               const state_ptr& here, waiting_ptr<batch_outcome> waiting) mutable {
               if (const auto ec = here->fsm.begin_tools(reply.text)) {
                   return waiting->complete(ec, {});
               }
               const auto batch = std::make_shared<batch_op>(here, std::move(reply.calls),
                                                             std::move(host), std::move(waiting));
               here->running = batch;
               batch->start();
           });
}

BELAY_DECL void end_turn(state_ptr state, model_reply reply,
                         session_handler<turn_ending::outcome> handler)
{
    launch(state, std::move(handler),
           [reply = std::move(reply)](const state_ptr& here,
                                      waiting_ptr<turn_ending::outcome> waiting) {
               if (const auto ec = here->fsm.begin_ending(reply)) return waiting->complete(ec, {});
               if (!session_fsm::is_final(reply)) {
                   here->tell(here->fsm.end_without_hooks(reply.stop));
                   return waiting->complete({}, {});
               }
               auto conclude = [](session_state& session, const turn_ending::outcome& said) {
                   auto ended = session.fsm.end_ending(said);
                   log_failures<turn_ending>(
                       session.host->options.log, said, [&] { return session.occasion(); },
                       "turn_ended");
                   session.tell(std::move(ended));
               };
               ask_hooks(here, here->fsm.ending_event(reply.text), std::move(waiting), conclude);
           });
}

BELAY_DECL void finish_compaction(state_ptr state, session_handler<session_start::outcome> handler)
{
    launch(state, std::move(handler),
           [](const state_ptr& here, waiting_ptr<session_start::outcome> waiting) {
               if (const auto ec = here->fsm.end_compaction(true)) return waiting->complete(ec, {});
               ask_at_start(here, session_start::cause::compacted, std::move(waiting));
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
    state_->host->opened(made);
    return session(std::move(made));
}

BELAY_DECL error_code session::hand_back(subagent_finished::result result, std::string text)
{
    if (!state_->is_subagent) return errc::not_begun;
    if (const auto ec = state_->fsm.may_hand_back()) return ec;
    state_->fsm.handed_back();
    const auto& who = state_->fsm.who();
    state_->tell(subagent_finished{state_->starter, who.id, who.workspace, state_->background,
                                   result, std::move(text)});
    return {};
}

BELAY_DECL void session::record_request(std::shared_ptr<const boost::json::value> request)
{
    state_->last_request.reset();
    if (request) state_->last_request = {std::move(request), state_->fsm.settings()};
}

BELAY_DECL bool session::close(session_end::cause reason)
{
    return state_->close(reason);
}

}  // namespace belay::hooks

#endif
