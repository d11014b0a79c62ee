/// @file
/// The report of `tutti doctor`: the checks of all ranks as one list.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>

#include "command/doctor_check.hpp"

namespace tutti::command::doctor {

/// The checks of one rank.
struct RankReport {
  int rank = 0;
  std::string host{};
  std::vector<Check> checks{};
};

/// A finding, and the ranks that made it.
struct Finding {
  Check check{};
  std::vector<int> ranks{};
  bool is_common = true;  ///< Whether every rank that made the check found this.
};

/// The report of a job.
struct Report {
  std::vector<std::string> hosts{};  ///< Each once.
  int ranks = 0;
  std::vector<Finding> findings{};
};

/// Collective. @return the reports of all ranks, in their order.
[[nodiscard]] std::vector<RankReport> gather_reports(Communicator& communicator,
                                                     const RankReport& own);

/// Makes one finding of equal ones, the worst first. If some rank failed a check, only the failures
/// of that check are kept.
[[nodiscard]] Report merged(const std::vector<RankReport>& reports);

/// @return whether a check found a fault.
[[nodiscard]] bool has_fault(const Report& report);

/// @return one line per finding, with a line for its cure, and a line that counts.
[[nodiscard]] std::string text_of(const Report& report);
/// @return one object.
[[nodiscard]] std::string json_of(const Report& report);

}  // namespace tutti::command::doctor
