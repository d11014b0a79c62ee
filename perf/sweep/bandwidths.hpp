/// @file
/// The table of a sweep on GPUs: a line per size and algorithm, with the columns of nccl-tests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perf/sweep/verdict.hpp"

namespace tutti::perf {

/// The samples of one size, and the verdict on them.
struct Raced {
  SizeResult result{};  ///< The samples.
  Verdict verdict{};    ///< The outcome.
};

/// One size, as nccl-tests measures it: out of place and in place. Both have the same candidates;
/// one of the two may be missing.
struct Halves {
  std::optional<Raced> out_of_place{};  ///< Input and output in different memory.
  std::optional<Raced> in_place{};      ///< Input and output in the same memory.
};

/// @return the lines above the numbers, without newlines.
[[nodiscard]] std::vector<std::string> bandwidth_heading();
/// @return the lines of one size, without newlines: native, auto, then the others, fastest first.
/// "-" stands for values that were not measured or not checked.
[[nodiscard]] std::vector<std::string> bandwidth_rows(const Halves& halves);

}  // namespace tutti::perf
