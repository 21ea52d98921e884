#include "conversation.hpp"

#include <belay/hooks/coroutine.hpp>

#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <utility>
#include <variant>

namespace agent {

namespace asio = boost::asio;
namespace hooks = belay::hooks;
using asio::use_awaitable;

namespace {

void check(belay::error_code error)
{
    if (error) throw boost::system::system_error(error);
}

}  // namespace

conversation::conversation(hooks::session session, const script& what, const tools& runs,
                           transcript& show, std::function<void()> before_turn)
    : session_(std::move(session)),
      script_(what),
      tools_(runs),
      show_(show),
      before_turn_(std::move(before_turn))
{}

asio::awaitable<bool> conversation::play()
{
    bool played = false;
    try {
        co_await start();
        for (const auto& entry : script_.conversation) {
            if (const auto* spoken = std::get_if<turn>(&entry)) {
                co_await take_turn(*spoken);
            } else {
                co_await compact(std::get<compaction>(entry));
            }
        }
        played = true;
    } catch (const boost::system::system_error& stopped) {
        if (stopped.code() != belay::errc::cancelled) throw;
    }
    session_.close(script_.end);  // the session_end hooks: nothing waits for them
    co_return played;
}

asio::awaitable<void> conversation::start()
{
    const auto said = co_await session_.async_start(script_.reason, use_awaitable);
    show_.session_started(script_.reason, said);
    add(message::role::user, said.message());
}

asio::awaitable<void> conversation::take_turn(const turn& spoken)
{
    before_turn_();
    scripted_model model(spoken);
    co_await answer(spoken.prompt, model);
    if (model.left() != 0) show_.replies_left(model.left());
}

// The model replies until it asks for no more tools, and no hook sends it back.
asio::awaitable<void> conversation::answer(const std::string& prompt, scripted_model& model)
{
    if (!co_await begin_turn(prompt)) co_return;
    for (;;) {
        const auto reply = model.ask(messages_, session_.settings());
        show_.reply(reply);
        add(message::role::assistant, reply.text);

        if (reply.calls.empty()) {
            if (co_await end_turn(reply)) co_return;
            continue;
        }
        co_await run_tools(reply);
        for (const auto& joining : model.last().joining) {
            if (!co_await join_turn(joining)) co_return;
        }
        if (const auto& due = model.last().compact) co_await compact(*due);
    }
}

asio::awaitable<bool> conversation::begin_turn(const std::string& prompt)
{
    show_.prompt(prompt);
    add(message::role::user, prompt);
    hooks::turn_settings settings{script_.model, script_.reasoning_effort, script_.tools};
    const auto said =
        co_await session_.async_begin_turn(prompt, std::move(settings), use_awaitable);
    co_return prompt_taken(said);
}

asio::awaitable<bool> conversation::join_turn(const std::string& prompt)
{
    show_.prompt(prompt);
    add(message::role::user, prompt);
    const auto said =
        co_await session_.async_add_prompt(prompt, hooks::arrival::during_turn, use_awaitable);
    co_return prompt_taken(said);
}

// False: a hook has blocked the prompt, and the turn has ended.
bool conversation::prompt_taken(const hooks::pre_turn::outcome& said)
{
    show_.prompt_taken(said);
    for (const auto& added : said.contexts) add(message::role::user, added.context);
    if (said.blocked) add(message::role::assistant, said.blocked_text());
    return !said.blocked;
}

// False: a hook sends the model back.
asio::awaitable<bool> conversation::end_turn(const hooks::model_reply& reply)
{
    const auto said = co_await session_.async_end_turn(reply, use_awaitable);
    show_.turn_ending(said);
    if (said.continuation) add(message::role::user, said.continuation->context);
    co_return !said.continuation;
}

asio::awaitable<void> conversation::run_tools(const hooks::model_reply& reply)
{
    hooks::tool_host host;
    host.permit = [this](const hooks::tool_call& call) { return ask_person(call); };
    host.run = [this](const hooks::tool_call& call) { return tools_.run(call); };

    const auto records = co_await session_.async_run_tools(reply, std::move(host), use_awaitable);
    show_.calls(reply.calls, records);
    for (const auto& record : records) {
        add(message::role::tool, hooks::text_of(record.result.content));
    }
}

asio::awaitable<void> conversation::compact(const compaction& what)
{
    show_.compaction(what);
    check(session_.begin_compaction(what.reason, what.tokens, what.capacity));
    if (what.fails) co_return check(session_.fail_compaction());
    messages_.assign(1, {message::role::user, "(A summary of what was said so far.)"});
    const auto said = co_await session_.async_finish_compaction(use_awaitable);
    show_.session_started(hooks::session_start::cause::compacted, said);
    add(message::role::user, said.message());
}

// The person's answer is in the script.
hooks::permission conversation::ask_person(const hooks::tool_call& call) const
{
    const auto denied = script_.denied.find(call.id);
    return denied == script_.denied.end() ? hooks::permission::grant()
                                          : hooks::permission::deny(denied->second);
}

void conversation::add(message::role from, const std::string& text)
{
    if (!text.empty()) messages_.push_back({from, text});
}

}  // namespace agent
