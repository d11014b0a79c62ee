/// @file
/// What a sweep writes to files: one row per cell as CSV, and JSON lines.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "perf/line_file.hpp"
#include "perf/sweep/verdict.hpp"

namespace tutti::perf {

/// One configuration, measured: the columns of the CSV file, and what only JSON has.
struct Cell {
  Workload workload{};        ///< What was measured.
  Measured measured{};        ///< The candidate; its samples are not written.
  Summary summary{};          ///< Of its samples.
  Comparison against_best{};  ///< Against the best of this size.
  Standing standing{};        ///< In the race of this size.
  std::string transport{};    ///< What carried it.
  std::string buffers{};      ///< Kind of memory.
  int hosts = 1;              ///< Hosts the ranks are spread over.
  bool graph = false;         ///< Whether calls were replayed by graphs of GPUs.
  std::string align{};        ///< Where arrays of the host begin; empty on GPUs.
  CallPattern pattern = CallPattern::back_to_back;  ///< How calls followed each other.

  /// @return algorithm bandwidth in 1e9 bytes per second.
  [[nodiscard]] double algbw_gb_s() const;
  /// @return bus bandwidth in 1e9 bytes per second.
  [[nodiscard]] double busbw_gb_s() const;
};

/// @return the header line of the CSV file, without the newline.
[[nodiscard]] std::string csv_header();
/// @param cell one configuration. @return its CSV line, without the newline.
[[nodiscard]] std::string csv_row(const Cell& cell);
/// @param cell one configuration. @return its JSON record.
[[nodiscard]] nlohmann::ordered_json json_of(const Cell& cell);

}  // namespace tutti::perf
