#ifndef BELAY_VERSION_HPP
#define BELAY_VERSION_HPP

// The version of belay. The build files read it from here.

#define BELAY_VERSION_MAJOR 0
#define BELAY_VERSION_MINOR 1
#define BELAY_VERSION_PATCH 0
#define BELAY_VERSION_STRING "0.1.0"

#endif
