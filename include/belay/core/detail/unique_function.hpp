#ifndef BELAY_CORE_DETAIL_UNIQUE_FUNCTION_HPP
#define BELAY_CORE_DETAIL_UNIQUE_FUNCTION_HPP

// A move-only std::function without the empty-call check (std::move_only_function is C++23).
// Callables of up to three words that move without throwing are stored in place.

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace belay::detail {

template <class Signature>
class unique_function;

template <class R, class... Args>
class unique_function<R(Args...)> {
    static constexpr std::size_t capacity = 3 * sizeof(void*);

    template <class F>
    static constexpr bool in_place = sizeof(F) <= capacity && alignof(F) <= alignof(void*) &&
                                     std::is_nothrow_move_constructible_v<F>;

    // What is stored: the callable, or a pointer to it.
    template <class F>
    using stored = std::conditional_t<in_place<F>, F, std::unique_ptr<F>>;

public:
    unique_function() noexcept = default;

    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, unique_function>)
    unique_function(F&& f)
    {
        using callable = std::remove_cvref_t<F>;
        using kept = stored<callable>;
        if constexpr (in_place<callable>) {
            ::new (static_cast<void*>(storage_)) kept(std::forward<F>(f));
        } else {
            ::new (static_cast<void*>(storage_)) kept(new callable(std::forward<F>(f)));
        }
        invoke_ = [](void* where, Args... args) -> R {
            if constexpr (in_place<callable>) {
                return (*static_cast<kept*>(where))(std::forward<Args>(args)...);
            } else {
                return (**static_cast<kept*>(where))(std::forward<Args>(args)...);
            }
        };
        move_ = [](void* from, void* to) noexcept {
            auto& source = *static_cast<kept*>(from);
            if (to != nullptr) ::new (to) kept(std::move(source));
            source.~kept();
        };
    }

    unique_function(unique_function&& other) noexcept { take(other); }

    unique_function& operator=(unique_function&& other) noexcept
    {
        if (this != &other) {
            clear();
            take(other);
        }
        return *this;
    }

    ~unique_function() { clear(); }

    explicit operator bool() const noexcept { return invoke_ != nullptr; }

    R operator()(Args... args) { return invoke_(storage_, std::forward<Args>(args)...); }

private:
    void take(unique_function& other) noexcept
    {
        if (other.invoke_ == nullptr) return;
        other.move_(other.storage_, storage_);
        invoke_ = std::exchange(other.invoke_, nullptr);
        move_ = std::exchange(other.move_, nullptr);
    }

    void clear() noexcept
    {
        if (invoke_ == nullptr) return;
        move_(storage_, nullptr);
        invoke_ = nullptr;
        move_ = nullptr;
    }

    alignas(void*) std::byte storage_[capacity];
    R (*invoke_)(void*, Args...) = nullptr;
    void (*move_)(void* from, void* to) noexcept = nullptr;  // to is null: destroy
};

}  // namespace belay::detail

#endif
