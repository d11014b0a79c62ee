#include "address_space.hpp"

#include <sys/mman.h>

namespace tutti::runtime {
namespace {

// Less shared memory would be of little use.
constexpr std::size_t kLeastBytes = std::size_t{64} << 20;

bool has_room(std::size_t bytes) noexcept {
  void* const base =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return false;
  munmap(base, bytes);
  return true;
}

}  // namespace

std::size_t mappable_bytes(std::size_t wanted, int ranks) noexcept {
  const std::size_t times = 2 * static_cast<std::size_t>(ranks);
  while (wanted > kLeastBytes && !has_room(times * wanted)) wanted /= 2;
  return wanted;
}

}  // namespace tutti::runtime
