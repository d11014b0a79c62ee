#include "dropin/engine/same_calls.hpp"

#include <algorithm>
#include <array>

namespace tutti::dropin {

bool SameCalls::begin() noexcept {
  if (--left_ > 0) return false;
  between_ = std::min(2 * between_, kMostBetween);
  left_ = between_;
  return true;
}

void SameCalls::add(const SimilarCalls& calls) noexcept {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  const auto collective = static_cast<std::uint64_t>(calls.collective) + 1;
  const std::uint64_t call = collective << 56U ^ calls.bytes.value_or(0);
  digest_ = (digest_ ^ call) * kGoldenRatio;
  digest_ ^= digest_ >> 32U;
}

bool SameCalls::are_same(MPI_Comm comm) const {
  const std::array<std::uint64_t, 3> own{digest_, ~digest_, differs_ ? 0U : 1U};
  std::array<std::uint64_t, 3> least{};
  PMPI_Allreduce(own.data(), least.data(), 3, MPI_UINT64_T, MPI_MIN, comm);
  return least[0] == ~least[1] && least[2] == 1;
}

}  // namespace tutti::dropin
