#ifndef BELAY_MODULES_IMPL_TOOL_IPP
#define BELAY_MODULES_IMPL_TOOL_IPP

#include <belay/modules/tool.hpp>

#include <boost/system/errc.hpp>
#include <boost/system/system_error.hpp>

#include <system_error>

namespace belay::modules {
namespace detail {

inline bool ends_early(const error_code& why) noexcept
{
    return why == boost::system::errc::operation_canceled || why == errc::cancelled ||
           why == errc::timed_out || why == errc::deadline;
}

inline bool ends_early(const std::error_code& why) noexcept
{
    const auto is = [&](errc code) { return why == std::error_code(make_error_code(code)); };
    return why == std::errc::operation_canceled || is(errc::cancelled) || is(errc::timed_out) ||
           is(errc::deadline);
}

}  // namespace detail

BELAY_DECL bool is_cancellation(const std::exception_ptr& thrown) noexcept
{
    if (!thrown) return false;
    try {
        std::rethrow_exception(thrown);
    } catch (const tool_cancelled&) {
        return true;
    } catch (const boost::system::system_error& why) {
        return detail::ends_early(why.code());
    } catch (const std::system_error& why) {
        return detail::ends_early(why.code());
    } catch (...) {
        return false;
    }
}

}  // namespace belay::modules

#endif
