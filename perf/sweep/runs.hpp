/// @file
/// Runs the candidates of one size, and times samples. All candidates use the same buffers, unless
/// their alignments differ.
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

/// Candidates that run on the host, or on a stream of the world's GPU. Every rank calls the
/// functions in the same order. Indices are those of the entries.
class Runs {
 public:
  /// Allocates. @param setting must outlive this object. @param entries the candidates, whose
  /// `runs`, `segment_bytes` and `refused` are filled; they must outlive this object.
  Runs(const Setting& setting, const Workload& workload, std::vector<Measured>& entries);

  /// Checks whether a candidate can run, before any message is sent.
  void prepare(std::size_t i);
  /// @return whether its output is the result of the collective. That of a probe, or of a call on
  /// fewer ranks, is not.
  [[nodiscard]] bool gives_results(std::size_t i) const;
  /// Runs once with new inputs and overwritten outputs, and waits for the results. @return
  /// microseconds.
  double run_anew(std::size_t i);
  /// Captures a graph, which later samples replay. The candidate must have run.
  void capture(std::size_t i);
  /// Checks the output of the last run, which must be of this candidate.
  [[nodiscard]] Check check(std::size_t i) { return buffers(i).check(); }
  /// Replays the graph of the candidate that ran last, with new inputs and overwritten outputs, and
  /// checks the output. An element whose bits differ from those of that run counts as wrong.
  [[nodiscard]] Check check_replay(std::size_t i);
  /// Takes one sample on this rank. An untimed call comes first; otherwise each candidate would pay
  /// for the caches that the one before left, for example if a peer has read the memory that this
  /// rank writes. @return microseconds of all calls of a batch, from the barrier on; of one call,
  /// from the end of the pause on, if calls are isolated.
  double sample(std::size_t i);

 private:
  [[nodiscard]] Communicator& communicator() { return world_.communicator(); }
  [[nodiscard]] bool is_so_everywhere(bool here);
  [[nodiscard]] Options options_of(std::size_t i);
  /// The buffers of a candidate.
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
  Allocate allocate_more_;                           // for mock-ups, placed like outputs
  std::vector<std::unique_ptr<Buffers>> buffers_{};  // one per alignment
  std::vector<std::size_t> used_{};                  // index of buffers, by candidate
  std::optional<Probe> probe_{};
  std::vector<std::unique_ptr<Mockup>> mockups_;  // by candidate
  std::vector<std::function<void()>> graphs_;     // by candidate; empty unless captured
  volatile std::uint64_t kept_ = 0;  // values that were read, so that the compiler keeps the reads
};

}  // namespace tutti::perf
