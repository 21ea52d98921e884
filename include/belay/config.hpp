#ifndef BELAY_CONFIG_HPP
#define BELAY_CONFIG_HPP

// How belay is compiled.
//
// Header-only by default. A program that defines BELAY_SEPARATE_COMPILATION in every translation
// unit, and includes <belay/src.hpp> in exactly one, compiles the non-template bodies once.

#include <boost/version.hpp>

#if BOOST_VERSION < 108100
#error "belay needs Boost 1.81 or newer"
#endif

#if defined(BELAY_SEPARATE_COMPILATION)
#define BELAY_DECL
#else
#define BELAY_DECL inline
#define BELAY_HEADER_ONLY 1
#endif

// NOINLINE for what is seldom reached, so that it does not burden what is reached often; INLINE for what
// is reached often, and is short, since what is seldom needed is elsewhere.
#if defined(__GNUC__)
#define BELAY_NOINLINE __attribute__((noinline))
#define BELAY_INLINE __attribute__((always_inline)) inline
#else
#define BELAY_NOINLINE
#define BELAY_INLINE inline
#endif

#endif
