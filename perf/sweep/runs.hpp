/// @file
/// How the candidates of one size run, all on the same buffers unless their alignments differ, and
/// how one sample is timed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "perf/sweep/buffers.hpp"
#include "perf/sweep/measure.hpp"
#include "perf/sweep/mockup.hpp"
#include "perf/sweep/probe.hpp"

namespace tutti::perf {

/// Candidates that are run on the host, or on a stream of the world's GPU. Every rank calls the
/// functions in the same order. Indices are those of the entries.
class Runs {
 public:
  /// Allocates. @param setting see Setting; outlives this. @param workload what is measured.
  /// @param entries the candidates, whose `runs`, `segment_bytes` and `refused` are filled;
  /// outlive this.
  Runs(const Setting& setting, const Workload& workload, std::vector<Measured>& entries);

  /// Finds out whether a candidate can serve, before anything is sent.
  void prepare(std::size_t i);
  /// @return whether what it leaves behind are results of the collective: not that of a probe, or
  /// of a call on fewer ranks.
  [[nodiscard]] bool gives_results(std::size_t i) const;
  /// Runs once on new inputs and spoiled outputs, and waits for the results. @return microseconds.
  double run_anew(std::size_t i);
  /// Has later samples of it replay a graph that is captured now. @param i whose, which has run.
  void capture(std::size_t i);
  /// @param i who ran last. @return the outcome of that run.
  [[nodiscard]] Check check(std::size_t i) { return buffers(i).check(); }
  /// Replays its graph on new inputs and spoiled outputs. @param i whose, which ran last. @return
  /// the outcome, where an element counts as wrong too whose bits differ from those of that run.
  [[nodiscard]] Check check_replay(std::size_t i);
  /// One sample on this rank. Before it comes a call that nobody times: else each would pay for the
  /// caches that the one before it left, as where a peer has read what we are to write. @return
  /// microseconds of all calls of its batch, from the barrier on, or, where calls are isolated, of
  /// its one call, from the end of the pause on.
  double sample(std::size_t i);

 private:
  [[nodiscard]] Communicator& communicator() { return world_.communicator(); }
  [[nodiscard]] bool is_so_everywhere(bool here);
  [[nodiscard]] Options options_of(std::size_t i);
  // The buffers of a candidate.
  [[nodiscard]] Buffers& buffers(std::size_t i) { return *buffers_[used_[i]]; }
  void allocate_buffers();
  void prepare_native(std::size_t i);
  void prepare_mockup(std::size_t i);
  void prepare_ours(std::size_t i);
  void invoke(std::size_t i);
  void invoke_or_replay(std::size_t i);
  void wait();
  void spoil(std::size_t i);
  void refresh(std::size_t i);
  void line_up();
  [[nodiscard]] double timed_us(std::size_t i);

  MeasuredWorld& world_;
  const Setting& setting_;
  Workload workload_;
  std::vector<Measured>& entries_;
  cuda::TimedStream* gpu_;  // or null
  Allocate allocate_;
  Allocate allocate_more_;                           // for mock-ups, placed as outputs are
  std::vector<std::unique_ptr<Buffers>> buffers_{};  // of each alignment
  std::vector<std::size_t> used_{};                  // which of them, by candidate
  std::optional<Probe> probe_{};
  std::vector<std::unique_ptr<Mockup>> mockups_;  // by candidate
  std::vector<std::function<void()>> graphs_;     // by candidate; empty unless captured
  volatile std::uint64_t kept_ = 0;  // what was read, so that reading is not optimised away
};

}  // namespace tutti::perf
