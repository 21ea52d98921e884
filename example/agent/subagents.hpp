#ifndef BELAY_EXAMPLE_AGENT_SUBAGENTS_HPP
#define BELAY_EXAMPLE_AGENT_SUBAGENTS_HPP

// The agents that an agent starts with the tool `agent`: each is a conversation of its own, with the
// hooks of the one that started it.

#include <belay/hooks/session.hpp>
#include <belay/hooks/tool.hpp>

#include <boost/asio/awaitable.hpp>

#include "module_settings.hpp"
#include "script.hpp"
#include "tools.hpp"
#include "transcript.hpp"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace agent {

class subagent;

/// Those of one conversation, by their names. They end with it.
class subagents {
public:
    /// What is given by reference must outlive this.
    subagents(belay::hooks::session& starter, const script& what, const tools& runs,
              const module_settings& modules, transcript& show)
        : starter_(starter), script_(what), tools_(runs), modules_(modules), show_(show)
    {}

    /// Runs a call of the tool `agent`: starts a subagent, or gives further work to the one that has
    /// the name already. The result is its last reply or, in the background, that it is at work.
    boost::asio::awaitable<belay::hooks::tool_result> run(belay::hooks::tool_call call);

    /// Completes when a background subagent is not at work, with what it has handed back and nobody
    /// has waited for yet.
    boost::asio::awaitable<std::vector<std::string>> wait_for(const std::string& name);

    /// What it was at work on is dropped. It may get further work.
    void stop(const std::string& name);

    /// Shows what has not been shown of them.
    void show_rest();

    /// The session that started them is closed, and another one begins without any.
    void forget();

private:
    std::shared_ptr<subagent> create(const std::string& name, bool background);
    std::shared_ptr<subagent> find(const std::string& name) const;
    void show(const std::string& name, subagent& one);

    belay::hooks::session& starter_;
    const script& script_;
    const tools& tools_;
    const module_settings& modules_;
    transcript& show_;
    std::map<std::string, std::shared_ptr<subagent>> by_name_;
    std::vector<std::shared_ptr<subagent>> forgotten_;  // what they began may still be under way
};

}  // namespace agent

#endif
