// Keeps messages of the type debug-only from the model (spec: Veyyon, "Modify model context per LLM
// call").

#include <belay/modules/module.hpp>

using namespace belay::modules;

namespace {

void context_filter(api& api)
{
    api.on<context>([](const context& event) {
        boost::json::array filtered;
        for (const auto& message : event.messages) {
            const auto* fields = message.if_object();
            const bool debug_only = fields && text_in(*fields, "role") == "custom" &&
                                    text_in(*fields, "customType") == "debug-only";
            if (!debug_only) filtered.push_back(message);
        }
        return context::result{.messages = std::move(filtered)};
    });
}

}  // namespace

BELAY_MODULE(context_filter)
