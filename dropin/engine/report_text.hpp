/// @file
/// The texts of a report.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dropin/engine/sites.hpp"
#include "dropin/engine/times.hpp"

namespace tutti::dropin {

/// Facts of the process for the head of a report.
struct Job {
  std::string mpi{};
  std::string program{};
  int ranks = 1;
  int hosts = 0;            ///< 0: unknown.
  double wall_seconds = 0;  ///< Since the MPI was initialised.
};

/// The texts of a report about times.
class TimesText {
 public:
  /// Looks up the sites, for which it may run addr2line.
  TimesText(Job job, const Times& times);

  /// @return the job, and the seconds of all calls.
  [[nodiscard]] std::string head() const;
  /// @return lines for people: a table whose first kinds have most time, and the rank that most of
  /// the time was waited for; none without calls.
  [[nodiscard]] std::vector<std::string> lines() const;
  /// @return records, one per line, whose first repeats the collectives and sizes as a sweep.
  [[nodiscard]] std::string records() const;

 private:
  [[nodiscard]] std::string site_text(const KindOfCalls& kind) const;
  [[nodiscard]] std::vector<std::vector<std::string>> table() const;

  Job job_;
  std::vector<KindOfCalls> kinds_;
  std::map<int, LateCalls> late_;
  std::map<const Site*, std::string> names_{};
};

}  // namespace tutti::dropin
