#ifndef BELAY_EXAMPLE_AGENT_CONVERSATION_HPP
#define BELAY_EXAMPLE_AGENT_CONVERSATION_HPP

// The agent: prompts go to the model, the model's calls to the tools, and everything through the
// hooks and the modules. This is the part to read before you embed belay in an agent of your own.

#include <belay/hooks/session.hpp>
#include <belay/modules/runner.hpp>
#include <belay/modules/tool_wrapper.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "module_settings.hpp"
#include "script.hpp"
#include "scripted_model.hpp"
#include "session_log.hpp"
#include "subagents.hpp"
#include "tools.hpp"
#include "transcript.hpp"
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agent {

/// Whatever a person or a starter does with an agent. An operation that was cancelled, or that comes
/// after `close`, throws boost::system::system_error.
class conversation {
public:
    /// Makes the session of the hooks of a conversation that follows another.
    using open_session = std::function<belay::hooks::session(std::string id)>;

    /// `settings` are what each turn begins with. Of a subagent `open` is empty. What is given by
    /// reference must outlive this.
    conversation(belay::hooks::session session, belay::hooks::turn_settings settings,
                 const script& what, const tools& runs, module_settings modules, transcript& show,
                 open_session open = {});
    conversation(const conversation&) = delete;
    conversation& operator=(const conversation&) = delete;

    /// How many there are; those that could not be loaded are none.
    std::size_t modules_loaded() const noexcept { return modules_loaded_; }

    boost::asio::awaitable<void> start(belay::hooks::session_start::cause reason);

    /// The last reply, or what stands in its place if a hook has blocked a prompt, or a module has
    /// aborted the run. A slash command of a module has none.
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

    /// Tells the modules that it is over, and waits for them, for as long as they may take.
    boost::asio::awaitable<void> shut_down_modules();

    /// With its subagents. Nothing waits for the session_end hooks.
    void close(belay::hooks::session_end::cause reason);

    // What modules may look at, and ask for.

    std::shared_ptr<session_log> log() const { return log_; }
    std::string workspace() const { return tools_.workspace().string(); }
    std::string model() const { return at_work_ ? session_.settings().model : settings_.model; }
    bool at_work() const noexcept { return at_work_; }
    bool has_queued_messages() const noexcept;
    void abort_run();
    void deliver(belay::modules::custom_message message,
                 const belay::modules::delivery_options& options);

    boost::asio::awaitable<bool> idle();
    boost::asio::awaitable<belay::modules::session_change> new_session(
        belay::modules::new_session_options options);
    boost::asio::awaitable<belay::modules::session_change> branch(std::string entry_id);
    boost::asio::awaitable<belay::modules::session_change> navigate_tree(
        std::string target_id, belay::modules::navigate_options options);

private:
    using messages = std::vector<belay::modules::custom_message>;

    boost::asio::awaitable<belay::hooks::model_reply> answer(
        const std::optional<std::string>& prompt, scripted_model& model);
    boost::asio::awaitable<belay::hooks::model_reply> work(scripted_model& model);
    boost::asio::awaitable<belay::hooks::pre_turn::outcome> begin_turn(
        const std::optional<std::string>& prompt);
    boost::asio::awaitable<belay::hooks::pre_turn::outcome> join_turn(const std::string& prompt);
    boost::asio::awaitable<bool> end_turn(const belay::hooks::model_reply& reply);
    boost::asio::awaitable<boost::json::array> run_tools(const belay::hooks::model_reply& reply);
    boost::asio::awaitable<belay::hooks::tool_result> run_tool(belay::hooks::tool_call call);
    boost::asio::awaitable<belay::modules::tool_output> execute(belay::modules::tool_call asked);
    boost::asio::awaitable<std::optional<std::string>> summarize(const compaction& what);

    template <class E>
    boost::asio::awaitable<belay::outcome_of<E>> emit(E event);

    boost::asio::awaitable<void> begin_run(const std::string& prompt);
    std::shared_ptr<session_log> next_log(const std::optional<std::string>& parent);
    boost::asio::awaitable<void> follow_with(std::shared_ptr<session_log> log);

    bool is_command(const std::optional<std::string>& prompt) const;
    void hear(const std::string& prompt);
    void take(const belay::hooks::pre_turn::outcome& said);
    void take(const belay::modules::custom_message& message);
    void take_all(messages& queue);
    belay::hooks::permission ask_person(const belay::hooks::tool_call& call) const;
    void add(std::string_view role, const std::string& text);

    belay::hooks::session session_;
    belay::hooks::turn_settings settings_;
    const script& script_;
    const tools& tools_;
    const module_settings module_settings_;
    transcript& show_;
    open_session open_;
    subagents subagents_;
    int sessions_ = 1;

    std::shared_ptr<session_log> log_;
    belay::modules::runner modules_;
    std::size_t modules_loaded_ = 0;
    belay::modules::tool_wrapper wrapper_;
    messages steering_;      // for the next call of the model
    messages follow_up_;     // for when the run is over
    messages next_turn_;     // for the next prompt
    bool turn_due_ = false;  // a message asks for one
    bool at_work_ = false;
    bool aborted_ = false;
    boost::asio::steady_timer idle_;
};

}  // namespace agent

#endif
