#ifndef BELAY_HOOKS_CONFIG_FILE_HPP
#define BELAY_HOOKS_CONFIG_FILE_HPP

// A config document on disk that may change while the host runs.

#include <belay/config.hpp>
#include <belay/core/error.hpp>
#include <belay/hooks/config.hpp>
#include <belay/hooks/executable.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>

namespace belay::hooks {

/// Keeps the last valid config of a file (spec: Vera, "When a hook fails"). Its hooks lie in `hooks/`
/// beside it.
///
///     belay::hooks::config_file file(home / "config.json");
///     if (auto loaded = file.load(); !loaded) return complain(loaded.error().message);
///     ...
///     if (auto changed = file.refresh(); !changed) log(changed.error().message);
///     start_session(file.current());
///
/// All members may be called from any thread.
class config_file {
public:
    /// Larger files are refused.
    static constexpr std::size_t size_limit = 8 * 1024 * 1024;

    /// Nothing is read yet. The path becomes absolute here.
    BELAY_DECL explicit config_file(std::filesystem::path file,
                                    protocols known = default_protocols());

    /// Reads the file. If there is none and never was, the config is one without hooks. Otherwise the
    /// diagnosis, `errc::unreadable` or `errc::invalid_config`, says why the config that was there
    /// before, if any, is kept.
    BELAY_DECL checked<void> load();

    /// Reads the file if its modification time or its size is not that of the last reading. True if
    /// that gave a new config. The diagnosis as from `load`, once for each change of the file: also
    /// when it has disappeared.
    BELAY_DECL checked<bool> refresh();

    /// The last valid config; null until there was one.
    [[nodiscard]] BELAY_DECL std::shared_ptr<const config> current() const;

    /// Why the file as it is on disk is not the current config, if the last reading failed.
    [[nodiscard]] BELAY_DECL std::optional<diagnosis> fault() const;

    const std::filesystem::path& path() const noexcept { return file_; }

private:
    // What tells one state of the file from another.
    struct stamp {
        bool exists = false;
        std::int64_t modified = 0;  // nanoseconds
        std::int64_t size = 0;
        friend bool operator==(const stamp&, const stamp&) = default;
    };

    checked<void> read();  // the mutex is held
    stamp look() const noexcept;

    const std::filesystem::path file_;
    const protocols known_;
    mutable std::mutex mutex_;
    std::optional<stamp> last_;  // of the last reading; none if it has to be tried again
    std::shared_ptr<const config> current_;
    std::optional<diagnosis> fault_;
    bool absent_ = false;  // so far there was no file, and current_ has no hooks
};

}  // namespace belay::hooks

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/config_file.ipp>
#endif

#endif
