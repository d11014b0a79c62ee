/// @file
/// Earlier runs: their arguments, and their times to compare with.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "perf/sweep/record.hpp"

namespace tutti::perf {

/// The measurement settings of a file.
struct RecordedRun {
  std::vector<std::string> arguments{};  ///< Those that repeat the measurement.
  int ranks = 1;                         ///< Number of ranks.
  std::string mpi{};                     ///< The MPI that launched them; empty if none did.
};

/// @param path a file that --json wrote. @return how it was measured. Throws Failure{usage}.
[[nodiscard]] RecordedRun recorded_run(const std::string& path);

/// The cells of an earlier run.
class Baseline {
 public:
  /// Compares with nothing.
  Baseline() = default;
  /// Reads a file that --json wrote. Throws Failure{usage}, also where it was measured otherwise.
  /// @param path the file. @param touch whether buffers are touched between samples now.
  Baseline(const std::string& path, bool touch);

  /// Compares a cell with its earlier self. @param cell measured now. @param fail_over relative
  /// slowdown that matters. @return one line if it is slower by more than that and the intervals of
  /// the medians are disjoint.
  [[nodiscard]] std::optional<std::string> slower(const Cell& cell, double fail_over);
  /// @return cells that had an earlier self.
  [[nodiscard]] std::size_t matched() const noexcept { return matched_; }
  /// @return cells that had none.
  [[nodiscard]] std::size_t unmatched() const noexcept { return unmatched_; }

 private:
  std::vector<nlohmann::json> cells_{};
  std::size_t matched_ = 0;
  std::size_t unmatched_ = 0;
};

}  // namespace tutti::perf
