// error: belay: Boost.DLL was included without BOOST_DLL_USE_STD_FS
#include <boost/dll/shared_library.hpp>

#include <belay/modules/loader.hpp>
