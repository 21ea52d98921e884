#include "play.hpp"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>

#include <variant>

namespace agent {

namespace asio = boost::asio;

namespace {

asio::awaitable<void> play_entry(const script::entry& what, conversation& talk)
{
    if (const auto* spoken = std::get_if<turn>(&what)) {
        co_await talk.take_turn(*spoken);
    } else if (const auto* compacted = std::get_if<compaction>(&what)) {
        co_await talk.compact(*compacted);
    } else if (const auto* asked = std::get_if<question>(&what)) {
        co_await talk.ask(*asked);
    } else if (const auto* awaited = std::get_if<waiting>(&what)) {
        co_await talk.wait_for(*awaited);
    } else {
        talk.stop(std::get<stopping>(what));
    }
}

}  // namespace

asio::awaitable<bool> play(const script& what, conversation& talk)
{
    bool played = false;
    try {
        co_await talk.start(what.reason);
        for (const auto& entry : what.conversation) co_await play_entry(entry, talk);
        played = true;
    } catch (const boost::system::system_error& stopped) {
        if (stopped.code() != boost::system::errc::operation_canceled) throw;
    }
    // also after an interrupt
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await talk.shut_down_modules();
    talk.close(what.end);  // the session_end hooks: nothing waits for them
    co_return played;
}

}  // namespace agent
