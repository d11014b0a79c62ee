/// @file
/// The number of ranks whose elements are summed up in each received message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <tutti/spi/schedule.hpp>

namespace tutti::v0::detail {

/// Counts the contributions in the messages of one rank, for averages of f16 and bf16. Between two
/// rounds these keep a sum of c contributions divided by the least power of two that is not below
/// c, so that it stays in the range of the contributions.
class Contributions {
 public:
  /// Plays the schedules of all ranks. If they are `rotational`, as Traits::rotational, it plays
  /// that of `self` alone, whose messages then stand for those of all ranks.
  /// @param size number of ranks. @param self the rank whose messages are counted.
  /// @param build makes a rank's schedule.
  Contributions(int size, Rank self, bool rotational, const std::function<Schedule(Rank)>& build);

  /// @param step index of a receive among all steps of the rank's schedule. @return the
  /// contributions by slot.
  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t step) const {
    return std::span{counts_}.subspan(first_[step], first_[step + 1] - first_[step]);
  }
  /// @return its bytes of memory.
  [[nodiscard]] std::size_t footprint() const noexcept {
    return sizeof(Contributions) + first_.capacity() * sizeof(std::size_t) +
           counts_.capacity() * sizeof(std::uint32_t);
  }

 private:
  std::vector<std::size_t> first_{};  // by step
  std::vector<std::uint32_t> counts_{};
};

/// @param contributions one or more. @return the logarithm of the power of two by which their sum
/// is divided between rounds.
[[nodiscard]] constexpr std::int8_t exponent_of(std::uint32_t contributions) noexcept {
  std::int8_t exponent = 0;
  while ((std::uint64_t{1} << exponent) < contributions) ++exponent;
  return exponent;
}

}  // namespace tutti::v0::detail
