/// @file
/// Plain calls that were timed when a world first started on a machine. They state how long a call
/// takes there, and do not affect the choice of its algorithm.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "tuning.hpp"

namespace tutti::v0::detail {

/// The collectives that are timed.
inline constexpr std::array kTimedCollectives{Collective::broadcast, Collective::reduce,
                                              Collective::all_gather, Collective::all_reduce};

/// @return the timed collective that moves and reduces data in the same directions: one way as
/// broadcast and reduce, or between all ranks as all_gather and all_reduce.
[[nodiscard]] Collective timed_like(Collective collective) noexcept;

/// @param timed a file of timed calls. @param place of a call. @return the table of timed_like()
/// its collective, with the nearest number of ranks; null if there is none.
[[nodiscard]] const TunedTable* find_timed(const Tuning& timed, const TunedPlace& place) noexcept;

/// The factor between the predicted cost of a call and its time.
struct TimeFactor {
  std::size_t bytes = 0;  ///< Of the whole vector.
  double factor = 1;      ///< Measured time over predicted cost.
};

/// @param factors of at least one size, ascending. @param bytes of the whole vector. @return the
/// factor at this size: interpolated between two sizes, over logarithms; beyond all sizes that of
/// the nearest.
[[nodiscard]] double factor_at(std::span<const TimeFactor> factors, std::size_t bytes) noexcept;

}  // namespace tutti::v0::detail
