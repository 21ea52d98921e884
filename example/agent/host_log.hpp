#ifndef BELAY_EXAMPLE_AGENT_HOST_LOG_HPP
#define BELAY_EXAMPLE_AGENT_HOST_LOG_HPP

#include <belay/hooks/log.hpp>

#include "transcript.hpp"
#include <filesystem>

namespace agent {

/// The log of a home. What belongs to no hook, such as a configuration that cannot be used any more,
/// is also shown.
class host_log final : public belay::hooks::log_sink {
public:
    host_log(const std::filesystem::path& home, transcript& show);

    void on_record(const boost::json::object& record) noexcept override;

private:
    belay::hooks::jsonl_file file_;
    transcript& show_;
};

}  // namespace agent

#endif
