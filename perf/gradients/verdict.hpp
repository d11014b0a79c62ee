/// @file
/// The best settings, and their distance from the ideal step.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "perf/gradients/measure.hpp"
#include "perf/statistics.hpp"

namespace tutti::perf {

/// The results of one setting. Times in seconds.
struct SettingResult {
  GradientSetting setting{};  ///< The setting.
  Quartiles serial{};         ///< Steps that communicate at the end.
  Quartiles overlapped{};     ///< Steps that communicate while they compute.
  /// Time that overlapped steps take longer than the step without communication of their round.
  Quartiles exposed{};
  /// Medians, with the ideal step. Differences are medians of the differences in each round, so a
  /// disturbance of a whole round cancels.
  StepTimes medians{};
  Comparison against_best{};      ///< Comparison of overlapped steps with the best setting.
  bool is_tie = false;            ///< Whether it ties with the best setting.
  std::size_t buckets = 0;        ///< Number of buckets.
  std::uint64_t sent_bytes = 0;   ///< See SettingTimes.
  std::uint64_t plain_bytes = 0;  ///< See SettingTimes.

  /// @return whether overlapped steps differ from the ideal one significantly and so much that this
  /// machine does not satisfy its assumptions.
  [[nodiscard]] bool is_far_from_ideal() const noexcept;
};

/// The results of all settings.
struct GradientVerdict {
  Quartiles computing{};                 ///< Steps without communication.
  std::size_t steps = 0;                 ///< Samples of each kind of step.
  std::vector<SettingResult> results{};  ///< Fastest first.

  /// @return the interquartile range of steps without communication.
  [[nodiscard]] double noise() const noexcept { return computing.high - computing.low; }
  /// @return whether the noise hides small differences.
  [[nodiscard]] bool is_noisy() const noexcept { return noise() > 0.05 * computing.median; }
};

/// @param times with at least one round. @param settings the measured ones.
[[nodiscard]] GradientVerdict judge(const GradientTimes& times,
                                    const std::vector<GradientSetting>& settings);

/// Fewest steps for which the paired test can find a difference. With fewer, two settings tie if
/// their interquartile ranges overlap.
inline constexpr std::size_t kFewestForTest = 8;

/// @return a sentence that summarises the verdict.
[[nodiscard]] std::string sentence_of(const GradientVerdict& verdict);

/// @return milliseconds with about three digits, such as "3.1".
[[nodiscard]] std::string format_ms(double seconds);

}  // namespace tutti::perf
