#ifndef BELAY_CORE_EVENT_HPP
#define BELAY_CORE_EVENT_HPP

// What makes a struct an event, and the ready-made fold of an event that only notifies.
//
//     struct pre_commit {                                    // what happened: plain data
//         static constexpr std::string_view event_name = "pre_commit";
//         using answer = std::variant<belay::observe, belay::block>;  // what a handler may say
//         struct fold;                                       // how answers combine: see below
//         std::string message;
//     };
//
//     // Made afresh for each dispatch. It is told each answer in the order of the handlers, on one
//     // thread at a time, and ends as the outcome. Default-constructible, movable, keeps no pointer
//     // to the event. What it throws ends the dispatch (see the chains).
//     struct pre_commit::fold {
//         // Optional, one for each alternative that has a rule: "" when valid, else why not, as a
//         // std::string_view or a std::string. An answer that is not valid is a failure of its
//         // handler. Asked first of all.
//         std::string_view invalid(const belay::block&, const belay::handler_info&) const;
//
//         // One for each alternative but observe, which never gets here.
//         belay::flow accept(belay::block&&, const belay::handler_info&, belay::draft<pre_commit>&);
//
//         // What a failing handler means for this event.
//         belay::flow fail(belay::failure&&, const belay::handler_info&, belay::draft<pre_commit>&);
//
//         // The outcome, also after flow::stop: any default-constructible type, whose default value
//         // must be the safe one (an operation that was cancelled delivers it beside its error).
//         outcome finish(belay::draft<pre_commit>&) &&;
//     };
//
// An event may also say what it is about: `std::string_view subject() const`, which a handler's
// matcher looks at (<belay/core/matcher.hpp>). And it may say how long its handlers have: `static constexpr auto deadline =
// belay::shared_deadline(60s);`, or `belay::deadline_per_handler(60s)`.

#include <belay/core/answer.hpp>
#include <belay/core/draft.hpp>
#include <belay/core/failure.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace belay {

/// How long the handlers of an event have, beside their own timeouts.
struct deadline_rule {
    enum class scope : unsigned char { none, per_handler, shared };

    scope of = scope::none;
    std::chrono::milliseconds limit{0};
};

/// All handlers of one dispatch share `limit`.
constexpr deadline_rule shared_deadline(std::chrono::milliseconds limit) noexcept
{
    return {deadline_rule::scope::shared, limit};
}

/// Each handler has `limit` for itself.
constexpr deadline_rule deadline_per_handler(std::chrono::milliseconds limit) noexcept
{
    return {deadline_rule::scope::per_handler, limit};
}

/// What a whole chain concludes about an `E`.
template <class E>
using outcome_of = decltype(std::declval<typename E::fold>().finish(std::declval<draft<E>&>()));

/// The outcome of an event that only notifies.
struct notified {
    std::vector<failure> failures;  ///< in the order in which they happened
};

/// The fold of an event that only notifies: a failing handler stops nobody.
template <class E>
struct notify_fold {
    flow fail(failure&& why, const handler_info&, draft<E>&)
    {
        concluded_.failures.push_back(std::move(why));
        return flow::proceed;
    }

    notified finish(draft<E>&) && { return std::move(concluded_); }

private:
    notified concluded_;
};

namespace detail {

template <class T>
inline constexpr bool is_variant = false;
template <class... T>
inline constexpr bool is_variant<std::variant<T...>> = true;

template <class T, class Variant>
inline constexpr std::size_t count_in = 0;
template <class T, class... U>
inline constexpr std::size_t count_in<T, std::variant<U...>> =
    (std::size_t{0} + ... + std::size_t{std::is_same_v<T, U>});

/// One of the things that a handler of E may say.
template <class T, class E>
concept alternative_of = (count_in<T, typename E::answer> == 1);

template <class Fold, class Alternative, class E>
concept accepts = requires(Fold fold, Alternative said, const handler_info info, draft<E> event) {
    { fold.accept(std::move(said), info, event) } -> std::same_as<flow>;
};

template <class Fold, class E>
concept judges_failures =
    requires(Fold fold, failure why, const handler_info info, draft<E> event) {
        { fold.fail(std::move(why), info, event) } -> std::same_as<flow>;
    };

template <class Fold, class E>
concept finishes = requires(Fold fold, draft<E> event) {
    requires std::default_initializable<decltype(std::move(fold).finish(event))>;
};

// A constant of the type, not a data member that happens to have the name.
template <class T>
concept has_name = requires { std::bool_constant<(std::string_view(T::name), true)>{}; };
template <class E>
concept has_event_name =
    requires { std::bool_constant<(std::string_view(E::event_name), true)>{}; };
template <class E>
concept has_deadline =
    requires { &E::deadline; } && !std::is_member_object_pointer_v<decltype(&E::deadline)>;
template <class E>
concept has_deadline_rule =
    requires { requires std::same_as<decltype(E::deadline), const deadline_rule>; };

template <class E>
concept has_subject = requires(const E& event) {
    { event.subject() } -> std::same_as<std::string_view>;
};

// The subject of an event; of one that has none, the empty text.
template <class E>
std::string_view subject_of(const E& event)
{
    if constexpr (has_subject<E>) {
        return event.subject();
    } else {
        return {};
    }
}

template <class E>
consteval bool check_subject()
{
    static_assert(has_subject<E>,
                  "belay: this event has no subject, so no handler can be for some of its subjects "
                  "only; add std::string_view subject() const");
    return true;
}

template <class E>
constexpr deadline_rule deadline_of() noexcept
{
    if constexpr (has_deadline<E>) {
        return E::deadline;
    } else {
        return {};
    }
}

template <class Fold, class Alternative>
concept judges = requires(const Fold fold, const Alternative said, const handler_info info) {
    { fold.invalid(said, info) } -> std::convertible_to<std::string_view>;
};

// Whether a fold has a member of that name, whatever its parameters: if so, it is ambiguous here.
struct some_invalid {
    int invalid;
};
template <class Fold>
struct maybe_two_invalids : Fold, some_invalid {};
template <class Fold>
concept mentions_invalid =
    !std::is_final_v<Fold> && !requires { &maybe_two_invalids<Fold>::invalid; };

// If a compiler brought you here, the sentence says what the event lacks; the note below it names
// the event, and the alternative where one is at fault.
template <class E, class Alternative>
consteval bool check_alternative()
{
    static_assert(std::is_object_v<Alternative> && std::is_move_constructible_v<Alternative>,
                  "belay: an alternative of E::answer must be a movable object type");
    static_assert(count_in<Alternative, typename E::answer> == 1,
                  "belay: E::answer lists the same alternative twice; give each meaning a type of "
                  "its own");
    if constexpr (!std::is_same_v<Alternative, observe>) {
        static_assert(accepts<typename E::fold, Alternative, E>,
                      "belay: the fold of this event does not accept one of its alternatives; add "
                      "flow accept(Alternative&&, const handler_info&, draft<E>&)");
    }
    return true;
}

template <class E, class Answer>
struct answer_check;

template <class E, class... Alternative>
struct answer_check<E, std::variant<Alternative...>> {
    using fold = typename E::fold;

    static constexpr bool accepted =
        ((std::is_same_v<Alternative, observe> || accepts<fold, Alternative, E>) && ...);

    static consteval bool run()
    {
        static_assert(!mentions_invalid<fold> || (judges<fold, Alternative> || ...),
                      "belay: the fold of this event has an invalid() that fits none of its "
                      "alternatives; make it std::string_view invalid(const Alternative&, const "
                      "handler_info&) const");
        return (check_alternative<E, Alternative>() && ...);
    }
};

template <class E>
consteval bool check_fold()
{
    if constexpr (has_deadline<E>) {
        static_assert(has_deadline_rule<E>,
                      "belay: the deadline of this event is no deadline_rule; make it static "
                      "constexpr auto deadline = belay::shared_deadline(...), or "
                      "belay::deadline_per_handler(...)");
    }
    static_assert(std::is_default_constructible_v<typename E::fold> &&
                      std::is_move_constructible_v<typename E::fold>,
                  "belay: E::fold must be default-constructible and movable");
    static_assert(answer_check<E, typename E::answer>::run());
    static_assert(judges_failures<typename E::fold, E>,
                  "belay: the fold of this event does not say what a failure means; add "
                  "flow fail(failure&&, const handler_info&, draft<E>&)");
    static_assert(finishes<typename E::fold, E>,
                  "belay: the fold of this event has no outcome; add outcome finish(draft<E>&) && "
                  "with an outcome that is default-constructible");
    return true;
}

template <class E>
consteval bool check_event()
{
    if constexpr (!requires { typename E::answer; }) {
        static_assert(
            requires { typename E::answer; },
            "belay: this event names no answer; add using answer = "
            "std::variant<belay::observe, ...>");
    } else if constexpr (!is_variant<typename E::answer>) {
        static_assert(is_variant<typename E::answer>,
                      "belay: E::answer must be a std::variant of what a handler may say");
    } else if constexpr (!std::is_same_v<std::variant_alternative_t<0, typename E::answer>,
                                         observe>) {
        static_assert(std::is_same_v<std::variant_alternative_t<0, typename E::answer>, observe>,
                      "belay: the first alternative of E::answer must be belay::observe");
    } else if constexpr (!has_event_name<E>) {
        static_assert(has_event_name<E>,
                      "belay: this event has no name; add static constexpr std::string_view "
                      "event_name");
    } else if constexpr (!requires { sizeof(typename E::fold); }) {
        static_assert(
            requires { sizeof(typename E::fold); },
            "belay: this event has no fold; add a struct fold that says how answers "
            "combine, or using fold = belay::notify_fold<E>");
    } else {
        static_assert(check_fold<E>());
    }
    return true;
}

}  // namespace detail

/// A struct that names its answer and its fold, as at the top of this header.
template <class E>
concept event =
    requires {
        typename E::answer;
        std::string_view(E::event_name);
        sizeof(typename E::fold);
    } && detail::is_variant<typename E::answer> &&
    std::same_as<std::variant_alternative_t<0, typename E::answer>, observe> &&
    detail::answer_check<E, typename E::answer>::accepted &&
    detail::judges_failures<typename E::fold, E> && detail::finishes<typename E::fold, E>;

/// An event that its handlers can only watch.
template <class E>
concept notification = event<E> && (std::variant_size_v<typename E::answer> == 1);

}  // namespace belay

#endif
