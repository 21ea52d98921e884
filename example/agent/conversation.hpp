#ifndef BELAY_EXAMPLE_AGENT_CONVERSATION_HPP
#define BELAY_EXAMPLE_AGENT_CONVERSATION_HPP

// The agent: prompts go to the model, the model's calls to the tools, and everything through the
// hooks. This is the part to read before you embed belay in an agent of your own.

#include <belay/hooks/session.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/json/array.hpp>

#include "script.hpp"
#include "scripted_model.hpp"
#include "subagents.hpp"
#include "tools.hpp"
#include "transcript.hpp"
#include <optional>
#include <string>
#include <string_view>

namespace agent {

/// Whatever a person or a starter does with an agent. An operation that was cancelled, or that comes
/// after `close`, throws boost::system::system_error.
class conversation {
public:
    /// `settings` are what each turn begins with. What is given by reference must outlive this.
    conversation(belay::hooks::session session, belay::hooks::turn_settings settings,
                 const script& what, const tools& runs, transcript& show);
    conversation(const conversation&) = delete;
    conversation& operator=(const conversation&) = delete;

    boost::asio::awaitable<void> start(belay::hooks::session_start::cause reason);

    /// The last reply, or what stands in its place if a hook has blocked a prompt.
    boost::asio::awaitable<belay::hooks::model_reply> take_turn(const turn& spoken);

    boost::asio::awaitable<void> compact(const compaction& what);

    /// Asks the model beside the conversation, which does not hear of it.
    boost::asio::awaitable<void> ask(const question& what);

    boost::asio::awaitable<void> wait_for(const waiting& what);
    void stop(const stopping& what);

    /// Of a subagent: its starter gets the last reply of its work.
    void hand_back(const belay::hooks::model_reply& last);

    /// Stops the turn, if one is running. No hook is waited for.
    void cancel_turn() { session_.cancel_turn(); }

    /// With its subagents. Nothing waits for the session_end hooks.
    void close(belay::hooks::session_end::cause reason);

private:
    boost::asio::awaitable<belay::hooks::model_reply> answer(
        const std::optional<std::string>& prompt, scripted_model& model);
    boost::asio::awaitable<belay::hooks::pre_turn::outcome> begin_turn(
        const std::optional<std::string>& prompt);
    boost::asio::awaitable<belay::hooks::pre_turn::outcome> join_turn(const std::string& prompt);
    boost::asio::awaitable<bool> end_turn(const belay::hooks::model_reply& reply);
    boost::asio::awaitable<void> run_tools(const belay::hooks::model_reply& reply);

    void hear(const std::string& prompt);
    void take(const belay::hooks::pre_turn::outcome& said);
    belay::hooks::permission ask_person(const belay::hooks::tool_call& call) const;
    void add(std::string_view role, const std::string& text);

    belay::hooks::session session_;
    belay::hooks::turn_settings settings_;
    const script& script_;
    const tools& tools_;
    transcript& show_;
    subagents subagents_;
    boost::json::array messages_;  // what the model is sent
};

}  // namespace agent

#endif
