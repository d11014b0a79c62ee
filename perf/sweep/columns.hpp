/// @file
/// The table of a sweep in the columns of OSU's micro-benchmarks or of nccl-tests, for scripts that
/// read those. It shows one candidate: `auto`, or the first one if `auto` takes no part.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "perf/sweep/bandwidths.hpp"

namespace tutti::perf {

/// Lines of text, without newlines. Rows of a collective follow its heading.
class Columns {
 public:
  Columns() = default;
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;
  virtual ~Columns() = default;

  /// @param workload the first of a collective, or of messages. @return the lines above its rows.
  [[nodiscard]] virtual std::vector<std::string> heading(const Workload& workload) = 0;
  /// @return the line of a size; empty if nothing was measured.
  [[nodiscard]] virtual std::string row(const Halves& halves) = 0;
  /// @return the lines below the rows of a collective.
  [[nodiscard]] virtual std::vector<std::string> end() { return {}; }
};

/// @param format "osu" or "nccl-tests". @return its columns; null for another format.
[[nodiscard]] std::unique_ptr<Columns> make_columns(const std::string& format);

}  // namespace tutti::perf
