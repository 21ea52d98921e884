#ifndef BELAY_TEST_COMPILE_FAIL_EVENT_HPP
#define BELAY_TEST_COMPILE_FAIL_EVENT_HPP

#include <belay/core.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <variant>

// A gate, a notification, and another event with an answer of its own.

struct gate {
    static constexpr std::string_view event_name = "gate";
    using answer = std::variant<belay::observe, belay::block>;
    struct fold {
        belay::flow accept(belay::block&&, const belay::handler_info&, belay::draft<gate>&)
        {
            return belay::flow::stop;
        }
        belay::flow fail(belay::failure&&, const belay::handler_info&, belay::draft<gate>&)
        {
            return belay::flow::stop;
        }
        bool finish(belay::draft<gate>&) && { return true; }
    };
    std::string text{};
};

struct note {
    static constexpr std::string_view event_name = "note";
    using answer = std::variant<belay::observe>;
    using fold = belay::notify_fold<note>;
    int value = 0;
};

struct patch {
    std::string text{};
};

#endif
