/// @file
/// Comparisons of ranks, and the error of a step.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <tutti/gradient_sync.hpp>

#include "gradient_buckets.hpp"
#include "gradient_step.hpp"
#include "step_outcome.hpp"
#include "step_problem.hpp"
#include "sync_setup.hpp"

namespace tutti::v0::detail {

/// A difference between ranks whose bytes should be equal.
struct RankDifference {
  std::string text{};
  Rank rank = -1;  ///< The first rank that differs from most, among all ranks; -1: no majority.
};

/// Compares the values of ranks, and finds the one error of a void step. All calls are collective.
class StepChecks {
 public:
  /// All arguments outlive this.
  StepChecks(SyncSetup& setup, GradientBuckets& buckets, StepProblem& problem)
      : setup_{setup}, buckets_{buckets}, problem_{problem} {}

  /// Compares bytes that should be equal.
  [[nodiscard]] std::optional<RankDifference> difference_in(Communicator& ranks,
                                                            std::span<const std::byte> bytes);
  /// Compares an array that should be equal on the ranks of its group. @param what for the text.
  [[nodiscard]] std::optional<RankDifference> difference_in(const Parameter& array,
                                                            const std::string& what);
  /// Compares reduced gradients and GradientOptions::state. Notes a problem.
  void verify();
  /// Notes problems that all ranks find in the sums. @param report of the step.
  /// @return the error of the step, if it is void, equal on all ranks.
  [[nodiscard]] std::optional<Error> error_of(StepOutcome& ending, GradientStep& step,
                                              StepReport& report);

 private:
  [[nodiscard]] std::optional<Error> agreed_problem(std::uint64_t step);
  [[nodiscard]] std::size_t first_not_finite(std::size_t bucket, const Findings& findings);
  [[nodiscard]] Error error_of_not_finite(double count, GradientStep& step, StepReport& report);

  SyncSetup& setup_;
  GradientBuckets& buckets_;
  StepProblem& problem_;
};

}  // namespace tutti::v0::detail
