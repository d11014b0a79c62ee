/// @file
/// `tutti lint`: whether collectives keep the guidelines that a user takes for granted, such as
/// that an all_reduce is not slower than a reduce and a broadcast.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "perf/measured_world.hpp"
#include "perf/statistics.hpp"
#include "perf/sweep/measure.hpp"
#include "perf/sweep/options.hpp"

namespace tutti::perf {

/// What is asked for.
struct LintOptions {
  SweepOptions sweep{};    ///< Collectives, sizes, budget, and how to join.
  double threshold = 0.1;  ///< A guideline is broken where a call takes longer by this share.
  bool own_calls = false;  ///< Whether tutti's own calls are checked also under an MPI.
};

/// One guideline at one size.
struct Finding {
  Workload workload{};      ///< Where.
  std::string guideline{};  ///< Label of what the call is compared with.
  double call_us = 0;       ///< Median of the call that is checked.
  double other_us = 0;      ///< Median of what should not be faster.
  Comparison comparison{};  ///< Of the two.
  bool is_broken = false;   ///< In two measurements.
  std::string help{};       ///< If it is: what to do about it.
};

/// Measures and judges. Collective.
class Linter {
 public:
  /// @param world the ranks. @param options what is asked for.
  Linter(MeasuredWorld& world, const LintOptions& options);

  /// Prints what it finds. @return the exit status: ExitCode::slower where a guideline is broken.
  [[nodiscard]] int run();

 private:
  [[nodiscard]] Candidate checked() const;
  [[nodiscard]] std::vector<std::string> known_there(Collective collective) const;
  [[nodiscard]] std::vector<Candidate> candidates_of(const Workload& workload) const;
  [[nodiscard]] SizeResult measure(const Workload& workload,
                                   const std::vector<Candidate>& candidates, std::uint64_t seed);
  [[nodiscard]] std::vector<Finding> judge(const SizeResult& result) const;
  [[nodiscard]] std::vector<Candidate> suspects(const SizeResult& result);
  void check(const Workload& workload);
  [[nodiscard]] std::string help_for(const Finding& finding, const Measured& other) const;
  void note_all(std::vector<Finding>& findings);
  void note(const Finding& finding, bool is_told);
  void announce() const;
  void close() const;
  void save() const;

  MeasuredWorld& world_;
  const LintOptions& options_;
  std::unique_ptr<MeasuredWorld> fewer_;  // all ranks but the last; nothing there
  MeasuredWorld* for_fewer_ = nullptr;    // that, or on the last rank anything: it takes no part
  bool is_oversubscribed_ = false;
  bool checks_library_ = false;
  std::string carrier_{};  // how labels of our algorithms begin
  bool interrupted_ = false;
  std::size_t wrong_ = 0;
  std::vector<Finding> findings_{};
};

}  // namespace tutti::perf
