// Own file: where a compiler sees both the replaced operators and their use, it warns of a
// mismatch.
#include "replaced_new.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace tutti::harness {

std::atomic<bool> counting{false};
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> allocated_bytes{0};
std::atomic<std::size_t> held_bytes{0};
std::atomic<std::size_t> most_held_bytes{0};
constinit thread_local std::uint32_t failing_allocation = 0;
std::atomic<std::uint32_t> failed_allocations{0};

static void* allocate(std::size_t bytes, std::size_t alignment) {
  if (failing_allocation > 0 && --failing_allocation == 0) {
    ++failed_allocations;
    throw std::bad_alloc{};
  }
  if (counting) {
    ++allocations;
    allocated_bytes += bytes;
  }
  const std::size_t rounded =
      (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* const data = std::aligned_alloc(alignment, rounded);
  if (data == nullptr) throw std::bad_alloc{};
  const std::size_t usable = malloc_usable_size(data), held = held_bytes += usable;
  for (std::size_t most = most_held_bytes; most < held;)
    if (most_held_bytes.compare_exchange_weak(most, held)) break;
  return data;
}

static void deallocate(void* data) noexcept {
  if (data != nullptr) held_bytes -= malloc_usable_size(data);
  std::free(data);
}

}  // namespace tutti::harness

void* operator new(std::size_t bytes) {
  return tutti::harness::allocate(bytes, alignof(std::max_align_t));
}
void* operator new[](std::size_t bytes) {
  return tutti::harness::allocate(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return tutti::harness::allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return tutti::harness::allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return operator new(bytes, std::nothrow);
}
void operator delete(void* data) noexcept {
  tutti::harness::deallocate(data);
}
void operator delete[](void* data) noexcept {
  tutti::harness::deallocate(data);
}
void operator delete(void* data, std::size_t) noexcept {
  tutti::harness::deallocate(data);
}
void operator delete[](void* data, std::size_t) noexcept {
  tutti::harness::deallocate(data);
}
void operator delete(void* data, std::align_val_t) noexcept {
  tutti::harness::deallocate(data);
}
void operator delete[](void* data, std::align_val_t) noexcept {
  tutti::harness::deallocate(data);
}
void operator delete(void* data, std::size_t, std::align_val_t) noexcept {
  tutti::harness::deallocate(data);
}
void operator delete[](void* data, std::size_t, std::align_val_t) noexcept {
  tutti::harness::deallocate(data);
}
