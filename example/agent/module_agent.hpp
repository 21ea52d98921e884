#ifndef BELAY_EXAMPLE_AGENT_MODULE_AGENT_HPP
#define BELAY_EXAMPLE_AGENT_MODULE_AGENT_HPP

#include <belay/modules/agent.hpp>

#include <memory>
#include <optional>
#include <string>

namespace agent {

class conversation;

/// A conversation, as its modules see it.
class module_agent final : public belay::modules::agent {
public:
    /// `talk` must outlive the modules.
    explicit module_agent(conversation& talk) : talk_(talk) {}

    std::string cwd() const override;
    std::shared_ptr<const belay::modules::session_manager> session() const override;
    std::shared_ptr<const belay::modules::model_registry> models() const override;
    std::optional<belay::modules::model_info> model() const override;

    bool is_idle() const override;
    bool has_queued_messages() const override;
    void abort() override;

    void send_message(belay::modules::custom_message message,
                      const belay::modules::delivery_options& options) override;
    void append_entry(std::string custom_type, boost::json::value data) override;

    void wait_for_idle(belay::host_reply<bool> reply) override;
    void new_session(const belay::modules::new_session_options& options,
                     belay::host_reply<belay::modules::session_change> reply) override;
    void branch(const std::string& entry_id,
                belay::host_reply<belay::modules::session_change> reply) override;
    void navigate_tree(const std::string& target_id,
                       const belay::modules::navigate_options& options,
                       belay::host_reply<belay::modules::session_change> reply) override;

private:
    conversation& talk_;
};

}  // namespace agent

#endif
