// A module with a pipe of its own: it blocks every call with what it reads from there.

#include <belay/modules/module.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>

#include <string>
#include <unistd.h>

namespace {

namespace asio = boost::asio;
using namespace belay::modules;

void pipes(api& its)
{
    its.on<tool_call>(
        [](const tool_call&, handler_context here) -> asio::awaitable<tool_call::answer> {
            int ends[2];
            if (::pipe(ends) != 0) co_return belay::block{"there is no pipe"};
            asio::posix::stream_descriptor from(here.get_executor(), ends[0]);
            const asio::posix::stream_descriptor to(here.get_executor(), ends[1]);
            // Asio hears of it while nobody reads.
            if (::write(ends[1], "it came", 7) != 7) co_return belay::block{"nothing is written"};
            for (int i = 0; i != 3; ++i)
                co_await asio::post(here.get_executor(), asio::use_awaitable);
            std::string text(7, ' ');
            co_await asio::async_read(from, asio::buffer(text), asio::use_awaitable);
            co_return belay::block{text};
        });
}

}  // namespace

BELAY_MODULE(pipes)
