#ifndef BELAY_HOOKS_IMPL_TRANSCRIPT_IPP
#define BELAY_HOOKS_IMPL_TRANSCRIPT_IPP

#include <belay/hooks/transcript.hpp>

namespace belay::hooks {
namespace detail {

inline transcript_row row_of(const added_context& added, const char* what_it_did)
{
    const std::string source = added.source.empty() ? "A hook" : added.source;
    if (added.display.empty()) return {source + what_it_did, {}};
    return {added.display, source};
}

}  // namespace detail

BELAY_DECL std::string transcript_row::line() const
{
    return source.empty() ? text : text + " \u00b7 " + source;
}

BELAY_DECL transcript_row added_context_row(const added_context& added)
{
    return detail::row_of(added, " added context");
}

BELAY_DECL transcript_row continued_turn_row(const added_context& added)
{
    return detail::row_of(added, " continued the turn");
}

}  // namespace belay::hooks

#endif
