#ifndef BELAY_HOOKS_SESSION_HPP
#define BELAY_HOOKS_SESSION_HPP

// One conversation, as far as hooks have a say in it: the face that an agent uses. (With g++ 12, name
// what is passed to an operation inside a co_await expression: it destroys a braced argument twice.)
//
//     auto started = co_await session.async_start(session_start::cause::start, use_awaitable);
//     for (;;) {
//         auto turn = co_await session.async_begin_turn(prompt, settings, use_awaitable);
//         if (turn.blocked) { show(turn.blocked_text()); continue; }
//         for (;;) {
//             model_reply reply = call_model(session.settings(), ...);
//             if (!reply.calls.empty()) {
//                 auto records = co_await session.async_run_tools(reply, host, use_awaitable);
//             } else {
//                 auto ending = co_await session.async_end_turn(reply, use_awaitable);
//                 if (!ending.continuation) break;
//             }
//         }
//     }
//     session.close(session_end::cause::closed);

#include <belay/config.hpp>
#include <belay/core/error.hpp>
#include <belay/hooks/ask.hpp>
#include <belay/hooks/run_tools.hpp>
#include <belay/hooks/session_events.hpp>
#include <belay/hooks/session_types.hpp>
#include <belay/hooks/tool.hpp>
#include <belay/hooks/turn_events.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/json/value.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace belay::hooks {

namespace detail {

class session_state;

template <class Outcome>
using session_handler = boost::asio::any_completion_handler<void(error_code, Outcome)>;

using batch_outcome = std::vector<call_record>;
using state_ptr = std::shared_ptr<session_state>;

BELAY_DECL void start_session(state_ptr state, session_start::cause reason,
                              session_handler<session_start::outcome> handler);
BELAY_DECL void begin_turn(state_ptr state, std::optional<std::string> prompt,
                           turn_settings settings, session_handler<pre_turn::outcome> handler);
BELAY_DECL void add_prompt(state_ptr state, std::string prompt, arrival how,
                           session_handler<pre_turn::outcome> handler);
BELAY_DECL void run_tools(state_ptr state, model_reply reply, tool_host host,
                          session_handler<batch_outcome> handler);
BELAY_DECL void end_turn(state_ptr state, model_reply reply,
                         session_handler<turn_ending::outcome> handler);
BELAY_DECL void finish_compaction(state_ptr state, session_handler<session_start::outcome> handler);
BELAY_DECL void ask_session(state_ptr state, std::string question,
                            session_handler<side_answer> handler);

// Hands an operation to one of the functions above.
template <auto Start>
struct session_initiation {
    using executor_type = boost::asio::any_io_executor;

    executor_type executor;
    state_ptr state;

    executor_type get_executor() const noexcept { return executor; }

    template <class Handler, class... Args>
    void operator()(Handler&& handler, Args&&... args) const
    {
        Start(state, std::forward<Args>(args)..., std::forward<Handler>(handler));
    }
};

}  // namespace detail

/// Made by `registry::create_session`. It has the hooks of the configuration that was current then,
/// and those that extensions have registered, as they come and go.
///
/// It carries the rules that span phases, and refuses calls that break their order: an operation
/// completes with `errc::not_begun`, `errc::in_progress` or `errc::closed`, and no hook has run. So
/// does a turn before the session_start hooks have ended, and anything during a compaction.
/// An attached client is no event: nothing is to be called for it, and nothing runs.
///
/// @par Operations
/// Those whose names begin with `async_` complete with `void(error_code, outcome)`, always through
/// a post. They may be started from any thread, one at a time, and `async_ask` beside them.
/// Cancelling one, by any cancellation type, completes it at once with `errc::cancelled` and a
/// default outcome, whatever a hook is doing; what that returns later is dropped. If it belonged to
/// a turn, the turn has ended, as aborted. Emit a cancellation where the completion handler runs.
///
/// What hooks do wrong is no error: it is in the outcome and in the host's log. Beside
/// `errc::cancelled` and the three above there is `errc::threw`: what the hooks said could not be
/// combined, because memory or a timer was not to be had. Then nothing passes: the outcome is the
/// default one, what belonged to the operation has been given up, and a turn that it belonged to
/// has ended, as `error`.
///
/// All other members are called on the registry's executor.
///
/// @par Object lifetimes
/// A session that is destroyed unclosed has crashed: nothing fires. What is in flight keeps what it
/// needs, and goes on.
class session {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Without a conversation, as one that was moved from: it can only be assigned to or destroyed.
    session() noexcept = default;

    BELAY_DECL explicit session(detail::state_ptr state) noexcept;

    session(session&&) noexcept = default;
    session& operator=(session&&) noexcept = default;
    ~session() = default;

    BELAY_DECL executor_type get_executor() const noexcept;

    /// As its events name it.
    BELAY_DECL const std::string& id() const noexcept;

    /// Another agent has started it.
    BELAY_DECL bool spawned() const noexcept;

    /// It runs no hook of any phase.
    BELAY_DECL bool bare() const noexcept;

    // --- The conversation begins ---------------------------------------------------------------

    /// Runs the session_start hooks, once; `message()` of the outcome, unless empty, goes into the
    /// conversation. The first turn has to wait for it. A cancelled start may be repeated.
    /// `start` is for a new conversation or a branch of one, `resume` for one that is opened again;
    /// after a compaction there is `async_finish_compaction`.
    template <boost::asio::completion_token_for<void(error_code, session_start::outcome)> Token =
                  boost::asio::deferred_t>
    [[nodiscard]] auto async_start(session_start::cause reason, Token&& token = Token())
    {
        return initiate<&detail::start_session, session_start::outcome, Token>(token, reason);
    }

    // --- A turn --------------------------------------------------------------------------------

    /// Begins a turn with its first prompt and runs the pre_turn hooks for it. If the outcome is
    /// `blocked`, the turn has ended without a call of the model, and `blocked_text()` stands in
    /// place of the reply; the prompt stays. Otherwise add a message for each of `contexts` after
    /// the prompt, and call the model with `settings()`.
    ///
    /// No prompt: the turn begins for another reason (a delivery), and runs no pre_turn hooks.
    template <boost::asio::completion_token_for<void(error_code, pre_turn::outcome)> Token =
                  boost::asio::deferred_t>
    [[nodiscard]] auto async_begin_turn(std::optional<std::string> prompt, turn_settings settings,
                                        Token&& token = Token())
    {
        return initiate<&detail::begin_turn, pre_turn::outcome, Token>(token, std::move(prompt),
                                                                       std::move(settings));
    }

    /// Adds another prompt to the turn, and runs the pre_turn hooks for it: a queued one before the
    /// model is called, one that arrived during the turn after a batch of tool calls. Its hooks can
    /// narrow the tools and add context, but not change the model or the reasoning effort; if they
    /// block it, the whole turn has ended.
    template <boost::asio::completion_token_for<void(error_code, pre_turn::outcome)> Token =
                  boost::asio::deferred_t>
    [[nodiscard]] auto async_add_prompt(std::string prompt, arrival how, Token&& token = Token())
    {
        return initiate<&detail::add_prompt, pre_turn::outcome, Token>(token, std::move(prompt),
                                                                       how);
    }

    /// Takes all calls of a reply through the hooks, the host's permission check and its tools. One
    /// record for each call, in the order of the calls. The pre_tool_use hooks of all calls end
    /// before the first permission check; from there on each call goes its own way: permission,
    /// tool, post_tool_use.
    ///
    /// A call to a tool that the turn does not offer, also because a hook has narrowed the tools,
    /// is refused before pre_tool_use. `reply.stop` is not looked at.
    template <boost::asio::completion_token_for<void(error_code, std::vector<call_record>)> Token =
                  boost::asio::deferred_t>
    [[nodiscard]] auto async_run_tools(model_reply reply, tool_host host, Token&& token = Token())
    {
        return initiate<&detail::run_tools, std::vector<call_record>, Token>(
            token, std::move(reply), std::move(host));
    }

    /// The reply ends the turn, unless a turn_ending hook sends the model back: then the outcome
    /// has a `continuation`; keep the reply, add the continuation's context as a message and call
    /// the model again. A turn gets one continuation.
    ///
    /// The hooks run if the model stopped by itself (`stop_reason::end`) and asked for no tool;
    /// after anything else the turn ends without them. When it has ended, turn_finished has been
    /// notified.
    template <boost::asio::completion_token_for<void(error_code, turn_ending::outcome)> Token =
                  boost::asio::deferred_t>
    [[nodiscard]] auto async_end_turn(model_reply reply, Token&& token = Token())
    {
        return initiate<&detail::end_turn, turn_ending::outcome, Token>(token, std::move(reply));
    }

    /// Stops the turn at once, as aborted, and cancels the operation that is running, if one is. No
    /// hook is waited for. False if there is no turn. A compaction that has begun is still to be
    /// finished.
    BELAY_DECL bool cancel_turn();

    /// Whether a turn has begun and not ended.
    BELAY_DECL bool turn_running() const noexcept;

    /// What the model is to be called with in the running turn, as hooks have changed it; after the
    /// turn, what it was called with last.
    BELAY_DECL const turn_settings& settings() const noexcept;

    /// How many prompts people have sent so far, without those that joined a running turn.
    BELAY_DECL std::uint64_t turns() const noexcept;

    // --- Compaction ----------------------------------------------------------------------------

    /// A compaction really starts, on demand or by itself, between turns or during one (but not
    /// while an operation is running): notifies pre_compact, which nothing waits for. A compaction
    /// that finds nothing to do does not start: call nothing. `tokens` is the estimated size of the
    /// context, `capacity` that of the context window if it is known.
    ///
    /// Until one of the next two, every operation is refused with `errc::in_progress`.
    [[nodiscard]] BELAY_DECL error_code begin_compaction(pre_compact::cause reason,
                                                         std::uint64_t tokens,
                                                         std::optional<std::uint64_t> capacity);

    /// The compaction has succeeded: runs the session_start hooks again, with `compacted`. The
    /// model must not be called before this has completed. If it was cancelled, or failed, the
    /// compaction goes on: repeat this, or give the hooks up with `fail_compaction`.
    template <boost::asio::completion_token_for<void(error_code, session_start::outcome)> Token =
                  boost::asio::deferred_t>
    [[nodiscard]] auto async_finish_compaction(Token&& token = Token())
    {
        return initiate<&detail::finish_compaction, session_start::outcome, Token>(token);
    }

    /// The compaction has failed after it had started: no session_start hook runs. (pre_compact was
    /// notified at its start. One that fails to start runs neither.)
    [[nodiscard]] BELAY_DECL error_code fail_compaction();

    // --- Subagents -----------------------------------------------------------------------------

    /// A conversation that this one starts, in the background or not: it has the same hooks, also
    /// if the configuration has changed since, and `spawned` is true in its events. It is not
    /// started yet.
    BELAY_DECL result<session> create_subagent(subagent_options options);

    /// Of a subagent: it hands a result back to its starter; notifies subagent_finished with the
    /// starter's id. It may do so again after further work: at least one turn that has ended. An
    /// error, and nothing fires, if it is no subagent or has done nothing since its last result
    /// (`errc::not_begun`), is at work on a turn (`errc::in_progress`), was stopped during its last
    /// turn (`errc::cancelled`), or is closed (`errc::closed`). So each result takes a turn.
    [[nodiscard]] BELAY_DECL error_code hand_back(subagent_finished::result result,
                                                  std::string text);

    // --- Side questions ------------------------------------------------------------------------

    /// The model is called: `request` is what goes to it, in the host's own form, with `settings()`
    /// as they are now. The last one is what a side question repeats. Null: there is none any more.
    BELAY_DECL void record_request(std::shared_ptr<const boost::json::value> request);

    /// Asks the session's model one question about the conversation, which gains nothing by it:
    /// the last request goes to the same model again, with the question as one more message of the
    /// user. It waits for nothing, also not for a running turn, and several may be open at once.
    /// What the model's answer has cost is told to `registry_options::usage`, whatever became of
    /// the question.
    ///
    /// @par Errors
    /// `side_answer::error` says it in a sentence.
    ///   - `errc::closed`: the session is closed, or was before the answer came
    ///   - `errc::not_begun`: no request has been recorded
    ///   - `errc::unreachable`: the host has no `registry_options::ask_model`, or that has failed
    ///   - `errc::invalid_answer`: the model asked for a tool, or another one has answered
    ///   - `errc::cancelled`: the host's function is told; the event loop is kept at work for as
    ///     long as it still may answer
    template <boost::asio::completion_token_for<void(error_code, side_answer)> Token =
                  boost::asio::deferred_t>
    [[nodiscard]] auto async_ask(std::string question, Token&& token = Token())
    {
        return initiate<&detail::ask_session, side_answer, Token>(token, std::move(question));
    }

    // --- The conversation ends -----------------------------------------------------------------

    /// Ends the running turn, as aborted, then notifies session_end for this session and after it
    /// for its open subagents, with the same reason. Nothing waits, and side questions that are open
    /// complete with `errc::closed`. False if it was closed before.
    BELAY_DECL bool close(session_end::cause reason);

private:
    template <auto Start, class Outcome, class Token, class... Args>
    auto initiate(std::remove_reference_t<Token>& token, Args... args)
    {
        return boost::asio::async_initiate<Token, void(error_code, Outcome)>(
            detail::session_initiation<Start>{get_executor(), state_}, token, std::move(args)...);
    }

    detail::state_ptr state_;
};

}  // namespace belay::hooks

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/session.ipp>
#endif

#endif
