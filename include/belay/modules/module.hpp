#ifndef BELAY_MODULES_MODULE_HPP
#define BELAY_MODULES_MODULE_HPP

// All that a module needs. A module is a factory, which is called once for each runner:
//
//     void guard(belay::modules::api& api)
//     {
//         api.on<belay::modules::tool_call>(
//             [](const belay::modules::tool_call& event) -> std::optional<belay::block> { ... });
//     }
//     BELAY_MODULE(guard)  // in a shared library

#include <belay/core/coroutine.hpp>
#include <belay/modules/api.hpp>
#include <belay/modules/context.hpp>
#include <belay/modules/events.hpp>
#include <belay/version.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/version.hpp>

#include <version>

namespace belay::modules {

/// What tells a module from a library that has something else of that name.
inline constexpr const char* module_magic = "belay module";

/// What a shared library exports for its host to find, as `belay_module`. Its layout never changes: its
/// first two members say whether the rest can be used.
struct module_record {
    const char* magic;       ///< `module_magic`
    const char* built_with;  ///< `build_id` of the module; it must be that of the host
    void (*factory)(api&);
    const void* shared;  ///< the address of `detail::shared`; it must be that of the host
};

namespace detail {

// There is one for host and module together, unless the host does not export its symbols. Then each has
// its own copy of all that is inline: also of what Asio keeps for each thread, and a socket or a pipe
// of the module's own would crash the host.
inline char shared = 0;

}  // namespace detail

#define BELAY_DETAIL_TEXT(x) #x
#define BELAY_DETAIL_TEXT_OF(x) BELAY_DETAIL_TEXT(x)

/// All that has to be the same for host and module to understand each other: belay, Boost, the
/// standard library and its settings.
inline constexpr const char* build_id = "belay " BELAY_VERSION_STRING ", Boost " BOOST_LIB_VERSION
#if defined(__GLIBCXX__)
                                        ", libstdc++ " BELAY_DETAIL_TEXT_OF(_GLIBCXX_RELEASE)
#if defined(_GLIBCXX_DEBUG)
                                            " with _GLIBCXX_DEBUG"
#endif
#if !_GLIBCXX_USE_CXX11_ABI
                                            " with the old std::string"
#endif
#elif defined(_LIBCPP_VERSION)
                                        ", libc++ " BELAY_DETAIL_TEXT_OF(_LIBCPP_VERSION)
#endif
    ;

}  // namespace belay::modules

/// Makes a shared library a module. `factory` is a function `void(belay::modules::api&)`; what it
/// throws is an error of loading, and undoes what it has registered. Once in a library, at namespace
/// scope. The library is never unloaded.
#define BELAY_MODULE(factory)                                                              \
    extern "C" {                                                                           \
    extern __attribute__((visibility("default")))                                          \
    const belay::modules::module_record belay_module;                                      \
    const belay::modules::module_record belay_module = {belay::modules::module_magic,      \
                                                        belay::modules::build_id, factory, \
                                                        &belay::modules::detail::shared};  \
    }

#endif
