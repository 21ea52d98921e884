// A library that has a number called like our record.

extern "C" {
extern const char belay_module;
const char belay_module = 1;
}
