// Before each turn, makes a commit of what git tracks in the working directory as it is then. Neither
// the branch nor the directory changes: `git stash apply COMMIT` brings it back.

#include <belay/modules/module.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

using namespace belay::modules;
namespace asio = boost::asio;

namespace {

// What git prints, without the end of the line. Nothing if it fails, as where there is no repository.
asio::awaitable<std::string> git(api api, std::vector<std::string> arguments)
{
    const exec_options in_the_working_directory;
    auto [error, ended] = co_await api.async_exec("git", arguments, in_the_working_directory,
                                                  asio::as_tuple(asio::use_awaitable));
    if (error || ended.code != 0) co_return std::string();
    co_return ended.out.substr(0, ended.out.find_last_not_of('\n') + 1);
}

void git_checkpoint(api& its_api)
{
    its_api.on<turn_start>([api = its_api](const turn_start& event) -> asio::awaitable<void> {
        const auto subject = "before turn " + std::to_string(event.turn_index);
        const std::vector<std::string> create = {"stash", "create", subject};
        const auto commit = co_await git(api, create);
        if (commit.empty()) co_return;  // nothing has changed since the last commit

        // a reference keeps git from collecting it
        const std::vector<std::string> keep = {"update-ref", "refs/checkpoints/" + commit, commit};
        co_await git(api, keep);
        api.append_entry("git-checkpoint", {{"turn", event.turn_index}, {"commit", commit}});
    });
}

}  // namespace

BELAY_MODULE(git_checkpoint)
