/// @file
/// Records of a sweep: one row per cell as CSV, and JSON lines.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "perf/line_file.hpp"
#include "perf/sweep/verdict.hpp"

namespace tutti::perf {

/// One measured configuration: the columns of the CSV file, and values that only JSON has.
struct Cell {
  Workload workload{};                              ///< The measured collective and size.
  Measured measured{};                              ///< The candidate; its samples are not written.
  Summary summary{};                                ///< Statistics of its samples.
  Comparison against_best{};                        ///< Comparison with the best of this size.
  Standing standing{};                              ///< Its place in the race of this size.
  std::string transport{};                          ///< Transport of its messages.
  std::string buffers{};                            ///< Kind of memory.
  int hosts = 1;                                    ///< Number of hosts of the ranks.
  bool graph = false;                               ///< Whether graphs of GPUs replayed the calls.
  std::string align{};                              ///< Start of arrays of the host; empty on GPUs.
  CallPattern pattern = CallPattern::back_to_back;  ///< How calls followed each other.

  /// @return algorithm bandwidth in 1e9 bytes per second.
  [[nodiscard]] double algbw_gb_s() const;
  /// @return bus bandwidth in 1e9 bytes per second.
  [[nodiscard]] double busbw_gb_s() const;
};

/// @return the header line of the CSV file, without the newline.
[[nodiscard]] std::string csv_header();
/// @return the line of the CSV file, without the newline.
[[nodiscard]] std::string csv_row(const Cell& cell);
/// @return the JSON record.
[[nodiscard]] nlohmann::ordered_json json_of(const Cell& cell);

}  // namespace tutti::perf
