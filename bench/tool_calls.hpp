#ifndef BELAY_BENCH_TOOL_CALLS_HPP
#define BELAY_BENCH_TOOL_CALLS_HPP

// What the questions about chains ask about: tool calls, and the handlers that look at them. The limits
// are in the questions' own files.

#include <belay/core/answer.hpp>
#include <belay/core/event.hpp>

#include "question.hpp"
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace bench {

struct tool_call {
    static constexpr std::string_view event_name = "tool_call";
    static constexpr auto deadline = belay::shared_deadline(std::chrono::seconds(60));
    using answer = std::variant<belay::observe, belay::block>;
    struct outcome {
        std::optional<belay::block> blocked = belay::block{};
    };
    struct fold {
        belay::flow accept(belay::block&& said, const belay::handler_info&,
                           belay::draft<tool_call>&)
        {
            concluded.blocked = std::move(said);
            return belay::flow::stop;
        }
        belay::flow fail(belay::failure&& why, const belay::handler_info&, belay::draft<tool_call>&)
        {
            concluded.blocked = belay::block{std::move(why.message)};
            return belay::flow::stop;
        }
        outcome finish(belay::draft<tool_call>&) && { return std::move(concluded); }
        outcome concluded{std::nullopt};
    };
    std::string_view subject() const { return tool; }

    std::string tool{};
    std::string command{};
};

// The batch is a ring of so many different calls.
inline constexpr std::size_t ring = 1000;

// One call in four is of bash, or none; the commands have 60 bytes, and none of them is blocked.
inline std::vector<tool_call> calls(bool with_bash)
{
    constexpr const char* tools[] = {"bash", "read", "edit", "grep"};
    constexpr const char* commands[] = {
        "cd build/dev && make -j2 test 2>&1 | tail -n 40 # ",
        "git diff --stat main -- include/ src/ | sort -k3 # ",
        "grep -rn 'error' src/server --include='*.cpp' # ",
        "for f in doc/*.md; do wc -w $f; done | sort -rn # ",
        "python3 -m pytest -q tests/test_parser.py -k read # ",
        "find . -name '*.orig' -newer README.md -print # ",
        "curl -sf http://localhost:8080/ready | jq .state # ",
    };
    std::vector<tool_call> made;
    for (std::size_t i = 0; i != ring; ++i) {
        const auto which = with_bash || i % 4 != 0 ? i % 4 : 1;
        auto command = commands[i % std::size(commands)] + std::to_string(i);
        command.resize(60, '_');
        made.push_back({tools[which], std::move(command)});
    }
    return made;
}

// What every handler does: each has a tool and a needle of its own, so nothing that one finds out can
// be used again for the next.
struct look_for {
    std::string tool;
    std::string needle;
    std::optional<belay::block> operator()(const tool_call& event) const
    {
        if (event.tool == tool && event.command.find(needle) != std::string::npos)
            return belay::block{"no"};
        return std::nullopt;
    }
};

// The same, each of a type of its own, as handlers that somebody wrote are.
template <std::size_t>
struct guard : look_for {
    using look_for::operator();
};

// Every `every`th of them looks at edit, the others at bash.
inline look_for nth_guard(std::size_t i, std::size_t every)
{
    constexpr const char* needles[] = {"rm -rf /",      "git push --force ", "sudo ",
                                       "dd of=/dev/sd", "chmod -R 777 /",    "mkfs.ext4 /dev/",
                                       "nc -l ",        "shutdown -t "};
    return {every != 0 && i % every == every - 1 ? "edit" : "bash",
            needles[i % std::size(needles)] + std::to_string(i)};
}

template <std::size_t... I>
auto guards(std::index_sequence<I...>, std::size_t every)
{
    return std::tuple(guard<I>{nth_guard(I, every)}...);
}

template <std::size_t N>
auto guards(std::size_t every)
{
    return guards(std::make_index_sequence<N>(), every);
}

// Calls f(handler) for each.
template <class Guards, class F>
void for_each(Guards&& all, F&& f)
{
    std::apply([&](auto&&... one) { (f(std::forward<decltype(one)>(one)), ...); },
               std::forward<Guards>(all));
}

/// Adds a variant: `dispatch(call)` is its outcome. One that does not block what the last of `n` guards
/// forbids, or that blocks anything else, does not run.
template <class Dispatch>
benchmark::internal::Benchmark* add_dispatch(program& into, const std::string& variant,
                                             const std::string& parameters, std::size_t n,
                                             std::size_t every, bool with_bash, Dispatch dispatch)
{
    auto body = [=, batch = calls(with_bash)](benchmark::State& state) mutable {
        const auto last = nth_guard(n - 1, every);
        if (!dispatch(tool_call{last.tool, "x; " + last.needle}).blocked)
            return state.SkipWithError("what is forbidden is not blocked");
        for (const auto& one : batch) {
            if (dispatch(one).blocked) return state.SkipWithError("what is allowed is blocked");
        }
        for (auto _ : state) {
            for (const auto& one : batch) benchmark::DoNotOptimize(dispatch(one));
        }
        state.counters["events"] = static_cast<double>(ring);
    };
    return into.add(variant, parameters, std::move(body));
}

}  // namespace bench

#endif
