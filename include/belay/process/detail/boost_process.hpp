#ifndef BELAY_PROCESS_DETAIL_BOOST_PROCESS_HPP
#define BELAY_PROCESS_DETAIL_BOOST_PROCESS_HPP

// Boost.Process v2, the parts that exist from Boost 1.81 on, in the order in which they compile
// everywhere. `v2.hpp` is not among them: it is missing from 1.88, and in 1.81 it brings what needs
// a library.

#include <belay/config.hpp>

// clang-format off
#include <boost/optional.hpp>                     // 1.81 uses it without including it
#include <boost/asio/detail/throw_error.hpp>      // likewise, below 1.83
#include <boost/process/v2/process.hpp>           // first: others do not compile before it
#include <boost/process/v2/posix/default_launcher.hpp>
#include <boost/process/v2/start_dir.hpp>
#include <boost/process/v2/stdio.hpp>
// clang-format on

#endif
