#include "subagents.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include "conversation.hpp"
#include "terminal.hpp"
#include "tool_input.hpp"
#include <deque>
#include <exception>
#include <sstream>
#include <utility>

namespace agent {

namespace asio = boost::asio;
namespace hooks = belay::hooks;
using asio::use_awaitable;

/// Its rows are kept until they are shown as one block, so that they do not mix with its starter's.
class subagent : public std::enable_shared_from_this<subagent> {
public:
    subagent(hooks::session session, hooks::turn_settings settings, bool background,
             const script& what, const tools& runs, const module_settings& modules, bool colours)
        : executor_(session.get_executor()),
          background_(background),
          terminal_(rows_, colours),
          show_(terminal_),
          talk_(std::move(session), std::move(settings), what, runs, modules.for_subagent(), show_)
    {}

    bool background() const noexcept { return background_; }
    bool at_work() const noexcept { return at_work_; }

    asio::awaitable<void> start() { return talk_.start(hooks::session_start::cause::start); }

    void add(turn task) { due_.push_back(std::move(task)); }

    /// Does all that is due, and hands the result back.
    asio::awaitable<hooks::model_reply> work()
    {
        hooks::model_reply last;
        while (!due_.empty()) {
            const auto task = std::move(due_.front());
            due_.pop_front();
            last = co_await talk_.take_turn(task);
        }
        talk_.hand_back(last);
        co_return last;
    }

    void work_in_background()
    {
        if (std::exchange(at_work_, true)) return;
        asio::co_spawn(executor_, until_idle(shared_from_this()), [](std::exception_ptr threw) {
            if (threw) std::rethrow_exception(threw);
        });
    }

    asio::awaitable<void> idle()
    {
        while (at_work_) co_await idle_.async_wait(asio::as_tuple(use_awaitable));
    }

    void stop()
    {
        due_.clear();
        talk_.cancel_turn();
    }

    std::vector<std::string> take_results() { return std::exchange(handed_back_, {}); }
    std::string take_rows() { return std::exchange(rows_, std::ostringstream()).str(); }

private:
    static asio::awaitable<void> until_idle(std::shared_ptr<subagent> self)
    {
        while (!self->due_.empty()) {
            try {
                const auto last = co_await self->work();
                self->handed_back_.push_back(last.text);
            } catch (const boost::system::system_error& stopped) {
                self->show_.warning(stopped.code().message());
            }
        }
        self->at_work_ = false;
        self->idle_.cancel();
    }

    asio::any_io_executor executor_;
    const bool background_;
    std::ostringstream rows_;
    terminal terminal_;
    transcript show_;
    conversation talk_;
    std::deque<turn> due_;
    bool at_work_ = false;  // in the background
    std::vector<std::string> handed_back_;
    asio::steady_timer idle_{executor_, asio::steady_timer::time_point::max()};
};

asio::awaitable<hooks::tool_result> subagents::run(hooks::tool_call call)
{
    try {
        const auto name = argument(call.input, "name");
        turn task{argument(call.input, "prompt"), script_.of_subagents.at(call.id)};
        auto one = find(name);
        if (!one) {
            const auto* background = call.input.if_contains("background");
            one = create(name, background && *background == true);
            co_await one->start();
        }
        one->add(std::move(task));
        if (one->background()) {
            one->work_in_background();
            co_return hooks::text_result(name + " is at work in the background");
        }
        const auto last = co_await one->work();
        show(name, *one);
        co_return hooks::text_result(last.text, last.stop != hooks::stop_reason::end);
    } catch (const refused& why) {
        co_return hooks::text_result(call.name + ": " + why.what(), true);
    }
}

std::shared_ptr<subagent> subagents::create(const std::string& name, bool background)
{
    hooks::subagent_options options{.id = starter_.id() + '/' + name, .background = background};
    auto session = starter_.create_subagent(std::move(options));
    if (!session) throw refused(session.error().message());
    return by_name_[name] =
               std::make_shared<subagent>(*std::move(session), starter_.settings(), background,
                                          script_, tools_, modules_, show_.has_colours());
}

asio::awaitable<std::vector<std::string>> subagents::wait_for(const std::string& name)
{
    std::vector<std::string> results;
    if (const auto one = find(name)) {
        co_await one->idle();
        show(name, *one);
        results = one->take_results();
    }
    if (results.empty()) show_.note(name + " has handed nothing back");
    co_return results;
}

void subagents::stop(const std::string& name)
{
    const auto one = find(name);
    if (!one || !one->at_work()) return show_.note(name + " is not at work");
    one->stop();
    show_.note(name + " is stopped");
}

void subagents::show_rest()
{
    for (const auto& [name, one] : by_name_) {
        show(name, *one);
        if (one->at_work()) show_.note(name + " was still at work");
    }
}

void subagents::forget()
{
    for (auto& [name, one] : by_name_) forgotten_.push_back(std::move(one));
    by_name_.clear();
}

std::shared_ptr<subagent> subagents::find(const std::string& name) const
{
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
}

void subagents::show(const std::string& name, subagent& one)
{
    show_.subagent(name, one.take_rows());
}

}  // namespace agent
