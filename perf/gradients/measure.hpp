/// @file
/// Steps of all settings by turns, round after round, so that whatever happens to the machine
/// happens to all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "perf/gradients/alone.hpp"
#include "perf/gradients/metrics.hpp"
#include "perf/gradients/replay.hpp"

namespace tutti::perf {

/// Samples of one setting, one for each round: each the greatest of all ranks.
struct SettingTimes {
  /// Steps without communication: of each round the one right before this setting's.
  std::vector<double> computing_s{};
  std::vector<double> serial_s{};         ///< Steps that communicate at the end.
  std::vector<double> overlapped_s{};     ///< Steps that communicate meanwhile.
  std::vector<double> communicating_s{};  ///< Of the serial ones: while a bucket was under way.
  std::uint64_t sent_bytes = 0;           ///< See StepReport, of the rank that sent most.
  std::uint64_t plain_bytes = 0;          ///< See StepReport, likewise.
  std::vector<BucketCost> buckets{};      ///< For ideal_step, in seconds.
};

/// What was measured. The same on all ranks.
struct GradientTimes {
  /// @return rounds that are complete.
  [[nodiscard]] std::size_t rounds() const noexcept { return settings.front().overlapped_s.size(); }

  std::vector<double> computing_s{};     ///< Steps without communication, several in a round.
  std::vector<SettingTimes> settings{};  ///< In the order of the options.
  bool is_interrupted = false;           ///< Whether a signal came; the last round may be missing.
};

/// Measures. All methods are collective.
class GradientRounds {
 public:
  /// Makes everything ready, and runs a step of each setting. @param world the ranks. @param model
  /// with times. @param options see there. All must live.
  GradientRounds(Communicator& world, const Model& model, const GradientsOptions& options);

  /// @return about how long run takes.
  [[nodiscard]] double estimate_s() const noexcept { return estimate_s_; }
  /// @return what came of it so far.
  [[nodiscard]] const GradientTimes& times() const noexcept { return times_; }
  /// Runs all rounds, or as many as there are before a signal.
  /// @param report called after each of them with its number, from one.
  void run(const std::function<void(std::size_t)>& report);

 private:
  double prepare(std::size_t setting);
  double step(StepKind kind, std::size_t setting);
  void round(std::size_t number, bool counts);
  double step_computing(bool counts);
  void step_setting(std::size_t setting, bool is_serial_first, bool counts);
  void measure_alone(std::size_t setting);
  void find_costs();

  Communicator& world_;
  const Model& model_;
  const GradientsOptions& options_;
  Replay replay_;
  AloneTimes alone_;
  GradientTimes times_{};
  std::vector<std::vector<double>> ready_s_;  // of each tensor, one for each round
  double communicating_s_ = 0;                // in the last step
  double estimate_s_ = 0;
};

}  // namespace tutti::perf
