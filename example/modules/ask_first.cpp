// Asks the person before a file is written, and answers from a callback.

#include <belay/modules/module.hpp>

#include <exception>
#include <utility>

using namespace belay::modules;

namespace {

void ask_first(api& api)
{
    api.on<tool_call>(belay::exact("write"), [](const tool_call& event, handler_context here,
                                                belay::reply<tool_call> answer) {
        auto said = [answer = std::move(answer)](std::exception_ptr, bool fine) mutable {
            fine ? answer() : answer(belay::block{"user wants nothing written"});
        };
        here.ui().async_confirm("Write", std::string(text_in(event.input, "path")),
                                std::move(said));
    });
}

}  // namespace

BELAY_MODULE(ask_first)
