// A library that happens to have something called like our record.

namespace {

struct record {
    const char* text;
    const char* more;
    void (*function)();
};

}  // namespace

extern "C" {
extern const record belay_module;
const record belay_module = {"something else", "", [] { __builtin_trap(); }};
}
