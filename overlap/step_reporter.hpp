/// @file
/// The times and reports of steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "gradient_buckets.hpp"
#include "readiness.hpp"
#include "step_outcome.hpp"
#include "sync_setup.hpp"

namespace tutti::v0::detail {

/// The times of a bucket's reduction.
struct BucketTimes {
  using Time = std::chrono::steady_clock::time_point;
  Time begun{};   ///< The start of its first collective.
  Time middle{};  ///< The end of its first collective.
  Time ended{};   ///< The time at which it had its result.
};

/// The times of a step.
struct StepTimes {
  using Time = BucketTimes::Time;
  std::uint64_t step = 0;  ///< Counted from one.
  Time began{};
  Time waited{};                       ///< The call of wait.
  Time ended{};                        ///< Its return.
  std::vector<Time> ready{};           ///< By parameter; the epoch if it was not ready.
  std::vector<BucketTimes> buckets{};  ///< By bucket.
};

/// Measures the steps of this rank, and makes their reports.
class StepReporter {
 public:
  /// @param setup outlives this.
  explicit StepReporter(const SyncSetup& setup) : setup_{setup} {}

  /// @return the report of the last step; while a step ends, of that one.
  [[nodiscard]] StepReport& report() noexcept { return report_; }
  [[nodiscard]] const StepReport& report() const noexcept { return report_; }
  [[nodiscard]] const std::vector<BucketReport>& buckets() const noexcept {
    return bucket_reports_;
  }
  [[nodiscard]] const std::deque<StepTimes>& recorded() const noexcept { return recorded_; }
  /// @return the number of the current step.
  [[nodiscard]] std::uint64_t step() const noexcept { return next_.step; }
  /// @return whether the step that ends is one of every `steps`.
  [[nodiscard]] bool is_every(int steps) const noexcept {
    return steps > 0 && report_.step % static_cast<std::uint64_t>(steps) == 0;
  }

  // For the program's thread.

  /// Makes `step` + 1 the next step.
  void restart(std::uint64_t step) { report_ = {.step = step}; }
  void reset() noexcept { next_ = {.step = report_.step + 1}; }
  void begin_step() noexcept { began_ = Clock::now(); }
  void begin_wait() noexcept { waited_ = Clock::now(); }
  /// Keeps the times of the step, in the memory that begin_report has allocated.
  void record(Readiness& readiness) noexcept;

  // For GradientSync's thread.

  void begin_bucket(std::size_t bucket) noexcept { times_[bucket] = {.begun = Clock::now()}; }
  void add_bytes(std::uint64_t sent, std::uint64_t plain) noexcept {
    next_.sent_bytes += sent;
    next_.plain_bytes += plain;
  }
  void end_first_half(std::size_t bucket) noexcept { times_[bucket].middle = Clock::now(); }
  void end_bucket(std::size_t bucket) noexcept;
  /// Adapts to another plan.
  void adopt_plan(std::size_t buckets) { times_.assign(buckets, {}); }
  /// Begins the report of the step that ends. Allocates all memory before ranks agree.
  void begin_report();
  /// @return seconds from the last agreement of ranks to wait.
  [[nodiscard]] double seconds_to_wait() const noexcept {
    return std::chrono::duration<double>(waited_ - synchronized_).count();
  }
  /// To be called when ranks have just agreed, which they find at the same time.
  void synchronize() noexcept { synchronized_ = Clock::now(); }
  /// @param ending sums of all ranks. @param sequence the buckets in the order of their starts.
  void end_report(StepOutcome& ending, GradientBuckets& buckets,
                  std::span<const std::size_t> sequence);

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] Duration communicating_within(std::span<const std::size_t> sequence,
                                              Clock::time_point begin, Clock::time_point end) const;

  const SyncSetup& setup_;
  StepReport report_{};
  StepReport next_{};  // of the current step
  std::vector<BucketReport> bucket_reports_{};
  std::vector<BucketTimes> times_{};  // by bucket
  std::deque<StepTimes> recorded_{};
  bool is_recording_ = false;  // whether the last recorded step is this one
  Clock::time_point began_ = Clock::now();
  Clock::time_point waited_{};
  Clock::time_point synchronized_{};
  Clock::time_point last_ended_{};  // the end of the last bucket
};

}  // namespace tutti::v0::detail
