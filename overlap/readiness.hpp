/// @file
/// The gradients of a step that are ready.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gradient_plan.hpp"
#include "step_handover.hpp"
#include "step_problem.hpp"
#include "sync_setup.hpp"

namespace tutti::v0::detail {

/// Counts the gradients that buckets still need, and keeps which gradients a step uses. The
/// program's threads mark gradients without a lock; GradientSync's thread reads counts.
class Readiness {
 public:
  using Clock = std::chrono::steady_clock;
  /// All arguments outlive this.
  Readiness(const SyncSetup& setup, const GradientPlan& plan, StepProblem& problem,
            StepHandover& handover);

  /// See GradientSync::accumulated. Any thread may call this.
  void accumulated(std::size_t parameter) noexcept;
  /// See GradientSync::ready. Any thread may call this.
  void ready(std::size_t parameter) noexcept;

  // For the program's thread.

  /// Adapts to another plan.
  void adopt_plan();
  /// To be called before each step.
  void reset() noexcept;
  /// @param is_observing whether the order in which gradients become ready is kept.
  void observe(bool is_observing) noexcept { is_observing_ = is_observing; }
  [[nodiscard]] bool is_observing() const noexcept { return is_observing_; }
  /// @return parameters in the order in which they became ready.
  [[nodiscard]] std::vector<std::size_t> arrival_order() const;
  /// Notes a problem if gradients are ready, since join would replace them by zeros.
  void check_join() noexcept;
  /// Makes all gradients ready. @param is_active as of StepHandover::wait.
  void complete(bool is_active) noexcept;
  /// @return the first ready parameter, if there is one.
  [[nodiscard]] std::optional<std::size_t> first_ready() const noexcept;
  /// Moves out the times at which parameters became ready. @param times by parameter; the epoch if
  /// it was not ready.
  void move_times(std::span<Clock::time_point> times) noexcept;

  // For GradientSync's thread.

  /// @return whether all gradients of a bucket are ready.
  [[nodiscard]] bool is_full(std::size_t bucket) const noexcept {
    return missing_[bucket].load(std::memory_order_acquire) == 0;
  }
  /// @param parameter in a bucket. @return whether this rank has written it in this step.
  [[nodiscard]] bool is_used(std::size_t parameter) const noexcept {
    return is_used_[parameter] != 0;
  }
  /// Notes that the program's stream cannot be followed. The step must be cut short.
  void note_unmarked(const Error& cause) noexcept;

 private:
  void count_down(std::size_t bucket) noexcept;

  const SyncSetup& setup_;
  const GradientPlan& plan_;
  StepProblem& problem_;
  StepHandover& handover_;
  bool is_observing_ = false;
  // By bucket: the number of gradients that are not ready, and on a GPU one for its mark.
  std::vector<std::atomic<std::uint32_t>> missing_;
  // By parameter: 0 if it is not ready; observed numbers grow in the order of ready.
  std::vector<std::atomic<std::uint32_t>> arrivals_;
  std::atomic<std::uint32_t> arrived_{0};
  std::vector<std::atomic<std::uint8_t>> is_accumulated_;  // by parameter: since the last step
  std::vector<std::uint8_t> is_used_;                      // by parameter in a bucket
  std::vector<std::uint8_t> was_missing_;    // by parameter: whether complete() made it ready
  std::vector<std::uint32_t> unused_names_;  // by parameter in a bucket
  std::vector<std::atomic<Clock::rep>> ready_times_;  // by parameter, if steps are recorded
};

}  // namespace tutti::v0::detail
