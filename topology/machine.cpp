#include "machine.hpp"

namespace tutti::v0 {

LinkSpeed speed_of_level(int level) noexcept {
  constexpr Femtoseconds kNanosecond = 1'000'000;
  switch (level) {
    case 0: return {.latency = 20 * kNanosecond, .per_byte = 80'000};
    case 1: return {.latency = 40 * kNanosecond, .per_byte = 20'000};
    default: return {.latency = 60 * kNanosecond, .per_byte = 40'000};
  }
}

}  // namespace tutti::v0
