#include "conversation.hpp"

#include <belay/hooks/coroutine.hpp>
#include <belay/modules/loader.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/value.hpp>
#include <boost/system/system_error.hpp>

#include "module_agent.hpp"
#include <chrono>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <utility>

namespace agent {

namespace asio = boost::asio;
namespace hooks = belay::hooks;
namespace json = boost::json;
namespace modules = belay::modules;
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

// The worst that a tool may do.
modules::tool_approval approval_of(const std::string& tool)
{
    using modules::tool_tier;
    if (tool == "read") return {.tier = tool_tier::read};
    if (tool == "write") return {.tier = tool_tier::write};
    return {.tier = tool_tier::exec};
}

modules::runner_options options_of(conversation& talk, const module_settings& with,
                                   transcript& show)
{
    modules::runner_options made;
    made.agent = std::make_shared<module_agent>(talk);
    made.ui = with.ui;
    made.operator_channel = [&show](const modules::operator_notice& notice) {
        const bool named = notice.message.find(notice.module) != notice.message.npos;
        show.warning(named ? notice.message : notice.module + ": " + notice.message);
    };
    made.trace = with.trace;
    return made;
}

}  // namespace

conversation::conversation(hooks::session session, hooks::turn_settings settings,
                           const script& what, const tools& runs, module_settings with,
                           transcript& show, open_session open)
    : session_(std::move(session)),
      settings_(std::move(settings)),
      script_(what),
      tools_(runs),
      module_settings_(std::move(with)),
      show_(show),
      open_(std::move(open)),
      subagents_(session_, script_, tools_, module_settings_, show_),
      log_(std::make_shared<session_log>(session_.id(), module_settings_.sessions)),
      modules_(session_.get_executor(), options_of(*this, module_settings_, show_)),
      wrapper_(modules_, module_settings_.approval),
      idle_(session_.get_executor(), asio::steady_timer::time_point::max())
{
    modules_.on_error([this](const modules::handler_error& why) {
        show_.warning("extension " + why.module + " failed at " + why.event + ": " + why.message);
    });
    // The operator hears of what is wrong.
    modules_loaded_ = modules::load(modules_, module_settings_.paths).modules.size();
}

asio::awaitable<void> conversation::start(hooks::session_start::cause reason)
{
    const auto said = co_await session_.async_start(reason, use_awaitable);
    show_.session_started(reason, said);
    add("user", said.message());
    modules::session_start started;
    co_await emit(started);
}

// Asks the modules. An abort of theirs ends what is under way.
template <class E>
asio::awaitable<belay::outcome_of<E>> conversation::emit(E event)
{
    auto said = co_await modules_.async_emit(std::move(event), use_awaitable);
    if (aborted_) check(belay::make_error_code(belay::errc::cancelled));
    co_return said;
}

asio::awaitable<hooks::model_reply> conversation::take_turn(const turn& spoken)
{
    scripted_model model(spoken.replies);
    const auto& person = module_settings_.ui;
    if (person) person->expect(spoken.answers);

    hooks::model_reply last;
    if (!is_command(spoken.prompt)) {
        last = co_await answer(spoken.prompt, model);
    } else {
        show_.prompt(*spoken.prompt);
        co_await modules_.async_run_command(*spoken.prompt, use_awaitable);
        if (std::exchange(turn_due_, false)) last = co_await answer(std::nullopt, model);
    }
    while (!follow_up_.empty() && model.left() != 0) {
        take_all(follow_up_);
        last = co_await answer(std::nullopt, model);
    }
    if (person) {
        person->show_status();
        if (const auto left = person->answers_left()) show_.answers_left(left);
    }
    if (model.left() != 0) show_.replies_left(model.left());
    co_return last;
}

// Those of a person: a subagent is given none.
bool conversation::is_command(const std::optional<std::string>& prompt) const
{
    if (!prompt || !prompt->starts_with('/') || !open_) return false;
    return modules_.find_command(prompt->substr(1, prompt->find(' ') - 1)).has_value();
}

// From a prompt, or from what is there already, to the last reply.
asio::awaitable<hooks::model_reply> conversation::answer(const std::optional<std::string>& prompt,
                                                         scripted_model& model)
{
    at_work_ = true;
    hooks::model_reply last;
    bool running = false;
    std::exception_ptr failed;
    try {
        const auto begun = co_await begin_turn(prompt);
        if (begun.blocked) {
            last = in_place_of_reply(begun);
        } else {
            if (prompt) co_await begin_run(*prompt);
            running = true;
            modules::agent_start started;
            co_await emit(started);
            last = co_await work(model);
        }
    } catch (const boost::system::system_error&) {
        failed = std::current_exception();
    }
    at_work_ = false;
    idle_.cancel();
    const bool aborted = std::exchange(aborted_, false);
    if (failed && !aborted) std::rethrow_exception(failed);
    if (aborted) {
        show_.note("a module has aborted the run");
        last = {.text = "", .stop = hooks::stop_reason::error};
    }
    if (running) {
        modules::agent_end ended{.messages = log_->messages()};
        co_await emit(std::move(ended));
    }
    co_return last;
}

// What modules add to a prompt.
asio::awaitable<void> conversation::begin_run(const std::string& prompt)
{
    take_all(next_turn_);
    modules::before_agent_start event{.prompt = prompt};
    const auto added = co_await emit(std::move(event));
    for (const auto& message : added.messages) take(message);
}

// The model replies until it asks for no more tools, and no hook sends it back.
asio::awaitable<hooks::model_reply> conversation::work(scripted_model& model)
{
    for (std::size_t turn = 0;; ++turn) {
        take_all(steering_);
        modules::turn_start begins{.turn_index = turn};
        begins.timestamp =
            std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
        co_await emit(std::move(begins));

        auto sent = log_->messages();
        modules::context event{.messages = sent};
        auto seen = co_await emit(std::move(event));
        if (seen.replaced) sent = std::move(seen.messages);
        const auto request = std::make_shared<const json::value>(std::move(sent));
        session_.record_request(request);  // a question aside repeats it
        const auto reply = model.ask(*request, session_.settings());
        show_.reply(reply);
        add("assistant", reply.text);

        json::array results;
        if (!reply.calls.empty()) results = co_await run_tools(reply);
        modules::turn_end ended{.turn_index = turn};
        ended.message = {{"role", "assistant"}, {"content", reply.text}};
        ended.tool_results = std::move(results);
        co_await emit(std::move(ended));

        if (reply.calls.empty()) {
            if (co_await end_turn(reply)) co_return reply;
            continue;
        }
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

// Hooks stand outside, modules inside: pre_tool_use hooks, the person's permission, then `run_tool`,
// then post_tool_use hooks. Gives what the modules know of the results.
asio::awaitable<json::array> conversation::run_tools(const hooks::model_reply& reply)
{
    hooks::tool_host host;
    host.permit = [this](const hooks::tool_call& call) { return ask_person(call); };
    host.run = [this](const hooks::tool_call& call) { return run_tool(call); };

    const auto records = co_await session_.async_run_tools(reply, std::move(host), use_awaitable);
    show_.calls(reply.calls, records);
    json::array results;
    for (const auto& record : records) {
        add("tool", hooks::text_of(record.result.content));
        results.push_back({{"toolCallId", record.call.id},
                           {"toolName", record.call.name},
                           {"content", record.result.content},
                           {"isError", record.result.is_error}});
    }
    co_return results;
}

// Approval, tool_call handlers, the tool, tool_result handlers.
asio::awaitable<hooks::tool_result> conversation::run_tool(hooks::tool_call call)
{
    modules::tool tool{.name = call.name, .approval = approval_of(call.name)};
    tool.execute = [this](const modules::tool_call& asked) { return execute(asked); };
    try {
        auto output = co_await wrapper_.async_execute(tool, call.id, call.input, use_awaitable);
        co_return hooks::tool_result{std::move(output.content), output.is_error};
    } catch (const modules::tool_denied& why) {
        co_return hooks::text_result(why.what(), true);
    } catch (const modules::tool_blocked& why) {
        co_return hooks::text_result(why.what(), true);
    }
}

asio::awaitable<modules::tool_output> conversation::execute(modules::tool_call asked)
{
    hooks::tool_call call{asked.tool_call_id, asked.tool_name, std::move(asked.input)};
    hooks::tool_result result;
    if (call.name == "agent") {
        result = co_await subagents_.run(std::move(call));
    } else {
        result = co_await tools_.run(std::move(call));
    }
    modules::tool_output output{.content = std::move(result.content)};
    output.is_error = result.is_error;
    co_return output;
}

asio::awaitable<void> conversation::compact(const compaction& what)
{
    show_.compaction(what);
    const bool automatic = what.reason == hooks::pre_compact::cause::automatic;
    if (automatic) {
        modules::auto_compaction_start begins{.reason = "threshold", .action = "context-full"};
        co_await emit(std::move(begins));
    }
    const auto summary = co_await summarize(what);
    if (automatic) {
        modules::auto_compaction_end ended{.action = "context-full"};
        ended.aborted = !summary;
        co_await emit(std::move(ended));
    }
}

// The summary that stands for all that was said. Nothing if there is none.
asio::awaitable<std::optional<std::string>> conversation::summarize(const compaction& what)
{
    const auto summarized = log_->messages();
    const auto tokens = static_cast<std::int64_t>(what.tokens);
    modules::session_before_compact before{.branch_entries = log_->branch()};
    before.preparation = {{"messagesToSummarize", summarized}, {"tokensBefore", tokens}};
    const auto decided = co_await emit(std::move(before));
    if (decided.cancelled) {
        show_.note("compaction cancelled by " + decided.decided_by);
        co_return std::nullopt;
    }

    check(session_.begin_compaction(what.reason, what.tokens, what.capacity));
    if (what.fails) {
        check(session_.fail_compaction());
        co_return std::nullopt;
    }
    const bool given = decided.said && decided.said->compaction;
    std::string summary = "(A summary of what was said so far.)";
    if (given) {
        summary = decided.said->compaction->summary;
    } else {
        modules::session_compacting event{log_->session_id(), summarized};
        const auto asked = co_await emit(std::move(event));
        if (asked.said && asked.said->context) {
            for (const auto& line : *asked.said->context) summary += '\n' + line;
        }
    }
    modules::session_compact compacted{log_->append_compaction(summary), given};
    co_await emit(std::move(compacted));

    const auto said = co_await session_.async_finish_compaction(use_awaitable);
    show_.session_started(hooks::session_start::cause::compacted, said);
    add("user", said.message());
    co_return summary;
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

asio::awaitable<void> conversation::shut_down_modules()
{
    modules::session_shutdown event;
    co_await modules_.async_emit(event, use_awaitable);
}

void conversation::close(hooks::session_end::cause reason)
{
    session_.close(reason);
    subagents_.show_rest();
}

bool conversation::has_queued_messages() const noexcept
{
    return !steering_.empty() || !follow_up_.empty() || !next_turn_.empty();
}

void conversation::abort_run()
{
    if (!at_work_) return;
    aborted_ = true;
    session_.cancel_turn();
}

void conversation::deliver(modules::custom_message message,
                           const modules::delivery_options& options)
{
    using place = modules::delivery::place;
    const auto plan = modules::plan_delivery(options, at_work_);
    turn_due_ = turn_due_ || plan.starts_turn;
    switch (plan.where) {
    case place::context: return take(message);
    case place::steering: return steering_.push_back(std::move(message));
    case place::follow_up: return follow_up_.push_back(std::move(message));
    case place::hidden_next_turn: return next_turn_.push_back(std::move(message));
    }
}

void conversation::take(const modules::custom_message& message)
{
    log_->append_custom_message(message);
    if (message.display) show_.module_message(modules_.render(message));
}

void conversation::take_all(messages& queue)
{
    for (const auto& message : std::exchange(queue, {})) take(message);
}

asio::awaitable<bool> conversation::idle()
{
    while (at_work_) co_await idle_.async_wait(asio::as_tuple(use_awaitable));
    co_return true;
}

asio::awaitable<modules::session_change> conversation::new_session(
    modules::new_session_options options)
{
    modules::session_before_switch before{.reason = modules::switch_reason::new_session};
    const auto decided = co_await emit(std::move(before));
    if (decided.cancelled) {
        show_.note("the new session was cancelled by " + decided.decided_by);
        co_return modules::session_change{};
    }
    auto previous = log_->session_file();
    auto next = next_log(options.parent_session);
    if (options.setup) options.setup(*next);  // if it throws, this session goes on
    co_await follow_with(std::move(next));
    modules::session_switch after{.reason = modules::switch_reason::new_session};
    after.previous_session_file = std::move(previous);
    co_await emit(std::move(after));
    co_return modules::session_change{.cancelled = false};
}

std::shared_ptr<session_log> conversation::next_log(const std::optional<std::string>& parent)
{
    auto id = script_.session_id + '.' + std::to_string(++sessions_);
    return std::make_shared<session_log>(std::move(id), module_settings_.sessions, parent);
}

// The conversation goes on in another session, which its hooks get to know, too.
asio::awaitable<void> conversation::follow_with(std::shared_ptr<session_log> log)
{
    auto next = open_(log->session_id());
    close(hooks::session_end::cause::closed);
    subagents_.forget();
    session_ = std::move(next);
    log_ = std::move(log);
    show_.session_follows(log_->session_id());
    using cause = hooks::session_start::cause;
    const auto said = co_await session_.async_start(cause::start, use_awaitable);
    show_.session_started(cause::start, said);
    add("user", said.message());
}

asio::awaitable<modules::session_change> conversation::branch(std::string entry_id)
{
    const auto* entry = log_->find(entry_id);
    const auto* message = entry ? entry->if_contains("message") : nullptr;
    if (!message || message->at("role") != "user") {
        throw std::runtime_error("Invalid entry ID for branching");
    }
    modules::session_before_branch before{entry_id};
    const auto decided = co_await emit(std::move(before));
    if (decided.cancelled) {
        show_.note("the branch was cancelled by " + decided.decided_by);
        co_return modules::session_change{};
    }
    const bool rewind = !decided.said || !decided.said->skip_conversation_restore;
    const auto from = log_;
    const auto kept =
        rewind ? from->path_to(session_log::parent_of(*from->find(entry_id))) : from->branch();

    modules::session_branch after{from->session_file()};
    co_await emit(std::move(after));
    co_await follow_with(next_log(from->session_file()));
    log_->append_copies(kept);
    co_return modules::session_change{.cancelled = false};
}

asio::awaitable<modules::session_change> conversation::navigate_tree(
    std::string target_id, modules::navigate_options options)
{
    const auto left = log_->leaf_id();
    if (!log_->find(target_id)) throw std::runtime_error("there is no entry " + target_id);
    if (left == target_id) co_return modules::session_change{.cancelled = false};

    modules::session_before_tree before;
    before.preparation = {{"targetId", target_id},
                          {"oldLeafId", left.value_or("")},
                          {"userWantsSummary", options.summarize}};
    const auto decided = co_await emit(std::move(before));
    if (decided.cancelled) {
        show_.note("going there was cancelled by " + decided.decided_by);
        co_return modules::session_change{};
    }
    log_->go_to(target_id);
    modules::session_tree after{.old_leaf_id = left};
    if (options.summarize) {
        const bool given = decided.said && decided.said->summary;
        const auto summary =
            given ? decided.said->summary->summary : "(A summary of what was left.)";
        log_->append_custom_message(
            {.custom_type = "branch-summary", .content = json::string(summary)});
        after.summary_entry = *log_->find(*log_->leaf_id());
        after.from_extension = given;
    }
    after.new_leaf_id = log_->leaf_id();
    co_await emit(std::move(after));
    co_return modules::session_change{.cancelled = false};
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
    if (!text.empty()) log_->append_message({{"role", role}, {"content", text}});
}

}  // namespace agent
