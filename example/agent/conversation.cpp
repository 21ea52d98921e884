#include "conversation.hpp"

#include <belay/hooks/coroutine.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/value.hpp>
#include <boost/system/system_error.hpp>

#include <memory>
#include <utility>

namespace agent {

namespace asio = boost::asio;
namespace hooks = belay::hooks;
using asio::use_awaitable;

namespace {

void check(belay::error_code error)
{
    if (error) throw boost::system::system_error(error);
}

hooks::model_reply in_place_of_reply(const hooks::pre_turn::outcome& blocked)
{
    return {.text = blocked.blocked_text(), .stop = hooks::stop_reason::error};
}

}  // namespace

conversation::conversation(hooks::session session, hooks::turn_settings settings,
                           const script& what, const tools& runs, transcript& show)
    : session_(std::move(session)),
      settings_(std::move(settings)),
      script_(what),
      tools_(runs),
      show_(show),
      subagents_(session_, script_, tools_, show_)
{}

asio::awaitable<void> conversation::start(hooks::session_start::cause reason)
{
    const auto said = co_await session_.async_start(reason, use_awaitable);
    show_.session_started(reason, said);
    add("user", said.message());
}

asio::awaitable<hooks::model_reply> conversation::take_turn(const turn& spoken)
{
    scripted_model model(spoken.replies);
    auto last = co_await answer(spoken.prompt, model);
    if (model.left() != 0) show_.replies_left(model.left());
    co_return last;
}

// The model replies until it asks for no more tools, and no hook sends it back.
asio::awaitable<hooks::model_reply> conversation::answer(const std::optional<std::string>& prompt,
                                                         scripted_model& model)
{
    const auto begun = co_await begin_turn(prompt);
    if (begun.blocked) co_return in_place_of_reply(begun);
    for (;;) {
        const auto request = std::make_shared<const boost::json::value>(messages_);
        session_.record_request(request);  // a question aside repeats it
        const auto reply = model.ask(*request, session_.settings());
        show_.reply(reply);
        add("assistant", reply.text);

        if (reply.calls.empty()) {
            if (co_await end_turn(reply)) co_return reply;
            continue;
        }
        co_await run_tools(reply);
        for (const auto& prompt_of_person : model.last().joining) {
            const auto joined = co_await join_turn(prompt_of_person);
            if (joined.blocked) co_return in_place_of_reply(joined);
        }
        if (const auto& due = model.last().compact) co_await compact(*due);
    }
}

asio::awaitable<hooks::pre_turn::outcome> conversation::begin_turn(
    const std::optional<std::string>& prompt)
{
    if (prompt) hear(*prompt);
    auto said = co_await session_.async_begin_turn(prompt, settings_, use_awaitable);
    take(said);
    co_return said;
}

asio::awaitable<hooks::pre_turn::outcome> conversation::join_turn(const std::string& prompt)
{
    hear(prompt);
    auto said =
        co_await session_.async_add_prompt(prompt, hooks::arrival::during_turn, use_awaitable);
    take(said);
    co_return said;
}

void conversation::hear(const std::string& prompt)
{
    show_.prompt(prompt);
    add("user", prompt);
}

void conversation::take(const hooks::pre_turn::outcome& said)
{
    show_.prompt_taken(said);
    for (const auto& added : said.contexts) add("user", added.context);
    if (said.blocked) add("assistant", said.blocked_text());
}

// False: a hook sends the model back.
asio::awaitable<bool> conversation::end_turn(const hooks::model_reply& reply)
{
    const auto said = co_await session_.async_end_turn(reply, use_awaitable);
    show_.turn_ending(said);
    if (said.continuation) add("user", said.continuation->context);
    co_return !said.continuation;
}

asio::awaitable<void> conversation::run_tools(const hooks::model_reply& reply)
{
    hooks::tool_host host;
    host.permit = [this](const hooks::tool_call& call) { return ask_person(call); };
    host.run = [this](const hooks::tool_call& call) {
        return call.name == "agent" ? subagents_.run(call) : tools_.run(call);
    };

    const auto records = co_await session_.async_run_tools(reply, std::move(host), use_awaitable);
    show_.calls(reply.calls, records);
    for (const auto& record : records) {
        add("tool", hooks::text_of(record.result.content));
    }
}

asio::awaitable<void> conversation::compact(const compaction& what)
{
    show_.compaction(what);
    check(session_.begin_compaction(what.reason, what.tokens, what.capacity));
    if (what.fails) co_return check(session_.fail_compaction());
    messages_.clear();
    add("user", "(A summary of what was said so far.)");
    const auto said = co_await session_.async_finish_compaction(use_awaitable);
    show_.session_started(hooks::session_start::cause::compacted, said);
    add("user", said.message());
}

// What a subagent hands back begins a turn if there are replies to it. No person has sent it: no
// pre_turn hook runs.
asio::awaitable<void> conversation::wait_for(const waiting& what)
{
    const auto results = co_await subagents_.wait_for(what.subagent);
    for (const auto& result : results) hear(what.subagent + " hands back: " + result);
    if (what.replies.empty()) co_return;
    if (results.empty()) co_return show_.replies_left(what.replies.size());
    const turn delivered{std::nullopt, what.replies};
    co_await take_turn(delivered);
}

// The conversation gains nothing by it: neither question nor answer is added to the messages.
asio::awaitable<void> conversation::ask(const question& what)
{
    show_.question(what.text);
    const auto [error, answer] =
        co_await session_.async_ask(what.text, asio::as_tuple(use_awaitable));
    if (error == belay::errc::cancelled) check(error);
    error ? show_.warning(answer.error) : show_.answer(answer.text);
}

void conversation::stop(const stopping& what)
{
    subagents_.stop(what.subagent);
}

void conversation::hand_back(const hooks::model_reply& last)
{
    using result = hooks::subagent_finished::result;
    const bool completed = last.stop == hooks::stop_reason::end;
    check(session_.hand_back(completed ? result::completed : result::error, last.text));
}

void conversation::close(hooks::session_end::cause reason)
{
    session_.close(reason);
    subagents_.show_rest();
}

// The person's answer is in the script.
hooks::permission conversation::ask_person(const hooks::tool_call& call) const
{
    const auto denied = script_.denied.find(call.id);
    return denied == script_.denied.end() ? hooks::permission::grant()
                                          : hooks::permission::deny(denied->second);
}

void conversation::add(std::string_view role, const std::string& text)
{
    if (!text.empty()) messages_.push_back({{"role", role}, {"content", text}});
}

}  // namespace agent
