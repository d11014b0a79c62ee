/// @file
/// Values of inputs and expected results, computed by plain loops that are independent of the
/// library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "perf/sweep/workload.hpp"

namespace tutti::perf {

/// Small whole numbers that depend on rank and position, such that every result is exact in the
/// datatype. They repeat after kPeriod elements. The period is a prime, so that a misplaced block
/// is detected.
class Pattern {
 public:
  /// Elements after which the numbers repeat.
  static constexpr std::size_t kPeriod = 4093;

  /// @param workload its datatype must not be opaque.
  explicit Pattern(const Workload& workload);

  /// Writes contributions. @param regions with their sources. @param buffer where offset 0 is.
  void fill(std::span<const Region> regions, std::byte* buffer);
  /// @param regions with their sources. @param buffer where offset 0 is. @return elements with a
  /// wrong value.
  [[nodiscard]] std::size_t count_wrong(std::span<const Region> regions, const std::byte* buffer);
  /// @return a hash of the values in the regions. @param buffer where offset 0 is.
  [[nodiscard]] std::uint64_t hash(std::span<const Region> regions, const std::byte* buffer) const;

 private:
  /// One period of a rank's contribution, or of the reduction, in the datatype.
  const std::vector<std::byte>& table(Rank source);

  Workload workload_;
  std::size_t element_bytes_;
  std::map<Rank, std::vector<std::byte>> tables_{};
};

}  // namespace tutti::perf
