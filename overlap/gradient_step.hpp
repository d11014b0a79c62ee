/// @file
/// The reductions of a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <tutti/request.hpp>

#include "bucket_reduction.hpp"
#include "bucket_sequence.hpp"
#include "gradient_buckets.hpp"
#include "readiness.hpp"
#include "step_handover.hpp"
#include "step_problem.hpp"
#include "step_reporter.hpp"
#include "step_verdict.hpp"
#include "sync_setup.hpp"

namespace tutti::v0::detail {

/// Reduces the buckets of a step one after the other, several at a time, and calls the program's
/// functions for them. Used by GradientSync's thread, except for calls between steps.
class GradientStep {
 public:
  /// All arguments outlive this.
  GradientStep(SyncSetup& setup, GradientBuckets& buckets, Readiness& readiness,
               StepHandover& handover, StepProblem& problem, StepReporter& reporter);

  /// To be called between steps. @param is_compressed whether GradientOptions::compression holds.
  void make_reductions(bool is_compressed);
  /// To be called before each step.
  void reset() noexcept { verdict_.reset(); }
  /// Reduces all buckets. @return whether that is done, and the program waits for the step; false
  /// at the end of GradientSync.
  [[nodiscard]] bool reduce_all(std::uint32_t step);
  /// Gives the program the results that had to wait for all buckets. Collective. @param inspects
  /// whether the host reads reduced gradients or their findings.
  void complete(bool inspects);
  /// Multiplies all results. @param factor as of StepOutcome::mean_factor.
  void rescale(double factor);
  /// Throws Error{aborted} if a callback has destroyed the GradientSync.
  void check_callbacks() const;
  /// To be called when a callback, which runs in this thread, destroys the GradientSync.
  void destroy() noexcept { is_destroyed_ = true; }

  /// @return the buckets in the order in which they started.
  [[nodiscard]] std::span<const std::size_t> sequence() const noexcept {
    return sequence_.buckets();
  }
  /// @return whether a gradient was not marked on the stream, so that buckets are not reduced.
  [[nodiscard]] bool is_cut_short() const noexcept { return is_cut_short_; }
  /// @return the bucket that this rank waits for, if there is one.
  [[nodiscard]] std::optional<std::size_t> awaited() const noexcept { return awaited_; }
  /// @return the first own gradient that is not finite, if check_finite has found one.
  [[nodiscard]] std::optional<std::size_t> own_not_finite() const noexcept {
    return own_not_finite_;
  }
  [[nodiscard]] StepVerdict& verdict() noexcept { return verdict_; }
  /// @return elements that the reduction of a bucket keeps from step to step.
  [[nodiscard]] std::vector<KeptElements> kept(std::size_t bucket) const {
    return reductions_[bucket].reduction->kept();
  }

 private:
  /// The reduction of a bucket.
  struct RunningReduction {
    std::unique_ptr<BucketReduction> reduction{};
    Request request{};
  };
  /// The numbers of buckets of the sequence that have reached each state.
  struct SequenceProgress {
    std::size_t begun = 0;   // first collective started
    std::size_t seen = 0;    // first collective ended, block inspected
    std::size_t middle = 0;  // second collective started, if there is one
    std::size_t ended = 0;   // result stored
  };

  [[nodiscard]] BucketContext context_of(std::size_t bucket, bool is_compressed);
  [[nodiscard]] bool advance(SequenceProgress& progress);
  void begin(std::size_t bucket);
  void end(std::size_t bucket);
  template <class Function>
  bool call(const char* name, Function function) noexcept;
  void call_on_bucket(std::size_t bucket, std::span<const std::size_t> parameters) noexcept;
  void call_on_shard(std::size_t bucket, const Block& block, std::byte* own);
  void agree_on_cut();
  void clip();
  void agree_on_used();
  void store_used();

  SyncSetup& setup_;
  GradientBuckets& buckets_;
  Readiness& readiness_;
  StepHandover& handover_;
  StepProblem& problem_;
  StepReporter& reporter_;
  BucketSequence sequence_;
  StepVerdict verdict_;
  std::vector<RunningReduction> reductions_{};     // by bucket
  std::vector<std::uint8_t> is_used_somewhere_{};  // by parameter: on a rank of its group
  std::optional<std::size_t> awaited_{};
  std::optional<std::size_t> own_not_finite_{};
  bool is_cut_short_ = false;
  bool is_destroyed_ = false;
};

}  // namespace tutti::v0::detail
