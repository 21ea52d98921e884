#include "host_log.hpp"

#include <boost/json/value.hpp>

namespace agent {

namespace hooks = belay::hooks;

host_log::host_log(const std::filesystem::path& home, transcript& show)
    : file_(hooks::host_log_path(home.string())), show_(show)
{}

void host_log::on_record(const boost::json::object& record) noexcept
{
    file_.on_record(record);
    const auto& type = record.at("type").as_string();
    if (!type.ends_with("_hook_failed")) show_.warning(record.at("error").as_string());
}

}  // namespace agent
