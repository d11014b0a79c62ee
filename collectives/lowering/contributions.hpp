/// @file
/// How many ranks' elements are in what a rank receives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <tutti/spi/schedule.hpp>

namespace tutti::v0::detail {

/// Counts contributions in the messages of one rank. Averages of f16 and bf16 need that: what
/// stands between two rounds is a sum of c contributions divided by the least power of two from c
/// up, so that it is in the range of the contributions, however many there are.
class Contributions {
 public:
  /// Plays the schedules of all ranks; of `rotational` ones, as Traits::rotational, that of `self`
  /// alone, since every message then has its like among its own.
  /// @param size number of ranks. @param self whose messages. @param build makes a rank's schedule.
  Contributions(int size, Rank self, bool rotational, const std::function<Schedule(Rank)>& build);

  /// @param step index among all steps of the rank's schedule: a receive. @return by slot.
  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t step) const {
    return std::span{counts_}.subspan(first_[step], first_[step + 1] - first_[step]);
  }
  /// @return bytes it holds.
  [[nodiscard]] std::size_t footprint() const noexcept {
    return sizeof(Contributions) + first_.capacity() * sizeof(std::size_t) +
           counts_.capacity() * sizeof(std::uint32_t);
  }

 private:
  std::vector<std::size_t> first_{};  // by step
  std::vector<std::uint32_t> counts_{};
};

/// @param contributions one or more. @return the power of two, as its logarithm, by which their sum
/// is divided between rounds.
[[nodiscard]] constexpr std::int8_t exponent_of(std::uint32_t contributions) noexcept {
  std::int8_t exponent = 0;
  while ((std::uint64_t{1} << exponent) < contributions) ++exponent;
  return exponent;
}

}  // namespace tutti::v0::detail
