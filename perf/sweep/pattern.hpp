/// @file
/// The numbers a sweep sends, and the numbers it must get back, by plain loops of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "perf/sweep/workload.hpp"

namespace tutti::perf {

/// Small whole numbers that depend on rank and position, such that every result is exact in the
/// datatype. They repeat after kPeriod elements, a prime, so that no misplaced block fits.
class Pattern {
 public:
  /// Elements after which the numbers repeat.
  static constexpr std::size_t kPeriod = 4093;

  /// @param workload what is measured; the datatype must not be opaque.
  explicit Pattern(const Workload& workload);

  /// Writes contributions. @param regions where, of which ranks. @param buffer where offset 0 is.
  void fill(std::span<const Region> regions, std::byte* buffer);
  /// @param regions what must stand there. @param buffer where offset 0 is. @return elements that
  /// differ.
  [[nodiscard]] std::size_t count_wrong(std::span<const Region> regions, const std::byte* buffer);
  /// @param regions which elements. @param buffer where offset 0 is. @return a hash of their
  /// values.
  [[nodiscard]] std::uint64_t hash(std::span<const Region> regions, const std::byte* buffer) const;

 private:
  // One period of a rank's contribution, or of the reduction, laid out in the datatype.
  const std::vector<std::byte>& table(Rank source);

  Workload workload_;
  std::size_t element_bytes_;
  std::map<Rank, std::vector<std::byte>> tables_{};
};

}  // namespace tutti::perf
