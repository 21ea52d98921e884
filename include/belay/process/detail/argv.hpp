#ifndef BELAY_PROCESS_DETAIL_ARGV_HPP
#define BELAY_PROCESS_DETAIL_ARGV_HPP

// What the system itself asks of an argument list.

#include <string>
#include <vector>

namespace belay::process::detail {

/// Why `argv` cannot be given to the system; empty: it can.
inline std::string argv_fault(const std::vector<std::string>& argv)
{
    if (argv.empty()) return "argv is empty";
    for (std::size_t i = 0; i < argv.size(); ++i)
        if (argv[i].find('\0') != std::string::npos)
            return "argv[" + std::to_string(i) + "] holds a NUL";
    if (argv[0].empty() || argv[0][0] != '/')
        return "argv[0] is not an absolute path: \"" + argv[0] + '"';
    return {};
}

}  // namespace belay::process::detail

#endif
