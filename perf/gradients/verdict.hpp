/// @file
/// Which settings are best, and how far from ideal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "perf/gradients/measure.hpp"
#include "perf/statistics.hpp"

namespace tutti::perf {

/// One setting, measured. Times in seconds.
struct SettingResult {
  GradientSetting setting{};  ///< What was measured.
  Quartiles serial{};         ///< Of steps that communicate at the end.
  Quartiles overlapped{};     ///< Of steps that communicate meanwhile.
  /// By how much overlapped steps take longer than the step without communication of their round.
  Quartiles exposed{};
  /// With the ideal step. Differences are medians of those in each round, so what slows a round
  /// down as a whole is in none of them.
  StepTimes medians{};
  Comparison against_best{};      ///< Of overlapped steps.
  bool is_tie = false;            ///< Whether it is not the best one, but as good.
  std::size_t buckets = 0;        ///< Of its plan.
  std::uint64_t sent_bytes = 0;   ///< See SettingTimes.
  std::uint64_t plain_bytes = 0;  ///< See SettingTimes.

  /// @return whether overlapped steps are so far from the ideal one, by more than chance, that this
  /// machine does not do what it assumes.
  [[nodiscard]] bool is_far_from_ideal() const noexcept;
};

/// Everything that was measured.
struct GradientVerdict {
  Quartiles computing{};                 ///< Of steps without communication.
  std::size_t steps = 0;                 ///< Samples of each kind of step.
  std::vector<SettingResult> results{};  ///< The fastest first, so that the first one is best.

  /// @return by how much the middle half of steps without communication varies.
  [[nodiscard]] double noise() const noexcept { return computing.high - computing.low; }
  /// @return whether that is much, so that small differences mean little.
  [[nodiscard]] bool is_noisy() const noexcept { return noise() > 0.05 * computing.median; }
};

/// @param times with one round at least. @param settings those that were measured.
/// @return the verdict.
[[nodiscard]] GradientVerdict judge(const GradientTimes& times,
                                    const std::vector<GradientSetting>& settings);

/// Fewest steps with which the paired test can find a difference. With fewer, settings are as good
/// where the middle halves of their steps overlap.
inline constexpr std::size_t kFewestForTest = 8;

/// @param verdict any. @return what it comes to, in a sentence.
[[nodiscard]] std::string sentence_of(const GradientVerdict& verdict);

/// @param seconds a time. @return it in milliseconds with about three digits, such as "3.1".
[[nodiscard]] std::string format_ms(double seconds);

}  // namespace tutti::perf
