// Writes down what happens: each event is a line of JSON in the file that RECORDER_FILE names.

#include <belay/modules/module.hpp>

#include <boost/json/serialize.hpp>

#include <cstdlib>
#include <fstream>
#include <type_traits>

using namespace belay::modules;

namespace {

// Some of what an event says.
template <class E>
boost::json::object description_of(const E& event)
{
    boost::json::object said{{"event", E::event_name}};
    if constexpr (requires { event.tool_name; }) {
        said["toolName"] = event.tool_name;
        said["input"] = event.input;
    }
    if constexpr (requires { event.is_error; }) said["isError"] = event.is_error;
    if constexpr (requires { event.turn_index; }) said["turnIndex"] = event.turn_index;
    if constexpr (requires { event.prompt; }) said["prompt"] = event.prompt;
    if constexpr (requires { event.messages; }) said["messages"] = event.messages;
    if constexpr (requires { event.compaction_entry; }) said["entry"] = event.compaction_entry;
    return said;
}

template <class... E>
void handle_each(const api& api, const std::string& file, std::type_identity<std::tuple<E...>>)
{
    (api.on<E>([file](const E& event) {
        std::ofstream(file, std::ios::app) << serialize(description_of(event)) << '\n';
    }),
     ...);
}

void recorder(api& api)
{
    const char* file = std::getenv("RECORDER_FILE");
    if (file == nullptr) throw std::runtime_error("RECORDER_FILE names no file");
    handle_each(api, file, std::type_identity<all_events>());
}

}  // namespace

BELAY_MODULE(recorder)
