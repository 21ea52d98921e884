#ifndef BELAY_MODULES_AGENT_HPP
#define BELAY_MODULES_AGENT_HPP

// What a host gives its modules to work with: the agent, its session, its models.

#include <belay/config.hpp>
#include <belay/core/host_function.hpp>
#include <belay/modules/message.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::modules {

/// The current session, to be read. What it does not override is empty.
class session_manager {
public:
    virtual ~session_manager() = default;

    virtual std::string session_id() const { return {}; }
    /// None: it is not kept.
    virtual std::optional<std::string> session_file() const { return std::nullopt; }
    virtual std::optional<std::string> leaf_id() const { return std::nullopt; }
    virtual boost::json::array entries() const { return {}; }  ///< all of them, oldest first
    virtual boost::json::array branch() const { return {}; }   ///< those from the root to the leaf
};

/// A session that is being set up, to be written.
class session_writer {
public:
    virtual ~session_writer() = default;

    virtual void append_message(boost::json::object message) = 0;
    virtual void append_entry(std::string custom_type, boost::json::value data) = 0;
};

/// A model that the host can call.
struct model_info {
    std::string provider{};
    std::string id{};
    std::string name{};             ///< for people
    boost::json::object details{};  ///< the host's own
};

/// The models that the host can call. What it does not override is empty.
class model_registry {
public:
    virtual ~model_registry() = default;

    virtual std::vector<model_info> models() const { return {}; }
    virtual std::optional<model_info> find(std::string_view provider, std::string_view id) const
    {
        for (auto& one : models()) {
            if (one.provider == provider && one.id == id) return std::move(one);
        }
        return std::nullopt;
    }
};

/// A session that a command asks for.
struct new_session_options {
    std::optional<std::string> parent_session{};   ///< the file of the one that it comes from
    std::function<void(session_writer&)> setup{};  ///< writes its beginning
};

/// How a command goes to another place in the session's tree.
struct navigate_options {
    bool summarize = false;  ///< summarise what is left behind
    std::optional<std::string> custom_instructions{};
};

/// What became of a change of session that a command asked for. A default-constructed one did not
/// happen.
struct session_change {
    bool cancelled = true;
};

/// The agent that runs the modules: a host derives from it. What it does not override does what it
/// does before there is a session: it is idle, nothing is queued, there is no model, and changes of
/// session do nothing and are not cancelled.
///
/// Everything is called on the runner's executor. What the functions with a reply throw, or fail with,
/// reaches the command that asked; what the others throw is reported to the runner's error listeners.
class agent {
public:
    virtual ~agent() = default;

    /// The directory that paths of this conversation are relative to: absolute.
    BELAY_DECL virtual std::string cwd() const;

    virtual std::shared_ptr<const session_manager> session() const
    {
        return std::make_shared<session_manager>();
    }
    virtual std::shared_ptr<const model_registry> models() const
    {
        return std::make_shared<model_registry>();
    }

    /// The one that is called now.
    virtual std::optional<model_info> model() const { return std::nullopt; }

    virtual bool is_idle() const { return true; }
    virtual bool has_queued_messages() const { return false; }

    /// Stops the run, and does not wait for its end.
    virtual void abort() {}

    /// Puts a message into the conversation: `plan_delivery` says where.
    virtual void send_message(custom_message message, const delivery_options& options)
    {
        (void)message, (void)options;
    }

    /// Keeps an entry of type `custom` in the session: never shown, never sent to the model.
    virtual void append_entry(std::string custom_type, boost::json::value data)
    {
        (void)custom_type, (void)data;
    }

    /// Replies, with true, when the agent is idle.
    virtual void wait_for_idle(host_reply<bool> reply) { reply(true); }

    /// Emits `session_before_switch`; unless that is cancelled, begins the session, calls
    /// `options.setup`, if there is one, and emits `session_switch`.
    virtual void new_session(const new_session_options& options, host_reply<session_change> reply)
    {
        (void)options;
        reply(session_change{.cancelled = false});
    }

    /// Emits `session_before_branch`; unless that is cancelled, branches at the entry, which is a
    /// message of the user, and emits `session_branch`.
    virtual void branch(const std::string& entry_id, host_reply<session_change> reply)
    {
        (void)entry_id;
        reply(session_change{.cancelled = false});
    }

    /// Emits `session_before_tree`; unless that is cancelled, goes to the entry, and emits
    /// `session_tree`.
    virtual void navigate_tree(const std::string& target_id, const navigate_options& options,
                               host_reply<session_change> reply)
    {
        (void)target_id, (void)options;
        reply(session_change{.cancelled = false});
    }
};

}  // namespace belay::modules

#if defined(BELAY_HEADER_ONLY)
#include <belay/modules/impl/agent.ipp>
#endif

#endif
