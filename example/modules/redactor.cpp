// Hides the API keys of files from the model (spec: Veyyon, "Redact tool output on post-execution").

#include <belay/modules/module.hpp>

#include <algorithm>

using namespace belay::modules;

namespace {

std::string redacted(std::string_view text)
{
    constexpr std::string_view key = "API_KEY=";
    std::string clean;
    for (;;) {
        const auto value = text.find(key);
        if (value == text.npos) return clean.append(text);
        clean.append(text.substr(0, value + key.size()));
        text.remove_prefix(value + key.size());
        const auto end = std::min(text.find_first_of(" \t\r\n"), text.size());
        if (end != 0) clean += "[REDACTED]";
        text.remove_prefix(end);
    }
}

void redactor(api& api)
{
    api.on<tool_result>([](const tool_result& event) -> std::optional<tool_result::result> {
        if (event.tool_name != "read" || event.is_error) return std::nullopt;

        auto content = event.content;
        for (auto& chunk : content) {
            auto* fields = chunk.if_object();
            if (!fields || text_in(*fields, "type") != "text") continue;
            (*fields)["text"] = redacted(text_in(*fields, "text"));
        }
        return tool_result::result{.content = std::move(content)};
    });
}

}  // namespace

BELAY_MODULE(redactor)
