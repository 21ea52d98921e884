#include "settings.hpp"

#include <belay/hooks/text_rules.hpp>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <stdexcept>

namespace lookout {
namespace {

namespace json = boost::json;

[[noreturn]] void refuse(const std::string& place, const std::string& must, const json::value& is)
{
    throw std::invalid_argument(place + " must be " + must + ", and is " + json::serialize(is));
}

const json::object& object(const std::string& place, const json::value& value)
{
    if (!value.is_object()) refuse(place, "an object", value);
    return value.get_object();
}

std::string text(const std::string& place, const json::value& value)
{
    if (!value.is_string() || value.get_string().empty()) refuse(place, "a text", value);
    return std::string(value.get_string());
}

void must_be_row(const std::string& place, const std::string& row)
{
    if (!belay::hooks::is_display_line(row)) {
        refuse(place, "one line of at most 200 characters", json::value(row));
    }
}

[[noreturn]] void unknown(const std::string& key)
{
    throw std::invalid_argument("its configuration has an unknown key, " + key);
}

}  // namespace

settings read_settings(const json::value& config)
{
    settings read;
    for (const auto& [key, value] : object("its configuration", config)) {
        if (key == "sightings") {
            for (const auto& [word, known] : object(key, value)) {
                read.sightings[word] = text("sightings." + std::string(word), known);
            }
        } else if (key == "rows") {
            for (const auto& [row, words] : object(key, value)) {
                if (row != "spotted" && row != "nudge") unknown("rows." + std::string(row));
                (row == "spotted" ? read.spotted : read.nudge) =
                    text("rows." + std::string(row), words);
            }
        } else {
            unknown(key);
        }
    }
    must_be_row("rows.nudge", read.nudge);
    must_be_row("rows.spotted", read.spotted);
    for (const auto& [word, known] : read.sightings) {
        must_be_row("the row of sightings." + word, read.spotted + ": " + word);
    }
    return read;
}

}  // namespace lookout
