// Two slash commands that put a message into the conversation. /note TEXT: people see it, and, beside
// context_filter, the model does not. /tell TEXT: the model answers it now.

#include <belay/modules/module.hpp>

using namespace belay::modules;

namespace {

void notes(api& its_api)
{
    its_api.register_command("note", "Notes something down", [api = its_api](const command& given) {
        api.append_entry("note", {{"text", given.arguments}});
        custom_message note{.custom_type = "debug-only"};
        note.content = {text_block(given.arguments)};
        note.display = true;
        api.send_message(std::move(note));
    });
    its_api.register_command("tell", "Tells the model", [api = its_api](const command& given) {
        api.send_message(given.arguments, {.trigger_turn = true});
    });
    its_api.register_message_renderer(
        "debug-only", [](const custom_message& note, const render_options&) {
            const auto& text = note.content.at(0).at("text").as_string();
            return std::vector<std::string>{"noted: " + std::string(text)};
        });
}

}  // namespace

BELAY_MODULE(notes)
