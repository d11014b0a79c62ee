/// @file
/// Random schedules: mostly correct ones, with patterns that the catalog does not have.
#pragma once

#include <cstdint>

#include "tests/proof/verify_samples.hpp"

namespace tutti::samples {

/// A reduce, all_reduce or reduce_scatter of a few ranks. Partial results meet in a random order,
/// in the caller's memory or in scratch; operands are received straight into folds or before them,
/// in pieces and in mixed listings; averages are finished with the fold, after it, or by who
/// receives them. Only where sides were exchanged on purpose is the order of ranks lost.
/// @param seed decides everything. @return the schedules.
[[nodiscard]] Sample random_reduction(std::uint64_t seed);

/// Other listings of the same steps: steps change places in a round, rounds are joined, runs are
/// cut. Some mean the same, some do not. @param sample what to change. @param seed decides
/// everything. @return the changed schedules.
[[nodiscard]] Sample relisted(Sample sample, std::uint64_t seed);

}  // namespace tutti::samples
