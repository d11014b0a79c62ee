#include "dropin/engine/same_calls.hpp"

#include <algorithm>
#include <array>

namespace tutti::dropin {

void SameCalls::add(const SimilarCalls& calls) noexcept {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  const auto collective = static_cast<std::uint64_t>(calls.collective) + 1;
  const std::uint64_t call = collective << 56U ^ calls.bytes.value_or(0);
  digest_ = (digest_ ^ call) * kGoldenRatio;
  digest_ ^= digest_ >> 32U;
}

bool SameCalls::are_same(Communicator& communicator) {
  const auto now = std::chrono::steady_clock::now();
  const auto nanoseconds = static_cast<std::uint64_t>((now - since_) / std::chrono::nanoseconds{1});
  std::array<std::uint64_t, 3> least{digest_, ~digest_, ~nanoseconds};
  communicator.all_reduce(least, min);
  const bool is_quick = ~least[2] < between_ * kNanosecondsOfQuickCall;  // of the slowest rank
  between_ = is_quick ? std::min(2 * between_, kMostBetween) : kLeastBetween;
  left_ = between_;
  since_ = now;
  return least[0] == ~least[1];
}

}  // namespace tutti::dropin
