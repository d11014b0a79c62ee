/// @file
/// `tutti tune`: measures the fastest algorithm for each size, and writes them to a file.
#pragma once

#include <vector>

#include "perf/sweep/context.hpp"
#include "perf/sweep/measure.hpp"
#include "perf/tuning/options.hpp"
#include "perf/tuning/page.hpp"
#include "selector/tuning.hpp"

namespace tutti::perf {

/// One size of one collective with one kind of buffers.
struct TuneJob {
  Workload workload{};                  ///< Collective and size.
  std::string buffers{};                ///< Kind of memory.
  std::vector<Candidate> candidates{};  ///< The candidates to measure.
};

/// Measures the cells that a tuning file lacks. It writes the file after every size, so that an
/// interrupted run can be continued. Used on all ranks.
class Tuner {
 public:
  /// Reads the file, if there is one. Collective. Throws Failure{usage} if it is malformed or of
  /// another machine.
  Tuner(MeasuredWorld& world, const TuneOptions& options);
  /// Collective. @return the exit code, the same on all ranks.
  [[nodiscard]] int run();

 private:
  [[nodiscard]] std::vector<TuneJob> plan();
  void announce(const std::vector<TuneJob>& jobs) const;
  [[nodiscard]] bool is_known(const TuneJob& job) const;
  [[nodiscard]] std::string align_of(const TuneJob& job) const;
  [[nodiscard]] detail::TunedPlace place_of(const TuneJob& job) const;
  [[nodiscard]] detail::TunedTable& table_for(const TuneJob& job);
  [[nodiscard]] std::vector<Candidate> screen(const TuneJob& job);
  void keep(const TuneJob& job, const SizeResult& result);
  void report(const TuneJob& job, const SizeResult& result);
  void close() const;
  [[nodiscard]] int write_page();
  [[nodiscard]] bool is_first() { return world_.communicator().rank() == 0; }

  MeasuredWorld& world_;
  const TuneOptions& options_;
  Context context_;
  std::string transport_;
  int hosts_ = 1;
  bool is_oversubscribed_ = false;
  detail::Tuning tuning_{};
  std::vector<double> losses_{};        // of the model's choices against the best ones
  std::vector<ModelTime> automatic_{};  // times of the model's choices
  std::size_t wrong_ = 0;
  bool interrupted_ = false;
};

}  // namespace tutti::perf
