// Own file: where a compiler sees both the replaced operators and their use, it warns of a
// mismatch.
#include "scarce_new.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace tutti::shm {

std::atomic<int> until_failure{-1};

}  // namespace tutti::shm

void* operator new(std::size_t bytes) {
  using tutti::shm::until_failure;
  if (until_failure >= 0 && until_failure-- == 0) throw std::bad_alloc{};
  void* const data = std::malloc(bytes == 0 ? 1 : bytes);
  if (data == nullptr) throw std::bad_alloc{};
  return data;
}
void operator delete(void* data) noexcept {
  std::free(data);
}
void operator delete(void* data, std::size_t) noexcept {
  std::free(data);
}
