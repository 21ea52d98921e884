// A module as it is in a host that does not export its symbols: what it should share is its own.

#include <belay/modules/module.hpp>

namespace {

const char own = 0;

}  // namespace

extern "C" {
extern const belay::modules::module_record belay_module;
const belay::modules::module_record belay_module = {
    belay::modules::module_magic, belay::modules::build_id,
    [](belay::modules::api&) { __builtin_trap(); }, &own};
}
