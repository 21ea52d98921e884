// A module that does what the file beside it says, whose name is that of the module and ".does": a word,
// and after the first line what it is to say.

#include <belay/modules/module.hpp>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace {

void play(belay::modules::api& api)
{
    using namespace belay::modules;
    std::ifstream file(api.name() + ".does");
    std::string what;
    std::getline(file, what);
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());

    api.on<session_start>([](const session_start&) { throw std::runtime_error("is here"); });
    if (what == "throw") throw std::runtime_error(text);
    if (what == "throw_text") throw text;
    if (what == "send_message") api.send_message(text);
    if (what == "append_entry") api.append_entry("conformance");
    if (what == "exec") {
        api.async_exec("true", {}, {}, [](belay::error_code, const exec_result&) {});
    }
}

}  // namespace

BELAY_MODULE(play)
