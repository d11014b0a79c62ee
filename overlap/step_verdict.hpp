/// @file
/// The use of a step's reduced gradients, on which all ranks agree.
#pragma once

#include <vector>

#include "bucket_reduction.hpp"
#include "step_problem.hpp"
#include "sync_setup.hpp"

namespace tutti::v0::detail {

/// Adds up the findings of a step. All ranks agree on whether its gradients are used, and on the
/// factor of GradientOptions::max_norm, before any gradient is used.
class StepVerdict {
 public:
  /// Both arguments outlive this.
  StepVerdict(SyncSetup& setup, StepProblem& problem) : setup_{setup}, problem_{problem} {}

  /// Adapts to another plan, while no reduction runs.
  void adopt_plan(std::size_t buckets) { own_.resize(buckets); }
  /// To be called before each step.
  void reset() noexcept;
  /// @return the findings of one bucket.
  [[nodiscard]] Findings& of(std::size_t bucket) noexcept { return own_[bucket]; }
  /// Adds up the findings of all buckets. On a GPU the host waits for them, if an option needs
  /// them. @param is_cut_short whether buckets were not reduced.
  void sum_up(bool is_cut_short);
  /// @return the sum of findings. Needs sum_up() or agree().
  [[nodiscard]] const Findings& findings() const noexcept { return findings_; }

  /// Agrees on the verdict. Collective. @param is_active as of StepHandover::wait.
  void agree(bool is_active);
  /// @return whether on_shard waits for the agreement.
  [[nodiscard]] bool is_pending() const noexcept {
    return holds_shards(setup_.options) && !is_agreed_;
  }
  /// @return whether gradients are used: true without an agreement.
  [[nodiscard]] bool is_good() const noexcept { return is_good_; }
  /// @return the factor of all gradients.
  [[nodiscard]] double factor() const noexcept { return factor_; }

 private:
  SyncSetup& setup_;
  StepProblem& problem_;
  std::vector<Findings> own_{};  // by bucket
  Findings findings_{};
  bool is_agreed_ = false;
  bool is_good_ = true;
  double factor_ = 1;
};

}  // namespace tutti::v0::detail
