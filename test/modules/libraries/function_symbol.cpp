// A library that calls a function like our record.

extern "C" void belay_module() {}
