#ifndef BELAY_EXAMPLE_AGENT_BAD_INPUT_HPP
#define BELAY_EXAMPLE_AGENT_BAD_INPUT_HPP

#include <stdexcept>

namespace agent {

/// Something that was given to the agent cannot be used. The message is for the person who gave it.
struct bad_input : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace agent

#endif
