#ifndef BELAY_HOOKS_IMPL_EXECUTABLE_OUTPUT_IPP
#define BELAY_HOOKS_IMPL_EXECUTABLE_OUTPUT_IPP

#include <belay/hooks/detail/executable_output.hpp>
#include <belay/process/detail/text.hpp>
#include <belay/process/utf8.hpp>

#include <algorithm>
#include <cstddef>

namespace belay::hooks::detail {

BELAY_DECL std::optional<diagnosis> bad_end(const process::exit_report& report)
{
    if (report.status.is_success()) return std::nullopt;
    const auto code = report.status.code();
    return diagnosis{
        code ? errc::exited : errc::signalled,
        "Command hook exited with status " + (code ? std::to_string(*code) : "unknown")};
}

BELAY_DECL executable_output::executable_output(const process::exit_report& report,
                                                std::string subject)
    : subject_(std::move(subject)), fault_(bad_end(report))
{
    if (fault_) return;
    if (const auto offset = process::utf8_error_offset(report.out)) {
        fail({errc::not_utf8,
              "Command hook output is not valid UTF-8 at byte " + std::to_string(*offset)});
    } else {
        text_ = process::detail::trim(report.out);
    }
}

BELAY_DECL std::optional<json_fault> executable_output::parse()
{
    boost::json::value document;
    if (auto fault = parse_json(text_, document)) return fault;
    is_object_ = document.is_object();
    if (is_object_) members_ = std::move(document.get_object());
    return std::nullopt;
}

BELAY_DECL bool executable_output::has(std::string_view key, std::string_view value) const
{
    const auto* found = members_.if_contains({key.data(), key.size()});
    const auto* text = found ? found->if_string() : nullptr;
    return text && std::string_view(text->data(), text->size()) == value;
}

BELAY_DECL void executable_output::fail(diagnosis why)
{
    if (!fault_) fault_ = std::move(why);
}

BELAY_DECL void executable_output::refuse(std::string_view rule)
{
    fail({errc::invalid_answer, subject_ + std::string(rule)});
}

BELAY_DECL void executable_output::refuse_duplicates(std::initializer_list<used> parts)
{
    if (!is_object_ || fault_ || parts.size() == 0) return;
    const auto matters = [&](const json_path& path) {
        const auto is = [&](std::size_t depth, std::string_view key) {
            return path.size() <= depth || key.empty() ||
                   (path[depth].is_key && path[depth].key == key);
        };
        return std::any_of(parts.begin(), parts.end(),
                           [&](const used& part) { return is(0, part.key) && is(1, part.inner); });
    };
    if (const auto where = duplicate_key(text_, matters)) {
        fail({errc::invalid_answer,
              "Hook data at " + to_string(*where) + " must not be given twice"});
    }
}

BELAY_DECL void executable_output::refuse_infinite_numbers()
{
    for (const auto& [name, value] : members_) {
        auto where = not_finite(value);
        if (!where) continue;
        where->insert(where->begin(),
                      {.is_key = true, .key = std::string(name.data(), name.size())});
        return fail({errc::invalid_answer,
                     "Hook data at " + to_string(*where) + " must contain a finite number"});
    }
}

}  // namespace belay::hooks::detail

#endif
