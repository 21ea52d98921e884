#ifndef BELAY_EXAMPLE_AGENT_SCRIPTED_MODEL_HPP
#define BELAY_EXAMPLE_AGENT_SCRIPTED_MODEL_HPP

#include <belay/hooks/ask.hpp>
#include <belay/hooks/session_types.hpp>

#include <boost/json/value.hpp>

#include "script.hpp"
#include <vector>

namespace agent {

/// Stands where a model would be called, and says what the script says.
class scripted_model {
public:
    explicit scripted_model(const std::vector<reply>& replies) : replies_(replies) {}

    /// The next reply. A turn that goes on after its last one gets a reply with stop_reason::error.
    belay::hooks::model_reply ask(const boost::json::value& request,
                                  const belay::hooks::turn_settings& settings);

    /// What else happens while the tools of the last reply run.
    const reply& last() const noexcept { return replies_[said_ - 1]; }

    /// How many replies have not been given.
    std::size_t left() const noexcept { return replies_.size() - said_; }

private:
    const std::vector<reply>& replies_;
    std::size_t said_ = 0;
};

/// The model's answer to a question that is asked beside the conversation. Throws if the script has
/// none: then the model is out of reach.
belay::hooks::model_answer answer_aside(const script& what,
                                        const belay::hooks::side_question& asked);

}  // namespace agent

#endif
