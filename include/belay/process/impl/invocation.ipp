#ifndef BELAY_PROCESS_IMPL_INVOCATION_IPP
#define BELAY_PROCESS_IMPL_INVOCATION_IPP

#include <belay/process/invocation.hpp>

namespace belay::process {

BELAY_DECL std::size_t json_size(const std::vector<std::string>& argv) noexcept
{
    std::size_t size = argv.empty() ? 2 : 1 + argv.size();  // the brackets and the commas
    for (const std::string& element : argv) {
        size += 2;
        for (const char c : element) {
            const auto byte = static_cast<unsigned char>(c);
            if (byte == '"' || byte == '\\' || (byte >= 0x08 && byte <= 0x0D && byte != 0x0B))
                size += 2;
            else if (byte < 0x20)
                size += 6;
            else
                size += 1;
        }
    }
    return size;
}

BELAY_DECL checked<void> check_argv(const std::vector<std::string>& argv)
{
    const auto refuse = [](std::string why) {
        return diagnosis{errc::invalid_argv, std::move(why)};
    };
    if (argv.empty()) return refuse("argv is empty");
    if (argv.size() > argv_elements_limit)
        return refuse("argv has " + std::to_string(argv.size()) + " elements; at most " +
                      std::to_string(argv_elements_limit) + " are allowed, the program included");
    for (std::size_t i = 0; i < argv.size(); ++i) {
        const std::string where = "argv[" + std::to_string(i) + ']';
        if (argv[i].empty()) return refuse(where + " is empty");
        if (argv[i].find('\0') != std::string::npos) return refuse(where + " holds a NUL");
    }
    if (const std::size_t size = json_size(argv); size > argv_json_limit)
        return refuse("argv takes " + std::to_string(size) + " bytes as JSON; at most " +
                      std::to_string(argv_json_limit) + " are allowed");
    return {};
}

}  // namespace belay::process

#endif
