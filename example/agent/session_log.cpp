#include "session_log.hpp"

#include <boost/json/serialize.hpp>

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>

namespace agent {

namespace json = boost::json;

session_log::session_log(std::string id, const std::optional<std::filesystem::path>& folder,
                         const std::optional<std::string>& parent_session)
    : id_(std::move(id))
{
    if (!folder) return;
    auto name = id_;
    std::ranges::replace(name, '/', '_');
    file_ = *folder / (name + ".jsonl");
    std::error_code ignored;  // then no line can be written, and none is
    std::filesystem::create_directories(*folder, ignored);
    std::filesystem::remove(file_, ignored);
    json::object heading{{"type", "session"}, {"id", id_}};
    if (parent_session) heading["parentSession"] = *parent_session;
    write(heading);
}

std::optional<std::string> session_log::session_file() const
{
    return file_.empty() ? std::nullopt : std::optional(file_.string());
}

json::array session_log::path_to(std::optional<std::string> id) const
{
    json::array path;
    while (id) {
        const auto& entry = *find(*id);
        path.push_back(entry);
        id = parent_of(entry);
    }
    std::reverse(path.begin(), path.end());
    return path;
}

void session_log::append_message(json::object message)
{
    append("message", {{"message", std::move(message)}});
}

void session_log::append_entry(std::string custom_type, json::value data)
{
    append("custom", {{"customType", std::move(custom_type)}, {"data", std::move(data)}});
}

void session_log::append_custom_message(const belay::modules::custom_message& message)
{
    append("custom_message", {{"customType", message.custom_type},
                              {"content", message.content},
                              {"display", message.display},
                              {"details", message.details.value_or(nullptr)},
                              {"attribution", message.attribution.value_or("agent")}});
}

json::object session_log::append_compaction(std::string summary)
{
    append("compaction", {{"summary", std::move(summary)}});
    return entries_.back().as_object();
}

void session_log::append_copies(const json::array& entries)
{
    for (const auto& one : entries) {
        auto fields = one.as_object();
        const std::string type(fields.at("type").as_string());
        append(type, std::move(fields));
    }
}

const json::object* session_log::find(std::string_view id) const
{
    const auto found = std::ranges::find_if(
        entries_, [&](const json::value& entry) { return entry.at("id").as_string() == id; });
    return found == entries_.end() ? nullptr : &found->as_object();
}

std::optional<std::string> session_log::parent_of(const json::object& entry)
{
    const auto& parent = entry.at("parentId");
    return parent.is_null() ? std::nullopt : std::optional<std::string>(parent.as_string());
}

json::array session_log::messages() const
{
    json::array seen;
    for (const auto& entry : branch()) {
        const auto& type = entry.at("type").as_string();
        if (type == "message") {
            seen.push_back(entry.at("message"));
        } else if (type == "custom_message") {
            seen.push_back({{"role", "custom"},
                            {"customType", entry.at("customType")},
                            {"content", entry.at("content")}});
        } else if (type == "compaction") {
            seen = {{{"role", "user"}, {"content", entry.at("summary")}}};
        }
    }
    return seen;
}

void session_log::append(std::string_view type, json::object fields)
{
    const auto id = "entry_" + std::to_string(entries_.size() + 1);
    fields["type"] = type;
    fields["id"] = id;
    fields["parentId"] = leaf_ ? json::value(*leaf_) : json::value(nullptr);
    write(fields);
    entries_.push_back(std::move(fields));
    leaf_ = id;
}

void session_log::write(const json::object& line) const
{
    if (file_.empty()) return;
    std::ofstream(file_, std::ios::binary | std::ios::app) << json::serialize(line) << '\n';
}

}  // namespace agent
