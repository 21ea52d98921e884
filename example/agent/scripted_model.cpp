#include "scripted_model.hpp"

#include <stdexcept>

namespace agent {

namespace hooks = belay::hooks;

hooks::model_reply scripted_model::ask(const boost::json::value&, const hooks::turn_settings&)
{
    hooks::model_reply given;
    if (left() == 0) {
        given.stop = hooks::stop_reason::error;
        given.text = "(The script has no further reply.)";
        return given;
    }
    const auto& written = replies_[said_++];
    given.text = written.text;
    given.calls = written.calls;
    given.stop = given.calls.empty() ? written.stop : hooks::stop_reason::tool_use;
    return given;
}

hooks::model_answer answer_aside(const script& what, const hooks::side_question& asked)
{
    const auto written = what.answers.find(asked.question);
    if (written == what.answers.end()) throw std::runtime_error("the script has no answer");
    return {.text = written->second, .model = asked.settings.model};
}

}  // namespace agent
