#ifndef BELAY_HOOKS_IMPL_EXECUTABLE_OUTPUT_IPP
#define BELAY_HOOKS_IMPL_EXECUTABLE_OUTPUT_IPP

#include <belay/hooks/detail/executable_output.hpp>
#include <belay/process/detail/text.hpp>
#include <belay/process/utf8.hpp>

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

inline std::string_view trim_ascii(std::string_view text) noexcept
{
    const auto is_blank = [](char c) { return c == ' ' || ('\t' <= c && c <= '\r'); };
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

BELAY_DECL executable_output::executable_output(const process::exit_report& report,
                                                std::string_view subject)
    : subject_(subject), fault_(bad_end(report))
{
    if (fault_) return;
    output_ = report.out;
    text_ = trim_ascii(output_);
    // Only blanks beyond ASCII have to be decoded to be found.
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    if (text_.empty() || (is_ascii(text_.front()) && is_ascii(text_.back()))) return;
    text_ = refuse_ill_formed() ? std::string_view() : process::detail::trim(text_);
}

BELAY_DECL std::optional<json_fault> executable_output::parse()
{
    if (auto fault = parse_json(text_, document_)) {
        refuse_ill_formed();  // what was read as JSON is UTF-8
        return fault;
    }
    doubts_ = doubts_about(document_);
    return std::nullopt;
}

BELAY_DECL bool executable_output::refuse_ill_formed()
{
    const auto offset = process::utf8_error_offset(output_);
    if (!offset) return false;
    fail({errc::not_utf8,
          "Command hook output is not valid UTF-8 at byte " + std::to_string(*offset)});
    return true;
}

BELAY_DECL bool executable_output::has(std::string_view key, std::string_view value) const
{
    const auto* members = document_.if_object();
    const auto* found = members ? members->if_contains({key.data(), key.size()}) : nullptr;
    const auto* text = found ? found->if_string() : nullptr;
    return text && std::string_view(text->data(), text->size()) == value;
}

BELAY_DECL void executable_output::fail(diagnosis why)
{
    if (!fault_) fault_ = std::move(why);
}

BELAY_DECL void executable_output::refuse(std::string_view rule)
{
    auto text = std::string(subject_);
    if (!text.empty()) text += ' ';
    fail({errc::invalid_answer, text.append(rule)});
}

BELAY_DECL void executable_output::refuse_duplicates(std::initializer_list<used> parts)
{
    if (!doubts_.duplicate_keys || !is_object() || fault_ || parts.size() == 0) return;
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
    if (!doubts_.infinite_numbers || !is_object()) return;
    for (const auto& [name, value] : document_.get_object()) {
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
