#include "address_space.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <limits>

namespace tutti::runtime {
namespace {

// Less shared memory would be of little use.
constexpr std::size_t kLeastBytes = std::size_t{64} << 20;

/// The thread sanitizer ends a program whose mapping lies between its own ones, where the system
/// puts a large one if nothing else has room.
#ifdef __has_feature
constexpr bool kIsThreadSanitized = __has_feature(thread_sanitizer);
#else
constexpr bool kIsThreadSanitized = false;
#endif
constexpr std::size_t kMostBytes =
    kIsThreadSanitized ? std::size_t{4} << 30 : std::numeric_limits<std::size_t>::max();

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
  wanted = std::min(wanted, kMostBytes);
  while (wanted > kLeastBytes && !has_room(times * wanted)) wanted /= 2;
  return wanted;
}

}  // namespace tutti::runtime
