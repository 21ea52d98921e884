#ifndef BELAY_MODULES_STATUS_LINE_SRC_HPP
#define BELAY_MODULES_STATUS_LINE_SRC_HPP

// The bodies of the status line, compiled once, as <belay/src.hpp> has all others: include this in
// exactly one translation unit of a program that uses both it and BELAY_SEPARATE_COMPILATION.

#include <belay/config.hpp>

#if !defined(BELAY_SEPARATE_COMPILATION)
#error \
    "status_line_src.hpp needs BELAY_SEPARATE_COMPILATION to be defined in every translation unit"
#endif

#include <belay/modules/impl/status_line.ipp>

#endif
