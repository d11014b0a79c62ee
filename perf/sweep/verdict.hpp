/// @file
/// The fastest candidate of one size, its margin, and whether the margin is significant.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "perf/statistics.hpp"
#include "perf/sweep/measure.hpp"

namespace tutti::perf {

/// The place of a candidate in the race.
enum class Standing : std::uint8_t {
  best,    ///< Least median.
  tie,     ///< Not significantly, or not relevantly, slower than the best.
  slower,  ///< Slower than the best.
  absent   ///< Not measured.
};

/// @return the name.
[[nodiscard]] std::string_view name_of(Standing standing) noexcept;

/// The outcome of one size. Indices are those of SizeResult::measured.
struct Verdict {
  std::vector<Summary>
      summaries{};  ///< Statistics of each candidate; `samples` is 0 without samples.
  std::vector<Comparison> against_best{};  ///< Comparison of each candidate with the best.
  std::vector<Standing> standings{};       ///< Place of each candidate.
  std::optional<std::size_t> best{};       ///< Fastest of the algorithms and native.
  std::optional<std::size_t> ours{};       ///< Fastest without native.
  std::optional<double> ours_vs_native{};  ///< Native's time divided by that of `ours`.
  std::optional<double> auto_vs_native{};  ///< Native's time divided by that of auto.
  std::optional<double>
      auto_loss{};  ///< Auto's time divided by that of `ours`, minus 1; 0 in a tie.

  std::vector<std::size_t> equals{};  ///< Other candidates that tie with the best.

  /// @return whether another candidate equals the best, so that there is no winner.
  [[nodiscard]] bool is_tie() const { return !equals.empty(); }
};

/// Compares the candidates. `auto` runs one of the other algorithms, so it is in the race only if
/// none of them is. @return an empty verdict without samples.
[[nodiscard]] Verdict judge(const SizeResult& result);

}  // namespace tutti::perf
