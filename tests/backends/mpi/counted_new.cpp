// Own file: where a compiler sees both the replaced operators and their use, it warns of a
// mismatch.
#include "counted_new.hpp"

#include <cstdlib>
#include <new>

static thread_local std::size_t counted = 0;

std::size_t tutti::test::allocations() noexcept {
  return counted;
}

void* operator new(std::size_t bytes) {
  ++counted;
  if (void* const data = std::malloc(bytes)) return data;
  throw std::bad_alloc{};
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* data) noexcept {
  std::free(data);
}
void operator delete(void* data, std::size_t) noexcept {
  std::free(data);
}
