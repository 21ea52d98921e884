#ifndef BELAY_SRC_HPP
#define BELAY_SRC_HPP

// The non-template bodies of belay, compiled once: include this in exactly one translation unit of
// a program that defines BELAY_SEPARATE_COMPILATION in all of them.

#include <belay/config.hpp>

#if !defined(BELAY_SEPARATE_COMPILATION)
#error "belay/src.hpp needs BELAY_SEPARATE_COMPILATION to be defined in every translation unit"
#endif

#include <belay/core/impl/clock.ipp>
#include <belay/core/impl/error.ipp>

#endif
