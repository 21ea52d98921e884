#ifndef BELAY_EXAMPLE_AGENT_PLAY_HPP
#define BELAY_EXAMPLE_AGENT_PLAY_HPP

#include <boost/asio/awaitable.hpp>

#include "conversation.hpp"
#include "script.hpp"

namespace agent {

/// The person of a script talks with an agent, from session_start to session_end. False if it was
/// cancelled on the way. What is given must outlive it.
boost::asio::awaitable<bool> play(const script& what, conversation& talk);

}  // namespace agent

#endif
