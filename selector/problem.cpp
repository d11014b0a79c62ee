#include "problem.hpp"

#include <numeric>

namespace tutti::v0::detail {

std::size_t Problem::bytes() const noexcept {
  constexpr std::size_t kAssumed = std::size_t{64} << 10;
  if (own_counts) return contract.blocks() * kAssumed;
  std::size_t elements = count * contract.blocks();
  if (!counts.empty()) elements = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  return elements * element_bytes;
}

}  // namespace tutti::v0::detail
