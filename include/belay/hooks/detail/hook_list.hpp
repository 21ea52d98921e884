#ifndef BELAY_HOOKS_DETAIL_HOOK_LIST_HPP
#define BELAY_HOOKS_DETAIL_HOOK_LIST_HPP

// A list of executable hooks, as config documents and the configuration of an extension have it.

#include <belay/config.hpp>
#include <belay/core/error.hpp>
#include <belay/hooks/executable.hpp>

#include <boost/json/object.hpp>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::hooks::detail {

// What an entry may hold.
inline constexpr std::array<std::string_view, 7> hook_keys{
    "phase", "argv", "protocol", "timeout_ms", "mode", "in_flight", "tools"};

/// " (did you mean pre_turn?)" if one of the names is near: in its letters first, whatever their case
/// and what is between its words. Else nothing.
BELAY_DECL std::string did_you_mean(std::string_view unknown,
                                    std::span<const std::string_view> names);

/// Adds a sentence for each key of an entry that is not one of the `known`.
BELAY_DECL void warn_of_other_keys(const boost::json::object& entry, const std::string& where,
                                   std::span<const std::string_view> known,
                                   std::vector<std::string>& warnings);

struct hook_list {
    std::vector<executable> hooks{};      // argv as it was written
    std::vector<std::string> warnings{};  // of keys and names that mean nothing
};

/// Reads the member `hooks`; none is an empty list. The diagnosis names the entry, the field and the
/// value, but not the document. A timeout may be the greatest there is; limits are not judged.
BELAY_DECL checked<hook_list> read_hook_list(const boost::json::object& holder, protocols known);

/// The field of a hook that is over its limit, and why; nothing: it may be run.
BELAY_DECL std::optional<std::string> limit_fault(const executable& hook);

}  // namespace belay::hooks::detail

#if defined(BELAY_HEADER_ONLY)
#include <belay/hooks/impl/hook_list.ipp>
#endif

#endif
