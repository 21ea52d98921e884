#ifndef BELAY_HOOKS_ASK_HPP
#define BELAY_HOOKS_ASK_HPP

// Side questions: one question about a conversation, to its own model, that leaves no trace in it
// (spec: Vera, "Register from an extension"). `session::async_ask` does it; here is what the host
// brings along, and what comes out.
//
//     belay::hooks::registry_options options;
//     options.ask_model = [&](const side_question& asked, host_reply<model_answer> reply) {
//         auto request = with_user_message(*asked.request, asked.question);
//         send(request, [reply = std::move(reply)](response got) mutable {
//             if (!got) return reply.fail(got.problem());
//             reply({.text = got.text(), .calls = got.calls(), .model = got.model(),
//                    .usage = got.usage()});
//         });
//     };
//     options.usage = &billing;                    // a usage_sink
//     ...
//     session.record_request(request);             // with each request to the model
//     session.async_ask("Which island was it?", [](belay::error_code ec, side_answer answer) {
//         show(ec ? answer.error : answer.text);
//     });

#include <belay/hooks/host_function.hpp>
#include <belay/hooks/session_types.hpp>
#include <belay/hooks/tool.hpp>

#include <boost/json/value.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belay::hooks {

/// What the host's model is asked: the last request of a session again, with one more message of
/// the user. Its tools are offered as they were, and never run.
struct side_question {
    std::string session_id{};
    std::shared_ptr<const boost::json::value> request{};  ///< as it was recorded
    turn_settings settings{};                             ///< those of that request
    std::string question{};                               ///< the message to append
};

/// What the model gave back. One that is out of reach gives nothing back: then the host's function
/// fails with a sentence, and does not turn to another model.
struct model_answer {
    std::string text{};
    std::vector<tool_call> calls{};  ///< tools that it asked for: an error
    std::string model{};             ///< who answered; an error unless it is `settings.model`
    boost::json::value usage{};      ///< what that has cost, in the host's own form
};

/// Asks a model.
using model_function = host_function<model_answer, side_question>;
using model_answer_reply = host_reply<model_answer>;

/// What came of a side question.
struct side_answer {
    std::string text{};
    std::string error{};  ///< beside an error code: one sentence for a person
};

/// What a call of the model has cost.
struct usage_record {
    std::string session_id{};
    std::string_view counted_as = "ask";
    std::string model{};         ///< who answered
    boost::json::value usage{};  ///< in the host's own form
};

/// The books of a host. It gets one record for each side question that its model answered, also if
/// the answer was refused or nobody waited for it any more.
class usage_sink {
public:
    virtual ~usage_sink() = default;

    /// Called on the registry's executor; if the question is still waited for, before it completes.
    virtual void on_usage(const usage_record& record) noexcept = 0;
};

}  // namespace belay::hooks

#endif
