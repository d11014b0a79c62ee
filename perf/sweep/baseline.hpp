/// @file
/// Records of earlier runs: their arguments, and their times for comparison.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "perf/sweep/record.hpp"

namespace tutti::perf {

/// The measurement settings of a file.
struct RecordedRun {
  std::vector<std::string> arguments{};  ///< Arguments that repeat the measurement.
  int ranks = 1;                         ///< Number of ranks.
  std::string mpi{};                     ///< The MPI that launched them; empty if none did.
};

/// @param path a file that --json wrote. Throws Failure{usage}.
[[nodiscard]] RecordedRun recorded_run(const std::string& path);

/// The cells of an earlier run.
class Baseline {
 public:
  /// Has no cells.
  Baseline() = default;
  /// Reads a file that --json wrote. Throws Failure{usage}, also if it was measured with another
  /// `touch`. @param touch whether buffers are touched between samples.
  Baseline(const std::string& path, bool touch);

  /// Compares a cell with the same configuration of the earlier run. @param fail_over allowed
  /// relative slowdown. @return one line if the cell is slower by more than that and the intervals
  /// of the medians are disjoint.
  [[nodiscard]] std::optional<std::string> slower(const Cell& cell, double fail_over);
  /// @return the number of cells that the earlier run has.
  [[nodiscard]] std::size_t matched() const noexcept { return matched_; }
  /// @return the number of cells that it lacks.
  [[nodiscard]] std::size_t unmatched() const noexcept { return unmatched_; }

 private:
  std::vector<nlohmann::json> cells_{};
  std::size_t matched_ = 0;
  std::size_t unmatched_ = 0;
};

}  // namespace tutti::perf
