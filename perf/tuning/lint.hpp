/// @file
/// `tutti lint`: checks guidelines of performance that users take for granted. For example, an
/// all_reduce should not be slower than a reduce and a broadcast.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "perf/measured_world.hpp"
#include "perf/statistics.hpp"
#include "perf/sweep/measure.hpp"
#include "perf/sweep/options.hpp"
#include "perf/tuning/libraries.hpp"

namespace tutti::perf {

/// The options of `tutti lint`.
struct LintOptions {
  SweepOptions sweep{};  ///< Collectives, sizes, budget, and launch.
  double threshold =
      0.1;  ///< A guideline is violated if a call takes longer by more than this share.
  bool own_calls = false;  ///< Whether tutti's own calls are checked even under an MPI.
};

/// One guideline at one size.
struct Finding {
  Workload workload{};      ///< The checked collective and size.
  std::string guideline{};  ///< Label of the other call.
  double call_us = 0;       ///< Median of the checked call.
  double other_us = 0;      ///< Median of the other call, which should not be faster.
  Comparison comparison{};  ///< Comparison of the two.
  bool is_broken = false;   ///< Whether two measurements violate it.
  std::string help{};       ///< If so: advice for the user.
};

/// Checks all guidelines. Collective.
class Linter {
 public:
  /// @param options must outlive this object.
  Linter(MeasuredWorld& world, const LintOptions& options);

  /// Prints the findings. @return the exit status: ExitCode::slower if a guideline is violated.
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
  std::unique_ptr<MeasuredWorld> fewer_;  // all ranks but the last; null on the last
  MeasuredWorld* for_fewer_ = nullptr;    // fewer_; on the last rank any world, which it ignores
  bool is_oversubscribed_ = false;
  bool checks_library_ = false;
  Library library_{};      // the MPI that is checked
  std::string carrier_{};  // prefix of the labels of tutti's algorithms
  bool interrupted_ = false;
  std::size_t wrong_ = 0;
  std::vector<Finding> findings_{};
};

}  // namespace tutti::perf
