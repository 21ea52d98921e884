#include "scripted_model.hpp"

namespace agent {

namespace hooks = belay::hooks;

hooks::model_reply scripted_model::ask(const std::vector<message>&, const hooks::turn_settings&)
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

}  // namespace agent
