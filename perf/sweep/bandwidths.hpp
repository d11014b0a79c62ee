/// @file
/// The table of a sweep on GPUs: a line per size and algorithm, with the columns of nccl-tests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perf/sweep/verdict.hpp"

namespace tutti::perf {

/// One size, measured, and what came of it.
struct Raced {
  SizeResult result{};  ///< The samples.
  Verdict verdict{};    ///< The outcome.
};

/// One size as nccl-tests has it. Both have the same candidates; one of them is there.
struct Halves {
  std::optional<Raced> out_of_place{};  ///< Input and output apart, or nothing.
  std::optional<Raced> in_place{};      ///< Input and output in the same memory, or nothing.
};

/// @return the lines above the numbers, without newlines.
[[nodiscard]] std::vector<std::string> bandwidth_heading();
/// @param halves of one size. @return its lines, without newlines: native, auto, then the fastest
/// first. What was not measured, or not checked, is "-".
[[nodiscard]] std::vector<std::string> bandwidth_rows(const Halves& halves);

}  // namespace tutti::perf
