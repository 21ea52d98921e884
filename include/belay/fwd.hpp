#ifndef BELAY_FWD_HPP
#define BELAY_FWD_HPP

// The names of the kernel, for headers that only mention them.

namespace belay {

enum class errc;
enum class flow : unsigned char;
enum class origin : unsigned char;
enum class handler_id : unsigned long long;

struct observe;
struct block;
struct handler_info;
struct failure;
struct deadline_rule;
struct trace_span;
class trace_sink;
class clock;
class observer_group;

template <class E>
class draft;
template <class E>
class reply;
template <class E>
class chain;
template <class E, class... Handler>
class static_chain;
template <class E>
class async_chain;
template <class E>
class observers;
template <class E>
class any_handler;

}  // namespace belay

#endif
