/// @file
/// `tutti tune`: measures which algorithm is the fastest at which size, and keeps it in a file.
#pragma once

#include <vector>

#include "perf/sweep/context.hpp"
#include "perf/sweep/measure.hpp"
#include "perf/tuning/options.hpp"
#include "perf/tuning/page.hpp"
#include "selector/tuning.hpp"

namespace tutti::perf {

/// One size of one collective in one kind of buffers.
struct TuneJob {
  Workload workload{};                  ///< What is measured.
  std::string buffers{};                ///< Kind of memory.
  std::vector<Candidate> candidates{};  ///< Who takes part.
};

/// Measures what a tuning file lacks, and writes it after every size, so that whoever interrupts it
/// can go on later. Used on all ranks alike.
class Tuner {
 public:
  /// Reads the file, if there is one. Collective. Throws Failure{usage} where it is malformed or of
  /// another machine. @param world the ranks. @param options what is asked for.
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
  std::vector<double> losses_{};        // of the model's choice, over the best
  std::vector<ModelTime> automatic_{};  // what the model's choices took
  std::size_t wrong_ = 0;
  bool interrupted_ = false;
};

}  // namespace tutti::perf
