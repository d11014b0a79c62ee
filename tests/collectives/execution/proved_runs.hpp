/// @file
/// Holds execution to proofs: what the verifier proves about schedules must show when they run.
#pragma once

#include <cstdint>

#include "tests/proof/verify_samples.hpp"

namespace tutti::harness {

/// Makes schedules; the seed decides everything.
using Generator = samples::Sample (*)(std::uint64_t seed);

/// The outcome of many schedules.
struct Survey {
  int seen = 0;            ///< Schedules judged.
  int proved = 0;          ///< Proved, and run.
  int ordered = 0;         ///< Those proved `ordered`.
  int rank_identical = 0;  ///< All_reduces proved `rank_identical`.
  int size_invariant = 0;  ///< Reductions proved `size_invariant`.
};

/// Judges the schedules that a generator makes of the seeds from `first` on, and runs those that
/// are proved: in place and out of place, with unequal blocks, as one and in segments; with an
/// operator that does not commute where they are `ordered`, and with averages of f16, whose every
/// rounding shows, where they promise equal bits. A difference is a test failure.
/// @param make gives the schedules. @param first seed. @param count how many. @return the numbers.
[[nodiscard]] Survey survey(Generator make, std::uint64_t first, std::uint64_t count);

/// @param seed which row of the catalog, on how many ranks, with which root, and which change.
/// @return its schedules, changed or listed otherwise.
[[nodiscard]] samples::Sample mutant_of_catalog(std::uint64_t seed);

/// @param seed of the reduction and of the change. @return the schedules.
[[nodiscard]] samples::Sample mutant_of_random_reduction(std::uint64_t seed);

}  // namespace tutti::harness
