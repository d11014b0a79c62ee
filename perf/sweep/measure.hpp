/// @file
/// The measurement of one size: all candidates interleaved in shuffled rounds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "perf/measured_world.hpp"
#include "perf/sweep/candidates.hpp"
#include "perf/sweep/workload.hpp"

namespace tutti::perf {

/// What one candidate did at one size. Samples are known on rank 0 only.
struct Measured {
  Candidate candidate{};           ///< Who.
  std::vector<double> times_us{};  ///< One sample per round: greatest time of all ranks per call.
  std::int64_t batch = 1;          ///< Calls per sample; 1 where they are isolated.
  double first_us = 0;             ///< The very first call, with all its preparations.
  std::size_t wrong = 0;           ///< Wrong elements on all ranks together.
  bool bit_equal = true;           ///< Whether all ranks got the same, where they must.
  bool checked = false;            ///< Whether results were looked at.
  std::string runs{};              ///< The algorithm behind it, with parameters.
  std::size_t segment_bytes = 0;   ///< Of the pipeline, or 0.
  std::string refused{};           ///< Why it took no part, or empty.
};

/// Everything a measurement needs, equal on all ranks but for the world's rank.
struct Setting {
  MeasuredWorld& world;            ///< The ranks.
  const SweepOptions& options;     ///< The flags.
  bool is_oversubscribed;          ///< Whether a host has more ranks than cores.
  std::function<void()> tick{};    ///< Called on every rank now and then; reports progress.
  MeasuredWorld* fewer = nullptr;  ///< All ranks but the last, for mock-ups that leave it out.
  bool own_calls = false;          ///< Whether mock-ups consist of our calls also under an MPI.
};

/// The outcome of measuring one size.
struct SizeResult {
  Workload workload{};               ///< What was measured.
  std::vector<Measured> measured{};  ///< Every candidate, in the order given.
  bool interrupted = false;          ///< Whether a signal ended it early, on whichever rank.
};

/// What can be said before anything is measured. Collective: every rank calls it with the same
/// arguments. @param world the ranks. @param workload of any count. @return why it can take no part
/// at any size, or nothing.
[[nodiscard]] std::string refusal_of(MeasuredWorld& world, const Workload& workload,
                                     const Candidate& candidate);

/// Whether one of our algorithms keeps too little. @param world the ranks. @param workload of any
/// count. @param level what is asked for. @return why not, or nothing.
[[nodiscard]] std::string determinism_gap(MeasuredWorld& world, const Workload& workload,
                                          const Candidate& candidate, Determinism level);

/// Measures. Collective: every rank calls it with the same arguments. @param setting see Setting.
/// @return the outcome.
[[nodiscard]] SizeResult measure_size(const Setting& setting, const Workload& workload,
                                      const std::vector<Candidate>& candidates);

}  // namespace tutti::perf
