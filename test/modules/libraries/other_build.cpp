// A module that was built with another belay. Whatever that was, its record begins like this.

namespace {

struct record {
    const char* magic;
    const char* built_with;
    void (*factory)();
};

}  // namespace

extern "C" {
extern const record belay_module;
const record belay_module = {"belay module", "belay 99.0.0, Boost 9_99", [] { __builtin_trap(); }};
}
