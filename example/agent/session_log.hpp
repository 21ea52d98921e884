#ifndef BELAY_EXAMPLE_AGENT_SESSION_LOG_HPP
#define BELAY_EXAMPLE_AGENT_SESSION_LOG_HPP

// What a conversation keeps of itself, as modules may read it and commands begin it.

#include <belay/modules/agent.hpp>
#include <belay/modules/message.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace agent {

/// A tree of entries, each an object with `id`, `parentId` and `type`. The path to the leaf is what the
/// conversation goes on from. Every entry is also a line of the session's file, if it has one.
class session_log final : public belay::modules::session_manager,
                          public belay::modules::session_writer {
public:
    /// Without a folder it has no file.
    session_log(std::string id, const std::optional<std::filesystem::path>& folder,
                const std::optional<std::string>& parent_session = std::nullopt);

    std::string session_id() const override { return id_; }
    std::optional<std::string> session_file() const override;
    std::optional<std::string> leaf_id() const override { return leaf_; }
    boost::json::array entries() const override { return entries_; }
    boost::json::array branch() const override { return path_to(leaf_); }

    /// The entries from the root to this one.
    boost::json::array path_to(std::optional<std::string> id) const;

    void append_message(boost::json::object message) override;
    void append_entry(std::string custom_type, boost::json::value data) override;
    void append_custom_message(const belay::modules::custom_message& message);

    /// From now on the summary stands for all before it. Gives the entry.
    boost::json::object append_compaction(std::string summary);

    /// Entries of another session's branch.
    void append_copies(const boost::json::array& entries);

    /// The entry of that id; null if there is none.
    const boost::json::object* find(std::string_view id) const;

    /// None: it is the first.
    static std::optional<std::string> parent_of(const boost::json::object& entry);

    void go_to(std::string id) { leaf_ = std::move(id); }

    /// What the model is to see.
    boost::json::array messages() const;

private:
    void append(std::string_view type, boost::json::object fields);
    void write(const boost::json::object& line) const;

    std::string id_;
    std::filesystem::path file_;
    boost::json::array entries_;
    std::optional<std::string> leaf_;
};

}  // namespace agent

#endif
