#include "allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> count{0};

void* allocate(std::size_t size)
{
    count.fetch_add(1, std::memory_order_relaxed);
    if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
    throw std::bad_alloc();
}

void* allocate(std::size_t size, std::align_val_t alignment)
{
    count.fetch_add(1, std::memory_order_relaxed);
    const auto boundary = static_cast<std::size_t>(alignment);
    if (void* p = std::aligned_alloc(boundary, (size + boundary - 1) / boundary * boundary))
        return p;
    throw std::bad_alloc();
}

}  // namespace

std::size_t bench::allocations() noexcept
{
    return count.load(std::memory_order_relaxed);
}

void* operator new(std::size_t size)
{
    return allocate(size);
}
void* operator new(std::size_t size, std::align_val_t alignment)
{
    return allocate(size, alignment);
}
void operator delete(void* p) noexcept
{
    std::free(p);
}
void operator delete(void* p, std::size_t) noexcept
{
    std::free(p);
}
void operator delete(void* p, std::align_val_t) noexcept
{
    std::free(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept
{
    std::free(p);
}
