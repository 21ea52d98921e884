// The kernel alone: an event, two handlers, and what they conclude. No event loop, nothing to link.

#include <belay/core.hpp>

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

// What happened, what a handler may say about it, and how answers combine.
struct shell_command {
    static constexpr std::string_view event_name = "shell_command";

    struct rewrite {
        std::string line;
    };

    using answer = std::variant<belay::observe, rewrite, belay::block>;
    struct fold;

    std::string line;
};

struct shell_command::fold {
    struct verdict {
        std::string line;
        std::optional<std::string> refused = "nobody was asked";
    };

    // The next handler sees the new line.
    belay::flow accept(rewrite&& said, const belay::handler_info&,
                       belay::draft<shell_command>& event)
    {
        event.edit().line = std::move(said.line);
        return belay::flow::proceed;
    }

    // Nobody else is asked.
    belay::flow accept(belay::block&& said, const belay::handler_info& who,
                       belay::draft<shell_command>&)
    {
        refused_ = who.name + ": " + said.reason;
        return belay::flow::stop;
    }

    // A guard that is broken guards nothing: refuse.
    belay::flow fail(belay::failure&& why, const belay::handler_info& who,
                     belay::draft<shell_command>& event)
    {
        return accept(belay::block{std::move(why.message)}, who, event);
    }

    verdict finish(belay::draft<shell_command>& event) &&
    {
        return {event.view().line, std::move(refused_)};
    }

private:
    std::optional<std::string> refused_;
};

int main()
{
    belay::chain<shell_command> gate;

    gate.add({.name = "dry run"}, [](const shell_command& event) -> shell_command::answer {
        if (!event.line.starts_with("rsync ")) return belay::observe{};
        return shell_command::rewrite{"rsync --dry-run" + event.line.substr(5)};
    });

    gate.add({.name = "no deletions"},
             [](const shell_command& event) -> std::optional<belay::block> {
                 if (!event.line.starts_with("rm ")) return std::nullopt;
                 return belay::block{"move it to attic/ instead"};
             });

    for (const auto* line : {"ls charts", "rsync charts/ backup/", "rm charts/north.txt"}) {
        const auto verdict = gate.dispatch({line});
        if (verdict.refused) {
            std::printf("%s\n    refused by %s\n", line, verdict.refused->c_str());
        } else {
            std::printf("%s\n    runs as %s\n", line, verdict.line.c_str());
        }
    }
}
