// batch.mjs with the hooks of 64 calls at a time, as batch.cpp has them.

process.env.AT_ONCE = "64";
await import("./batch.mjs");
