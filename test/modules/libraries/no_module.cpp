// A library that exports something, and no module.

extern "C" {
extern const int answer;
const int answer = 42;
}
