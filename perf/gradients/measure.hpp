/// @file
/// Measures all settings in turn, round after round, so that disturbances of the machine affect all
/// of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "perf/gradients/alone.hpp"
#include "perf/gradients/metrics.hpp"
#include "perf/gradients/replay.hpp"

namespace tutti::perf {

/// Samples of one setting, one per round: the maximum over all ranks.
struct SettingTimes {
  /// Steps without communication: in each round the one right before this setting's steps.
  std::vector<double> computing_s{};
  std::vector<double> serial_s{};      ///< Steps that communicate at the end.
  std::vector<double> overlapped_s{};  ///< Steps that communicate while they compute.
  std::vector<double>
      communicating_s{};         ///< In serial steps: time during which a bucket was being reduced.
  std::uint64_t sent_bytes = 0;  ///< See StepReport; the maximum over all ranks.
  std::uint64_t plain_bytes = 0;      ///< See StepReport; the maximum over all ranks.
  std::vector<BucketCost> buckets{};  ///< For ideal_step, in seconds.
};

/// The results of a measurement, the same on all ranks.
struct GradientTimes {
  /// @return the number of complete rounds.
  [[nodiscard]] std::size_t rounds() const noexcept { return settings.front().overlapped_s.size(); }

  std::vector<double> computing_s{};     ///< Steps without communication, several per round.
  std::vector<SettingTimes> settings{};  ///< In the order of the options.
  bool is_interrupted = false;  ///< Whether a signal arrived; the last round may be incomplete.
};

/// Measures all settings. All methods are collective.
class GradientRounds {
 public:
  /// Prepares, and runs a step of each setting. All arguments must outlive this object. @param
  /// model with times.
  GradientRounds(Communicator& world, const Model& model, const GradientsOptions& options);

  /// @return about the time that run() takes.
  [[nodiscard]] double estimate_s() const noexcept { return estimate_s_; }
  /// @return the samples so far.
  [[nodiscard]] const GradientTimes& times() const noexcept { return times_; }
  /// Runs all rounds, or those before a signal. @param report called after each round with its
  /// number, from one.
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
  std::vector<std::vector<double>> ready_s_;  // by tensor and round
  double communicating_s_ = 0;                // in the last step
  double estimate_s_ = 0;
};

}  // namespace tutti::perf
