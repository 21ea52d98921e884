#ifndef BELAY_EXAMPLE_AGENT_TOOLS_HPP
#define BELAY_EXAMPLE_AGENT_TOOLS_HPP

// What the model can do: run a shell command, read a file, write a file. Nothing here knows of hooks.

#include <belay/hooks/tool.hpp>

#include <boost/asio/awaitable.hpp>

#include <filesystem>
#include <string>

namespace agent {

class tools {
public:
    /// `workspace` is where commands run, and the only place where files are read and written.
    explicit tools(std::filesystem::path workspace) : workspace_(std::move(workspace)) {}

    const std::filesystem::path& workspace() const noexcept { return workspace_; }

    /// Runs a call of one of these tools. What goes wrong is a result, too.
    boost::asio::awaitable<belay::hooks::tool_result> run(belay::hooks::tool_call call) const;

private:
    boost::asio::awaitable<belay::hooks::tool_result> bash(const boost::json::object& input) const;
    belay::hooks::tool_result read(const boost::json::object& input) const;
    belay::hooks::tool_result write(const boost::json::object& input) const;

    std::filesystem::path inside(const boost::json::object& input) const;

    std::filesystem::path workspace_;
};

}  // namespace agent

#endif
