#ifndef BELAY_MODULES_IMPL_LOADER_IPP
#define BELAY_MODULES_IMPL_LOADER_IPP

#include <belay/modules/discovery.hpp>
#include <belay/modules/loader.hpp>
#include <belay/modules/module.hpp>

// With std::filesystem, so that there is nothing to link.
#if !defined(BOOST_DLL_USE_STD_FS)
#define BOOST_DLL_USE_STD_FS
#endif
#include <boost/dll/shared_library.hpp>
#include <boost/dll/shared_library_load_mode.hpp>

#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <exception>
#include <filesystem>
#include <link.h>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

namespace belay::modules {
namespace detail {

// Two of its settings in one program would be two definitions of the same functions.
static_assert(
    std::is_same_v<boost::dll::fs::path, std::filesystem::path>,
    "belay: Boost.DLL was included without BOOST_DLL_USE_STD_FS, which belay uses it with; "
    "define that for the whole program");

// All libraries that were opened, by their paths.
class open_libraries {
public:
    // The process's. It is never destroyed, so that what still runs at exit can be called.
    static open_libraries& instance()
    {
        static auto& all = *new open_libraries;
        return all;
    }

    // Throws std::runtime_error if it cannot be opened.
    const boost::dll::shared_library& open(const std::string& path)
    {
        if (path.find('\0') != path.npos) throw std::runtime_error("its path contains a NUL");
        std::error_code unknown;
        const auto kind = std::filesystem::status(path, unknown).type();
        if (kind != std::filesystem::file_type::regular &&
            kind != std::filesystem::file_type::not_found) {
            throw std::runtime_error(path + ": it is no file");  // a FIFO would be waited for
        }
        const std::lock_guard lock(mutex_);
        if (const auto found = libraries_.find(path); found != libraries_.end()) {
            return found->second;
        }
        boost::dll::shared_library library;
        boost::dll::fs::error_code ec;
        using namespace boost::dll::load_mode;
        library.load(boost::dll::fs::path(path), rtld_now | rtld_local, ec);
        if (ec) {
            const char* why = ::dlerror();
            throw std::runtime_error(why != nullptr ? why : path + ": " + ec.message());
        }
        return libraries_.emplace(path, std::move(library)).first->second;
    }

private:
    std::mutex mutex_;
    std::map<std::string, boost::dll::shared_library> libraries_;
};

// Whether what is there may be a record: data, with room for what every version of it begins with.
inline bool may_be_record(const void* at) noexcept
{
    ::Dl_info where;
    void* symbol = nullptr;
    if (::dladdr1(at, &where, &symbol, RTLD_DL_SYMENT) == 0 || symbol == nullptr) return false;
    const auto& found = *static_cast<const ElfW(Sym)*>(symbol);
    return (found.st_info & 0xF) == STT_OBJECT &&
           found.st_size >= offsetof(module_record, factory) &&
           reinterpret_cast<std::uintptr_t>(at) % alignof(module_record) == 0;
}

// What a library exports; empty if that is no module.
inline module_factory exported_factory(const std::string& path)
{
    constexpr const char* symbol = "belay_module";
    const auto& library = open_libraries::instance().open(path);
    if (!library.has(symbol)) return {};
    const void* at = &library.get<const char>(symbol);  // what it is remains to be seen
    if (!may_be_record(at)) return {};
    const auto& found = *static_cast<const module_record*>(at);
    if (found.magic == nullptr || found.built_with == nullptr ||
        found.magic != std::string_view(module_magic))
        return {};
    if (found.built_with != std::string_view(build_id)) {
        throw std::runtime_error("it was built with \"" + std::string(found.built_with) +
                                 "\", and its host with \"" + build_id + "\"");
    }
    if (found.shared != &shared) {
        throw std::runtime_error(
            "it would have its own copy of what it must share with its host: link the host with "
            "-rdynamic (CMake: ENABLE_EXPORTS), and compile neither with hidden visibility");
    }
    return found.factory;
}

}  // namespace detail

BELAY_DECL load_result load(runner& into, const std::vector<std::string>& paths)
{
    load_result result;
    for (const auto& path : paths) {
        module_factory factory;
        try {
            factory = detail::exported_factory(resolve_path(path, into.cwd(), home_directory()));
        } catch (...) {
            factory = [why = std::current_exception()](api&) { std::rethrow_exception(why); };
        }
        if (const auto added = into.add(path, factory)) {
            result.modules.push_back(path);
        } else {
            result.errors.push_back({path, added.error().message});
        }
    }
    return result;
}

}  // namespace belay::modules

#endif
