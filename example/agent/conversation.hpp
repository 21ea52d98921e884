#ifndef BELAY_EXAMPLE_AGENT_CONVERSATION_HPP
#define BELAY_EXAMPLE_AGENT_CONVERSATION_HPP

// The agent: prompts go to the model, the model's calls to the tools, and everything through the
// hooks. This is the part to read before you embed belay in an agent of your own.

#include <belay/hooks/session.hpp>

#include <boost/asio/awaitable.hpp>

#include "script.hpp"
#include "scripted_model.hpp"
#include "tools.hpp"
#include "transcript.hpp"
#include <functional>
#include <string>
#include <vector>

namespace agent {

class conversation {
public:
    /// `before_turn` is called before each turn. What is given by reference must outlive `play`.
    conversation(belay::hooks::session session, const script& what, const tools& runs,
                 transcript& show, std::function<void()> before_turn);

    /// Plays the script from session_start to session_end. False if it was cancelled on the way.
    boost::asio::awaitable<bool> play();

private:
    boost::asio::awaitable<void> start();
    boost::asio::awaitable<void> take_turn(const turn& spoken);
    boost::asio::awaitable<void> answer(const std::string& prompt, scripted_model& model);
    boost::asio::awaitable<bool> begin_turn(const std::string& prompt);
    boost::asio::awaitable<bool> join_turn(const std::string& prompt);
    boost::asio::awaitable<bool> end_turn(const belay::hooks::model_reply& reply);
    boost::asio::awaitable<void> run_tools(const belay::hooks::model_reply& reply);
    boost::asio::awaitable<void> compact(const compaction& what);

    bool prompt_taken(const belay::hooks::pre_turn::outcome& said);
    belay::hooks::permission ask_person(const belay::hooks::tool_call& call) const;
    void add(message::role from, const std::string& text);

    belay::hooks::session session_;
    const script& script_;
    const tools& tools_;
    transcript& show_;
    std::function<void()> before_turn_;
    std::vector<message> messages_;  // what the model is sent
};

}  // namespace agent

#endif
