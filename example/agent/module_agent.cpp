#include "module_agent.hpp"

#include <belay/core/coroutine.hpp>

#include "conversation.hpp"
#include <utility>
#include <vector>

namespace agent {

namespace modules = belay::modules;

namespace {

// "provider/id", as scripts name models.
modules::model_info model_of(const std::string& name)
{
    const auto slash = name.find('/');
    if (slash == name.npos) return {.provider = {}, .id = name, .name = name};
    return {.provider = name.substr(0, slash), .id = name.substr(slash + 1), .name = name};
}

// There is one.
class only_model final : public modules::model_registry {
public:
    explicit only_model(std::string name) : name_(std::move(name)) {}

    std::vector<modules::model_info> models() const override { return {model_of(name_)}; }

private:
    std::string name_;
};

}  // namespace

std::string module_agent::cwd() const
{
    return talk_.workspace();
}

std::shared_ptr<const modules::session_manager> module_agent::session() const
{
    return talk_.log();
}

std::shared_ptr<const modules::model_registry> module_agent::models() const
{
    return std::make_shared<only_model>(talk_.model());
}

std::optional<modules::model_info> module_agent::model() const
{
    return model_of(talk_.model());
}

bool module_agent::is_idle() const
{
    return !talk_.at_work();
}

bool module_agent::has_queued_messages() const
{
    return talk_.has_queued_messages();
}

void module_agent::abort()
{
    talk_.abort_run();
}

void module_agent::send_message(modules::custom_message message,
                                const modules::delivery_options& options)
{
    talk_.deliver(std::move(message), options);
}

void module_agent::append_entry(std::string custom_type, boost::json::value data)
{
    talk_.log()->append_entry(std::move(custom_type), std::move(data));
}

void module_agent::wait_for_idle(belay::host_reply<bool> reply)
{
    belay::answer_with(talk_.idle(), std::move(reply));
}

void module_agent::new_session(const modules::new_session_options& options,
                               belay::host_reply<modules::session_change> reply)
{
    belay::answer_with(talk_.new_session(options), std::move(reply));
}

void module_agent::branch(const std::string& entry_id,
                          belay::host_reply<modules::session_change> reply)
{
    belay::answer_with(talk_.branch(entry_id), std::move(reply));
}

void module_agent::navigate_tree(const std::string& target_id,
                                 const modules::navigate_options& options,
                                 belay::host_reply<modules::session_change> reply)
{
    belay::answer_with(talk_.navigate_tree(target_id, options), std::move(reply));
}

}  // namespace agent
