#ifndef BELAY_EXAMPLE_EXTENSIONS_LOOKOUT_SETTINGS_HPP
#define BELAY_EXAMPLE_EXTENSIONS_LOOKOUT_SETTINGS_HPP

#include <boost/json/value.hpp>

#include <map>
#include <string>

namespace lookout {

/// What the extension's own configuration can say.
struct settings {
    std::map<std::string, std::string> sightings;   ///< what is known of a word
    std::string spotted = "Spotted";                ///< the row when one of them is in a prompt
    std::string nudge = "Sent back to look again";  ///< the row when a reply only guesses
};

/// Throws std::invalid_argument, which says what cannot be used.
settings read_settings(const boost::json::value& config);

}  // namespace lookout

#endif
