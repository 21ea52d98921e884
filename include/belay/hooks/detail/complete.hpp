#ifndef BELAY_HOOKS_DETAIL_COMPLETE_HPP
#define BELAY_HOOKS_DETAIL_COMPLETE_HPP

// How the operations of a session complete. Only bodies include this.

#include <belay/core/detail/waiting_handler.hpp>

namespace belay::hooks::detail {

using belay::detail::waiting_handler;
using belay::detail::waiting_ptr;

}  // namespace belay::hooks::detail

#endif
